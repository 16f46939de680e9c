// SPDX-License-Identifier: Apache-2.0
// The list that stores its first items without allocating memory.
#include <superstep/base/detail/short_list.hpp>

#include <boost/test/unit_test.hpp>

#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace {

using list = superstep::detail::short_list<std::string, 2>;

/// Returns a list of `count` texts that are too long to be stored in a std::string itself.
list list_of(std::size_t count) {
  auto out = list{};
  for (auto i = std::size_t{0}; i < count; ++i)
    out.push_back(std::string(40, static_cast<char>('a' + i)));
  return out;
}

std::vector<std::string> items_of(const list& from) {
  return {from.begin(), from.end()};
}

/// Whether the items are stored in the list object.
bool is_inline(const list& of) {
  const auto* const at = reinterpret_cast<const std::byte*>(of.data());
  const auto* const self = reinterpret_cast<const std::byte*>(&of);
  return at >= self && at < self + sizeof(of);
}

} // namespace

BOOST_AUTO_TEST_CASE(short_list_allocates_only_beyond_inline_capacity) {
  for (auto count = std::size_t{0}; count < 9; ++count) {
    const auto made = list_of(count);
    BOOST_TEST(made.size() == count);
    BOOST_TEST(made.empty() == (count == 0));
    BOOST_TEST(is_inline(made) == (count <= 2));
    for (auto i = std::size_t{0}; i < count; ++i)
      BOOST_TEST(made[i] == std::string(40, static_cast<char>('a' + i)));
  }
}

BOOST_AUTO_TEST_CASE(moved_from_short_list_is_empty_and_reusable) {
  for (auto had = std::size_t{0}; had < 5; ++had)
    for (auto count = std::size_t{0}; count < 5; ++count) {
      auto from = list_of(count);
      auto to = list_of(had);
      to = std::move(from);
      BOOST_TEST(items_of(to) == items_of(list_of(count)), boost::test_tools::per_element());
      BOOST_TEST(from.empty()); // NOLINT(bugprone-use-after-move): the class documents this state
      from.push_back("used again");
      BOOST_TEST(from[0] == "used again");
      const auto made = list{std::move(to)};
      BOOST_TEST(items_of(made) == items_of(list_of(count)), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(short_list_copy_is_independent_of_original) {
  for (auto had = std::size_t{0}; had < 5; ++had)
    for (auto count = std::size_t{0}; count < 5; ++count) {
      auto from = list_of(count);
      auto to = list_of(had);
      to = from;
      const auto made = from;
      from.clear();
      BOOST_TEST(items_of(to) == items_of(list_of(count)), boost::test_tools::per_element());
      BOOST_TEST(items_of(made) == items_of(list_of(count)), boost::test_tools::per_element());
      const auto& self = to;
      to = self;
      BOOST_TEST(to.size() == count);
    }
}

BOOST_AUTO_TEST_CASE(assign_replaces_items_of_short_list) {
  const auto texts = std::vector<std::string>{"x", "y", "z"};
  auto made = list_of(1);
  made.assign(texts.begin(), texts.end());
  BOOST_TEST(items_of(made) == texts, boost::test_tools::per_element());
  made.assign(texts.begin(), texts.begin());
  BOOST_TEST(made.empty());
  auto filled = superstep::detail::short_list<int, 1>{5, 7};
  BOOST_TEST(std::vector<int>(filled.begin(), filled.end()) == std::vector<int>(5, 7),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(short_list_stores_move_only_items) {
  auto owners = std::vector<std::unique_ptr<int>>{};
  for (auto i = 0; i < 4; ++i)
    owners.push_back(std::make_unique<int>(i));
  auto made = superstep::detail::short_list<std::unique_ptr<int>, 1>{};
  made.assign(std::make_move_iterator(owners.begin()), std::make_move_iterator(owners.end()));
  const auto moved = std::move(made);
  for (auto i = 0; i < 4; ++i)
    BOOST_TEST(*moved[static_cast<std::size_t>(i)] == i);
}
