// SPDX-License-Identifier: Apache-2.0
// Channels with the rule `append`: lists that share their items, and their checkpoint form.
#include "runtime/json_append.hpp"

#include <superstep/channels/detail/stored_value.hpp>

#include <boost/test/unit_test.hpp>

#include <string>

using namespace superstep;
using detail::appended_json;

BOOST_AUTO_TEST_SUITE(json_append)

namespace {

appended_json value_of(json::value v) {
  auto out = appended_json{};
  out.assign(std::move(v));
  return out;
}

/// Returns the change between two values, and checks that a json::value has the same change.
std::string change(const json::value& before, const json::value& now) {
  auto out = std::string{};
  const auto is_changed = detail::write_change(out, value_of(before), value_of(now));
  BOOST_TEST(is_changed == !out.empty());
  auto plain = std::string{};
  static_cast<void>(detail::write_change(plain, before, now));
  BOOST_TEST(out == plain);
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(copies_do_not_see_later_items) {
  auto list = value_of(json::array{1, 2});
  const auto copy = list;
  list.append(json::array{3});
  auto other = copy;
  other.append(json::array{4});
  BOOST_TEST(to_text(list.to_json()) == "[1,2,3]");
  BOOST_TEST(to_text(copy.to_json()) == "[1,2]");
  BOOST_TEST(to_text(other.to_json()) == "[1,2,4]");
}

BOOST_AUTO_TEST_CASE(stored_changes_equal_those_of_json) {
  BOOST_TEST(change(json::array{1}, json::array{1}) == "");
  BOOST_TEST(change(json::array{1}, json::array{1, 2, 3}) == "[1,[2,3]]");
  BOOST_TEST(change(json::array{1, 2}, json::array{1}) == "[1,[]]");
  BOOST_TEST(change(json::array{1, 2}, json::array{2}) == "[[2]]");
  BOOST_TEST(change(json::array{}, json::array{1}) == "[[1]]");
  BOOST_TEST(change(json::array{1}, 5) == "[5]");
  BOOST_TEST(change(5, json::array{}) == "[[]]");
  BOOST_TEST(change("a", "a") == "");
  // Values that are equal, but have different texts.
  const auto ab = json::object{{"a", 1}, {"b", 2}};
  const auto ba = json::object{{"b", 2}, {"a", 1}};
  BOOST_TEST(change(json::array{ab, 1}, json::array{ba, 1}) == R"([[{"b":2,"a":1},1]])");
  auto text = std::string{};
  BOOST_TEST(detail::write_change(text, json::value{{"k", ab}}, json::value{{"k", ba}}));
  BOOST_TEST(text == R"([1,{"k":{"b":2,"a":1}}])");
  BOOST_TEST(change(json::array{json::array{1}}, json::array{json::array{1.0}}) == "[[[1.0]]]");
  BOOST_TEST(change(ab, ba) == R"([{"b":2,"a":1}])");
  BOOST_TEST(change(ab, ab) == "");
  BOOST_TEST(stored_type<appended_json>() == stored_type<json::value>());
}

BOOST_AUTO_TEST_CASE(value_of_another_type_is_kept_and_not_appended_to) {
  auto value = value_of(json::object{{"a", 1}});
  BOOST_CHECK_EXCEPTION(value.append(json::array{1}), std::invalid_argument, [](const auto& e) {
    return e.what() == std::string_view{R"(append expects lists, got {"a":1})"};
  });
  BOOST_TEST(to_text(value.to_json()) == R"({"a":1})");
  auto restored = appended_json{};
  BOOST_TEST(stored_form<appended_json>::read(5, restored).has_value());
  BOOST_TEST(to_text(restored.to_json()) == "5");
}

BOOST_AUTO_TEST_CASE(failed_update_leaves_list_unchanged) {
  auto block = boost::intrusive_ptr<slot_block>{new slot_block};
  block->add(std::make_unique<slot_block::slot_of<appended_json>>(value_of(json::array{1})));
  const auto channel = detail::json_append_channel{"log", 0};
  auto writes = std::vector<superstep::write>{{0, false, value{json::value(json::array{2})}},
                                              {0, false, value{json::value("no list")}}};
  auto pointers = std::vector<superstep::write*>{&writes[0], &writes[1]};
  auto ids = id_source{"run"};
  const auto done = channel.update(*block, pointers, ids);
  BOOST_TEST_REQUIRE(done.has_error());
  BOOST_TEST(done.error().text ==
             "the reducer of channel 'log' failed: append expects lists, got \"no list\"");
  BOOST_TEST(to_text(block->at<appended_json>(0).to_json()) == "[1]");
}

BOOST_AUTO_TEST_SUITE_END()
