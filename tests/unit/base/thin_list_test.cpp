// SPDX-License-Identifier: Apache-2.0
// The list whose object is one pointer.
#include <superstep/base/detail/thin_list.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(thin_lists)

namespace {

using list = superstep::detail::thin_list<std::string>;

/// Returns a text that is too long to be stored in a std::string itself.
std::string text(std::size_t i) {
  return std::string(40, static_cast<char>('a' + i));
}

list list_of(std::size_t count) {
  auto out = list{};
  for (auto i = std::size_t{0}; i < count; ++i)
    out.push_back(text(i));
  return out;
}

std::vector<std::string> items_of(const list& from) {
  return {from.begin(), from.end()};
}

} // namespace

BOOST_AUTO_TEST_CASE(thin_list_has_the_size_of_a_pointer) {
  BOOST_TEST(sizeof(list) == sizeof(void*));
  BOOST_TEST(list{}.capacity() == 0U);
}

BOOST_AUTO_TEST_CASE(thin_list_keeps_items_in_order) {
  for (auto count = std::size_t{0}; count < 20; ++count) {
    const auto made = list_of(count);
    BOOST_TEST(made.size() == count);
    BOOST_TEST(made.empty() == (count == 0));
    for (auto i = std::size_t{0}; i < count; ++i)
      BOOST_TEST(made[i] == text(i));
    if (count > 0) {
      BOOST_TEST(made.front() == text(0));
      BOOST_TEST(made.back() == text(count - 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(moved_from_thin_list_is_empty_and_reusable) {
  for (auto had = std::size_t{0}; had < 4; ++had)
    for (auto count = std::size_t{0}; count < 4; ++count) {
      auto from = list_of(count);
      auto to = list_of(had);
      to = std::move(from);
      BOOST_TEST(items_of(to) == items_of(list_of(count)), boost::test_tools::per_element());
      BOOST_TEST(from.empty()); // NOLINT(bugprone-use-after-move): the class documents this state
      from.push_back(text(7));
      BOOST_TEST(from[0] == text(7));
      const auto made = list{std::move(to)};
      BOOST_TEST(items_of(made) == items_of(list_of(count)), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(thin_list_copy_is_independent_of_original) {
  auto first = list_of(3);
  auto second = first;
  second.push_back(text(3));
  first[0] = "changed";
  BOOST_TEST(items_of(second) == items_of(list_of(4)), boost::test_tools::per_element());
  second = first;
  BOOST_TEST(second.size() == 3U);
  BOOST_TEST(second[0] == "changed");
  first = list{};
  BOOST_TEST(second.size() == 3U);
}

BOOST_AUTO_TEST_CASE(cleared_thin_list_keeps_its_memory) {
  auto made = list_of(5);
  const auto capacity = made.capacity();
  made.clear();
  BOOST_TEST(made.empty());
  BOOST_TEST(made.capacity() == capacity);
  list{}.swap(made);
  BOOST_TEST(made.capacity() == 0U);
  made.clear(); // has no effect on a list without memory
  BOOST_TEST(list{}.empty());
}

BOOST_AUTO_TEST_CASE(thin_list_allocates_exactly_what_is_reserved) {
  auto made = superstep::detail::thin_list<std::uint64_t>{};
  made.reserve(13);
  BOOST_TEST(made.capacity() == 13U);
  const auto* const at = made.data();
  for (auto i = std::uint64_t{0}; i < 13; ++i)
    made.push_back(i);
  BOOST_TEST(made.data() == at);
  made.push_back(13);
  BOOST_TEST(made.size() == 14U);
  BOOST_TEST(made.back() == 13U);
}

BOOST_AUTO_TEST_CASE(resize_adds_default_items_and_removes_last_ones) {
  auto made = list_of(2);
  made.resize(4);
  BOOST_TEST(made.size() == 4U);
  BOOST_TEST(made[1] == text(1));
  BOOST_TEST(made[3].empty());
  made.resize(1);
  BOOST_TEST(items_of(made) == items_of(list_of(1)), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(assign_replaces_items_of_thin_list) {
  const auto given = std::vector<std::string>{text(5), text(6)};
  auto made = list_of(4);
  made.assign(given.begin(), given.end());
  BOOST_TEST(items_of(made) == given, boost::test_tools::per_element());
  made.assign(given.end(), given.end());
  BOOST_TEST(made.empty());
}

BOOST_AUTO_TEST_CASE(erase_if_removes_matching_items) {
  auto made = superstep::detail::thin_list<int>{};
  for (auto i = 0; i < 7; ++i)
    made.push_back(i);
  made.erase_if([](int i) { return i % 2 == 0; });
  BOOST_TEST((std::vector<int>(made.begin(), made.end()) == std::vector<int>{1, 3, 5}));
  made.pop_back();
  BOOST_TEST(made.back() == 3);
  made.erase_if([](int) { return true; });
  BOOST_TEST(made.empty());
}

BOOST_AUTO_TEST_CASE(thin_list_stores_move_only_items) {
  auto made = superstep::detail::thin_list<std::unique_ptr<int>>{};
  for (auto i = 0; i < 5; ++i)
    made.push_back(std::make_unique<int>(i));
  BOOST_TEST(*made[4] == 4);
  const auto moved = std::move(made);
  BOOST_TEST(moved.size() == 5U);
}

BOOST_AUTO_TEST_SUITE_END()
