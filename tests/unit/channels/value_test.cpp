// SPDX-License-Identifier: Apache-2.0
// The type-erased value: inline and shared storage, copies, moves and take().
#include <superstep/channels/detail/value.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <memory>
#include <string>
#include <vector>

using superstep::value;

BOOST_AUTO_TEST_SUITE(values)

namespace {

/// Counts its copies and live objects; `Size` determines whether it is stored inline.
template <std::size_t Size>
struct tracked {
  static inline int alive = 0;
  static inline int copies = 0;
  explicit tracked(int n) : number{n} { ++alive; }
  tracked(const tracked& o) : number{o.number} { ++alive, ++copies; }
  tracked(tracked&& o) noexcept : number{std::exchange(o.number, -1)} { ++alive; }
  tracked& operator=(const tracked&) = delete;
  ~tracked() { --alive; }
  int number;
  std::array<char, Size> bulk{};
};
using small = tracked<4>;
using large = tracked<100>;

template <class T>
void check_life_cycle() {
  T::copies = 0;
  {
    auto v = value{T{7}};
    BOOST_TEST(v.has_value());
    BOOST_TEST(v.holds<T>());
    BOOST_TEST(!v.holds<int>());
    BOOST_TEST(v.as<T>().number == 7);
    auto moved = std::move(v);
    BOOST_TEST(!v.has_value());
    BOOST_TEST(moved.as<T>().number == 7);
    v = moved;
    BOOST_TEST(v.as<T>().number == 7);
    v = value{T{8}};
    BOOST_TEST(v.as<T>().number == 8);
    BOOST_TEST(moved.as<T>().number == 7);
    v = value{};
    BOOST_TEST(!v.has_value());
  }
  BOOST_TEST(T::alive == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(small_objects_are_stored_inline_and_copied) {
  static_assert(superstep::detail::fits_inline<small>);
  check_life_cycle<small>();
  BOOST_TEST(small::copies == 1);
}

BOOST_AUTO_TEST_CASE(large_objects_are_shared_by_copies) {
  static_assert(!superstep::detail::fits_inline<large>);
  check_life_cycle<large>();
  BOOST_TEST(large::copies == 0);
}

BOOST_AUTO_TEST_CASE(sole_owner_takes_large_object_without_copy) {
  large::copies = 0;
  auto v = value{large{7}};
  BOOST_TEST(v.take<large>().number == 7);
  BOOST_TEST(large::copies == 0);
}

BOOST_AUTO_TEST_CASE(taking_shared_object_leaves_other_copies_unchanged) {
  large::copies = 0;
  auto v = value{large{7}};
  const auto other = v;
  BOOST_TEST(v.take<large>().number == 7);
  BOOST_TEST(large::copies == 1);
  BOOST_TEST(other.as<large>().number == 7);
}

BOOST_AUTO_TEST_CASE(take_moves_object_after_other_copies_are_destroyed) {
  large::copies = 0;
  auto v = value{large{7}};
  { const auto other = v; }
  BOOST_TEST(v.take<large>().number == 7);
  BOOST_TEST(large::copies == 0);
}

BOOST_AUTO_TEST_CASE(copy_of_large_value_shares_the_object) {
  const auto v = value{std::array<int, 50>{}};
  const auto other = v;
  using bulk = std::array<int, 50>;
  BOOST_TEST(&v.as<bulk>() == &other.as<bulk>());
}

BOOST_AUTO_TEST_CASE(may_fail_to_give_reports_sharing_and_mismatch) {
  auto text = value{std::string(200, 'x')};
  BOOST_TEST(!text.may_fail_to_give<std::string>());
  BOOST_TEST(text.may_fail_to_give<int>());
  const auto other = text;
  BOOST_TEST(other.may_fail_to_give<std::string>());
  const auto number = value{7};
  BOOST_TEST(!number.may_fail_to_give<int>());
  BOOST_TEST(number.may_fail_to_give<short>());
  BOOST_TEST(value{}.may_fail_to_give<int>());
}

BOOST_AUTO_TEST_CASE(self_assignment_keeps_the_value) {
  auto v = value{std::string(200, 'x')};
  const auto& same = v;
  v = same;
  BOOST_TEST(v.as<std::string>().size() == 200u);
}

BOOST_AUTO_TEST_SUITE_END()
