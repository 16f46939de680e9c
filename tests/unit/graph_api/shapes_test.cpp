// SPDX-License-Identifier: Apache-2.0
// Optional checks of what a node reads against the declared shapes of channels.
#include "base/utf8.hpp"
#include "graph_api/json_runs.hpp"

#include <superstep/runtime/json_graph.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

using namespace graph_api;

BOOST_AUTO_TEST_SUITE(shapes)

namespace {

struct shape_case {
  const char* shape;
  const char* value;
  const char* misfit; // empty if the value matches
};
std::ostream& operator<<(std::ostream& out, const shape_case& c) {
  return out << c.value << " as " << c.shape;
}

const auto shape_cases = std::vector<shape_case>{
    {R"("any")", R"([1])", ""},
    {R"("integer")", "1", ""},
    {R"("integer")", "1.5", "x should be an integer, got 1.5"},
    {R"("number")", "1", ""},
    {R"("string?")", "null", ""},
    {R"("string?")", "7", "x should be a string or null, got 7"},
    {R"(["integer"])", "[1,2]", ""},
    {R"(["integer"])", R"([1,"2"])", R"(x[1] should be an integer, got "2")"},
    {R"("list")", R"([1,"2"])", ""},
    {R"({"name":"string"})", R"({"name":"a","more":1})", ""},
    {R"({"name":"string"})", "{}", "x.name is missing"},
    {R"({"name":"string?"})", "{}", ""},
    {R"({"items":[{"price":"number"}]})", R"({"items":[{"price":1},{"price":true}]})",
     "x.items[1].price should be a number, got true"},
};

struct bad_shape {
  const char* shape;
  const char* text;
};
std::ostream& operator<<(std::ostream& out, const bad_shape& c) {
  return out << c.shape;
}

const auto bad_shapes = std::vector<bad_shape>{
    {R"("int")", "$: 'int' is not a type"},
    {R"({"a":["text"]})", "$.a[]: 'text' is not a type"},
    {R"(["string","string"])", "$: a list shape must contain one shape"},
    {"7", "$: a shape must be a string"},
};

/// A node `read` that reads `cart` after a node that writes it.
ss::json_graph shop(bool check, const json::value& written) {
  auto g = ss::json_graph{{.ignore_unknown_channels = false, .check_inputs = check}};
  g.channel("cart").shape("cart", json::object{{"items", json::array{"integer"}}});
  g.add("write", [written](const json::value&) { return json::object{{"cart", written}}; });
  g.add("read", [](const json::value&) {});
  g.sequence({"__start__", "write", "read"});
  return g;
}

} // namespace

BOOST_DATA_TEST_CASE(shape_mismatch_is_reported_with_its_path,
                     boost::unit_test::data::make(shape_cases), c) {
  const auto shape = ss::json_shape::parse(json::parse(c.shape));
  BOOST_TEST_REQUIRE(shape.has_value());
  BOOST_TEST(shape->misfit(json::parse(c.value), "x").value_or("") == c.misfit);
}

BOOST_AUTO_TEST_CASE(long_value_in_mismatch_is_not_cut_inside_a_character) {
  auto text = std::string{"x"}; // with it, the cut at a fixed size is inside a character
  for (auto i = 0; i < 60; ++i)
    text += "ä";
  const auto shape = ss::json_shape::parse(json::value("integer"));
  BOOST_TEST(ss::is_utf8(shape->misfit(json::value(text), "x").value()));
}

BOOST_DATA_TEST_CASE(invalid_shape_is_rejected, boost::unit_test::data::make(bad_shapes), c) {
  const auto shape = ss::json_shape::parse(json::parse(c.shape));
  BOOST_TEST_REQUIRE(!shape.has_value());
  BOOST_TEST(shape.error().text.starts_with(c.text));
}

BOOST_AUTO_TEST_CASE(too_deeply_nested_shape_is_rejected) {
  auto deep = json::value("any");
  for (auto i = 0; i < 100; ++i) {
    auto list = json::array{};
    list.push_back(std::move(deep));
    deep = std::move(list);
  }
  BOOST_TEST(!ss::json_shape::parse(deep).has_value());
}

BOOST_AUTO_TEST_CASE(input_that_mismatches_shape_fails_the_node) {
  auto e = ss::engine{{.workers = 1}};
  const auto wrong = json::value(json::object{{"items", json::array{1, "two"}}});
  const auto failed = run(e, shop(true, wrong).compile());
  BOOST_TEST_REQUIRE(failed.raw.error.has_value());
  BOOST_TEST(failed.raw.error->text == "node 'read' (task read, step 2) failed: cart.items[1] "
                                       "should be an integer, got \"two\"");
  const auto right = json::value(json::object{{"items", json::array{1, 2}}});
  BOOST_TEST(!run(e, shop(true, right).compile()).raw.error.has_value());
}

BOOST_AUTO_TEST_CASE(shapes_are_not_checked_by_default) {
  auto e = ss::engine{{.workers = 1}};
  BOOST_TEST(!run(e, shop(false, json::value("no cart")).compile()).raw.error.has_value());
}

BOOST_AUTO_TEST_CASE(compile_rejects_invalid_shapes_and_unknown_channels) {
  auto g = shop(true, json::value("x"));
  g.shape("cart", json::value("basket")).shape("cat", json::value("string"));
  try {
    static_cast<void>(g.compile());
    BOOST_ERROR("no exception");
  } catch (const ss::compile_error& failed) {
    BOOST_TEST(failed.faults().size() == 2U);
    const auto text = std::string{failed.what()};
    BOOST_TEST(text.find("the shape of channel 'cart' is invalid at $: 'basket' is not a type") !=
               std::string::npos);
    BOOST_TEST(text.find("json_graph::shape() names 'cat'") != std::string::npos);
  }
}

BOOST_AUTO_TEST_SUITE_END()
