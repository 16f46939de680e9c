// SPDX-License-Identifier: Apache-2.0
// make_tool(): tools from functions, their schemas, arguments, results and errors.
#include "run_tool.hpp"

#include <superstep/base/await.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace superstep;
using superstep::testing::run_tool;

BOOST_AUTO_TEST_SUITE(tools_from_functions)

namespace {

enum class unit { celsius, kelvin };
BOOST_DESCRIBE_ENUM(unit, celsius, kelvin)

struct place {
  std::string city;
  std::optional<double> height;
};
BOOST_DESCRIBE_STRUCT(place, (), (city, height))

struct weather_args {
  place where;
  std::vector<std::int32_t> days;
  std::optional<unit> scale;
  bool exact = false;
  std::optional<json::object> more;

  static constexpr auto descriptions = std::array{std::pair{"days", "Days from today"}};
};
BOOST_DESCRIBE_STRUCT(weather_args, (), (where, days, scale, exact, more))

struct small {
  std::uint8_t n = 0;
};
BOOST_DESCRIBE_STRUCT(small, (), (n))

const auto args = json::object{{"where", json::object{{"city", "Seoul"}}},
                               {"days", json::array{1, 2}},
                               {"scale", "kelvin"},
                               {"exact", true}};

std::string told(const tool_ptr& t, json::object a) {
  return run_tool(*t, std::move(a)).content;
}

/// Returns the error of a call whose arguments do not fit the argument struct.
std::string rejection(const tool_ptr& t, json::object a) {
  try {
    return "no error: " + told(t, std::move(a));
  } catch (const tool_invocation_error& e) {
    return e.what();
  }
}

struct nested_args {
  std::optional<place> where;
  std::vector<std::optional<int>> days;
  std::map<std::string, std::optional<int>> counts;
};
BOOST_DESCRIBE_STRUCT(nested_args, (), (where, days, counts))

task<std::string> say_later(std::string what) {
  co_return what;
}

} // namespace

BOOST_AUTO_TEST_CASE(schema_is_derived_from_argument_struct) {
  const auto t =
      make_tool<weather_args>("weather", "Tells it.", [](const weather_args&) { return 1; });
  BOOST_TEST(t->definition().name == "weather");
  BOOST_TEST(t->definition().description == "Tells it.");
  BOOST_TEST(
      to_text(t->definition().parameters) ==
      R"({"type":"object","properties":{)"
      R"("where":{"type":"object","properties":{"city":{"type":"string"},"height":{"type":"number"}},)"
      R"("required":["city"],"additionalProperties":false},)"
      R"("days":{"type":"array","items":{"type":"integer"},"description":"Days from today"},)"
      R"("scale":{"type":"string","enum":["celsius","kelvin"]},"exact":{"type":"boolean"},)"
      R"("more":{"type":"object"}},"required":["where","days","exact"],"additionalProperties":false})");
}

BOOST_AUTO_TEST_CASE(function_receives_arguments_as_a_struct) {
  const auto t = make_tool<weather_args>("weather", "", [](const weather_args& a) {
    return a.where.city + (a.where.height ? "!" : "?") + std::to_string(a.days.at(1)) +
           (a.scale == unit::kelvin ? "K" : "C") + (a.exact ? "=" : "~");
  });
  BOOST_TEST(told(t, args) == "Seoul?2K=");
}

BOOST_AUTO_TEST_CASE(function_receives_the_tool_context) {
  const auto t = make_tool<small>(
      "t", "", [](small a, tool_context c) { return c.run_key + std::to_string(a.n); });
  auto context = tool_context{};
  context.run_key = "row";
  BOOST_TEST(run_tool(*t, {{"n", 3}}, context).content == "row3");
}

