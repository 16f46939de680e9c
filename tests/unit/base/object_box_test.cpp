// SPDX-License-Identifier: Apache-2.0
// The heap-allocated JSON object.
#include <superstep/base/detail/object_box.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace json = superstep::json;
using superstep::object_box;

BOOST_AUTO_TEST_CASE(empty_object_box_reads_as_empty_object) {
  static_assert(sizeof(object_box) == sizeof(void*));
  auto box = object_box{};
  BOOST_TEST(box.empty());
  BOOST_TEST(box.size() == 0U);
  BOOST_TEST(box.get().empty());
  BOOST_TEST((box.begin() == box.end()));
  BOOST_TEST(!box.contains("a"));
  BOOST_TEST((box.if_contains("a") == nullptr));
  BOOST_CHECK_THROW(std::ignore = box.at("a"), std::out_of_range);
  box.erase("a");
  BOOST_TEST(box.empty());
  BOOST_TEST((box == object_box{json::object{}}));
}

BOOST_AUTO_TEST_CASE(object_box_changes_its_members) {
  auto box = object_box{{"a", 1}, {"b", "two"}};
  BOOST_TEST((box == json::object{{"a", 1}, {"b", "two"}}));
  box["c"] = 3;
  box.emplace("a", 9); // the member exists
  box.insert_or_assign("b", 2);
  *box.if_contains("c") = 4;
  BOOST_TEST(superstep::to_text(box) == R"({"a":1,"b":2,"c":4})");
  BOOST_TEST(box.size() == 3U);
  auto keys = std::string{};
  for (const auto& [key, value] : box)
    keys += std::string_view{key};
  BOOST_TEST(keys == "abc");
  box.erase("a");
  box.erase("b");
  box.erase("c");
  BOOST_TEST(box.empty());
  BOOST_TEST((box == object_box{})); // although it has allocated its object
  box = {{"d", 5}};
  BOOST_TEST(box.at("d") == 5);
  box.clear();
  BOOST_TEST(box.empty());
}

BOOST_AUTO_TEST_CASE(copy_of_object_box_is_deep) {
  auto one = object_box{{"a", 1}};
  const auto two = one;
  one["a"] = 2;
  BOOST_TEST(two.at("a") == 1);
  BOOST_TEST((one != two));
  one = two;
  BOOST_TEST((one == two));
  const auto three = std::move(one);
  BOOST_TEST((three == two));
  BOOST_TEST(one.empty()); // NOLINT: tests the state after a move
  const json::object& whole = three;
  BOOST_TEST((whole == two.get()));
}
