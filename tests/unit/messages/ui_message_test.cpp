// SPDX-License-Identifier: Apache-2.0
// UI components: the reducer and the JSON form.
#include <superstep/messages/ui_message.hpp>

#include <boost/test/unit_test.hpp>

#include <stdexcept>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(ui_messages)

namespace {

ui_message part(std::string id, json::object props, bool merge = false) {
  auto out = ui_message{std::move(id), "card", std::move(props), {}};
  if (merge)
    out.metadata["merge"] = true;
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(component_with_known_id_is_replaced_unless_merging) {
  auto parts = std::vector<ui_message>{part("a", {{"x", 1}, {"y", 1}}), part("b", {{"x", 1}})};
  add_ui_messages{}(parts, {part("b", {{"y", 2}}), part("c", {}), part("a", {{"y", 2}}, true)});
  BOOST_REQUIRE(parts.size() == 3U);
  BOOST_TEST((parts[0].props == json::object{{"x", 1}, {"y", 2}}));
  BOOST_TEST((parts[1].props == json::object{{"y", 2}}));
  BOOST_TEST(parts[2].id == "c");
}

BOOST_AUTO_TEST_CASE(removal_deletes_component_and_rejects_unknown_id) {
  auto parts = std::vector<ui_message>{part("a", {}), part("b", {})};
  add_ui_messages{}(parts, {remove_ui_message("a")});
  BOOST_REQUIRE(parts.size() == 1U);
  BOOST_TEST(parts[0].id == "b");
  add_ui_messages{}(parts, {remove_ui_message("b"), part("b", {{"x", 1}})});
  BOOST_TEST(parts.size() == 1U); // the component was added again
  BOOST_CHECK_THROW(add_ui_messages{}(parts, {part("d", {}), remove_ui_message("a")}),
                    std::invalid_argument);
  BOOST_TEST(parts.size() == 1U);
}

BOOST_AUTO_TEST_CASE(ui_components_and_removals_are_written_as_json) {
  BOOST_TEST((to_json(part("a", {{"x", 1}})) == json::object{{"type", "ui"},
                                                             {"id", "a"},
                                                             {"name", "card"},
                                                             {"props", {{"x", 1}}},
                                                             {"metadata", json::object{}}}));
  BOOST_TEST((to_json(remove_ui_message("a")) == json::object{{"type", "remove-ui"}, {"id", "a"}}));
}

BOOST_AUTO_TEST_SUITE_END()