BOOST_AUTO_TEST_CASE(function_result_of_any_type_becomes_text) {
  BOOST_TEST(told(make_tool<small>("t", "", [](const small&) { return "text"; }), {{"n", 1}}) ==
             "text");
  BOOST_TEST(told(make_tool<small>("t", "", [](const small&) { return 1.5; }), {{"n", 1}}) ==
             "1.5");
  BOOST_TEST(told(make_tool<small>("t", "", [](const small&) { return true; }), {{"n", 1}}) ==
             "true");
  BOOST_TEST(told(make_tool<small>("t", "", [](const small& a) { return a; }), {{"n", 7}}) ==
             R"({"n": 7})");
  BOOST_TEST(told(make_tool<small>("t", "",
                                   [](const small&) {
                                     return json::value{1, "a"};
                                   }),
                  {{"n", 1}}) == R"([1, "a"])");
  BOOST_TEST(told(make_tool<small>("t", "",
                                   [](const small&) {
                                     return std::vector{1, 2};
                                   }),
                  {{"n", 1}}) == "[1, 2]");
  const auto failing = make_tool<small>("t", "", [](const small&) {
    return tool_output{"no", true, json::value(3)};
  });
  BOOST_TEST(run_tool(*failing, {{"n", 1}}).is_error);
}

BOOST_AUTO_TEST_CASE(result_of_coroutine_becomes_tool_result) {
  const auto t = make_tool<small>("t", "", [](small a) -> task<std::string> {
    auto saying = say_later("later " + std::to_string(a.n));
    auto said = co_await saying;
    co_return said;
  });
  BOOST_TEST(told(t, {{"n", 5}}) == "later 5");
  const auto number =
      make_tool<small>("t", "", [](const small& a) -> task<int> { co_return a.n + 1; });
  BOOST_TEST(told(number, {{"n", 5}}) == "6");
}

BOOST_AUTO_TEST_CASE(error_for_invalid_arguments_contains_each_path) {
  const auto t = make_tool<weather_args>("weather", "", [](const weather_args&) { return 1; });
  const auto text = rejection(t, {{"where", json::object{{"city", 3}}},
                                  {"days", json::array{1, 2.5}},
                                  {"scale", "rankine"},
                                  {"extra", 1}});
  for (const auto* part : {"\n where.city: must be a string", "\ndays.1: must be an integer from",
                           "\nscale: must be one of celsius, kelvin", "\nexact: is required",
                           "\narguments: has the unknown member \"extra\"; known members: "})
    BOOST_TEST(text.find(part) != std::string::npos, part);
}

BOOST_AUTO_TEST_CASE(integer_outside_range_of_its_type_is_rejected) {
  const auto t = make_tool<small>("t", "", [](const small& a) { return a; });
  BOOST_TEST(told(t, {{"n", 255}}) == R"({"n": 255})");
  BOOST_TEST(told(t, {{"n", 3.0}}) == R"({"n": 3})");
  for (const auto& bad : {json::value(256), json::value(-1), json::value(0.5), json::value("1"),
                          json::value(nullptr)})
    BOOST_TEST(rejection(t, {{"n", bad}}).find("n: must be an integer from 0 to 255") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(null_is_accepted_for_optional_values_at_any_level) {
  const auto t = make_tool("t", "", [](const nested_args& a) {
    const auto height = a.where ? a.where->city + (a.where->height ? "!" : "?") : "nowhere";
    return height + std::to_string(a.days.size()) + std::to_string(a.counts.size());
  });
  BOOST_TEST(to_text(t->definition().parameters.at("properties").at("days")) ==
             R"({"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"null"}]}})");
  const auto node = tool_node{{t}};
  const auto ask = [&](std::string_view args) {
    return sync_wait(node.run({"c1", "t", parse_json(args)->get_object()}, {}))->content;
  };
  BOOST_TEST(ask(R"({"where":{"city":"Rome","height":null},"days":[1,null],)"
                 R"("counts":{"a":null}})") == "Rome?21");
  BOOST_TEST(ask(R"({"where":null,"days":[],"counts":{}})") == "nowhere00");
  BOOST_TEST(ask(R"({"where":{"city":null},"days":[],"counts":{}})").find("where.city: ") !=
             std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
