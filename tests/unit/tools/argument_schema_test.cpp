// SPDX-License-Identifier: Apache-2.0
// Argument schemas: checks, patterns, formats, limits on time and stack, and rejected schemas.
#include <superstep/tools/detail/argument_schema.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(argument_schemas)

namespace {

struct check_case {
  std::string_view name, schema, args, faults; ///< faults as `path: text; …`, or a part of that
};
std::ostream& operator<<(std::ostream& out, const check_case& c) {
  return out << c.name;
}

const auto checks = std::vector<check_case>{
    {"an empty schema accepts everything", "{}", R"({"a":1})", ""},
    {"arguments that match",
     R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})", R"({"a":1})",
     ""},
    {"a missing member", R"({"type":"object","properties":{"a":{}},"required":["a"]})", "{}",
     "a: Field required"},
    {"a missing member inside", R"({"properties":{"a":{"properties":{"b":{}},"required":["b"]}}})",
     R"({"a":{}})", "a.b: Field required"},
    {"faults in the order of the schema's properties",
     R"({"properties":{"z":{"type":"string"},"n":{"type":"integer","minimum":1},"a":{}},"required":["z","a"]})",
     R"({"a":1,"n":0})", "z: Field required; n: "},
    {"one fault for each value", R"({"properties":{"a":{"type":"integer","enum":[1,2]}}})",
     R"({"a":"x"})", "a: "},
    {"a value of another type", R"({"type":"object","properties":{"a":{"type":"string"}}})",
     R"({"a":1})", "a: Value type not permitted by 'type' constraint."},
    {"a wrong item",
     R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"type":"number"}}}}}})",
     R"({"a":{"b":[1,2,"x"]}})", "a.b.2: Value type not permitted by 'type' constraint."},
    {"an unknown member", R"({"type":"object","properties":{"a":{}},"additionalProperties":false})",
     R"({"b":1})", "b"},
    {"an enum", R"({"type":"object","properties":{"a":{"enum":["x","y"]}}})", R"({"a":"z"})",
     "a: "},
    {"null for an optional member", R"({"type":"object","properties":{"a":{"type":"number"}}})",
     R"({"a":null})", ""},
    {"null for a required member", R"({"properties":{"a":{"type":"number"}},"required":["a"]})",
     R"({"a":null})", "a: "},
    {"null for an optional member inside",
     R"({"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}})",
     R"({"a":{"b":null}})", ""},
    {"null for an optional member of an item",
     R"({"properties":{"a":{"type":"array","items":{"properties":{"b":{"enum":["x"]}}}}}})",
     R"({"a":[{"b":"x"},{"b":null}]})", ""},
    {"null for a required member inside",
     R"({"properties":{"a":{"properties":{"b":{"type":"string"}},"required":["b"]}}})",
     R"({"a":{"b":null}})", "a.b: "},
    {"null for an item", R"({"properties":{"a":{"type":"array","items":{"type":"string"}}}})",
     R"({"a":[null]})", "a.0: "},
    {"null for an optional member behind a reference",
     R"({"properties":{"a":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"null"}]}},)"
     R"("$defs":{"n":{"type":"object","properties":{"b":{"type":"integer"}}}}})",
     R"({"a":{"b":null}})", ""},
    {"a double without fraction for an integer", R"({"properties":{"a":{"type":"integer"}}})",
     R"({"a":3.0})", ""},
    {"a double with fraction for an integer", R"({"properties":{"a":{"type":"integer"}}})",
     R"({"a":3.5})", "a: "},
    {"a large double for an integer or text",
     R"({"properties":{"a":{"type":["string","integer"]}}})", R"({"a":1e20})", ""},
    {"an integer above 2^63", R"({"properties":{"a":{"type":"integer","maximum":1e19}}})",
     R"({"a":9223372036854775808})", ""},
    {"an integer above 2^63 and the maximum",
     R"({"properties":{"a":{"type":"integer","maximum":10}}})", R"({"a":9223372036854775808})",
     "a: "},
    {"references inside the schema",
     R"({"type":"object","properties":{"a":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"number"}}})",
     R"({"a":"z"})", "a: "},
};

std::string print(const std::vector<argument_fault>& faults) {
  auto text = std::string{};
  for (const auto& f : faults)
    text += (text.empty() ? "" : "; ") + f.path + ": " + f.text;
  return text;
}

} // namespace

BOOST_DATA_TEST_CASE(arguments_violating_schema_are_reported_with_path,
                     boost::unit_test::data::make(checks), c) {
  const auto schema = argument_schema::compile(parse_json(c.schema)->get_object());
  BOOST_REQUIRE(schema.has_value());
  const auto faults = schema->check(parse_json(c.args)->get_object());
  BOOST_TEST_INFO(print(faults));
  BOOST_TEST(faults.empty() == c.faults.empty());
  BOOST_TEST(print(faults).find(c.faults) != std::string::npos);
}

namespace {

struct multiple_case {
  std::string_view divisor, value;
  bool matches;
};
std::ostream& operator<<(std::ostream& out, const multiple_case& c) {
  return out << c.value << " / " << c.divisor;
}

const auto multiples = std::vector<multiple_case>{
    {"3", R"("text")", true},
    {"3", "9", true},
    {"3", "-9", true},
    {"3", "0", true},
    {"3", "10", false},
    {"3", "9.0", true},
    {"3", "9.5", false},
    {"3", "10.7", false},
    {"1", "1e300", true},
    {"1", "9223372036854775807", true},
    {"2", "9223372036854775807", false},
    {"0.1", "0.3", true},
    {"0.1", "0.7", true},
    {"0.1", "4.35", false},
    {"0.01", "19.99", true},
    {"0.01", "4.35", true},
    {"0.01", "1.13", true},
    {"0.01", "100", true},
    {"0.01", "1.005", false},
    {"0.01", "123456.78", true},
    {"0.01", "123456.785", false},
    {"0.5", "1e300", true},
    {"0.5", "-2.5", true},
    {"0.5", "2.25", false},
    {"2.5", "5", true},
    {"2.5", "6", false},
    {"1e-300", "1e300", false},
};

} // namespace

BOOST_DATA_TEST_CASE(multiple_of_tolerates_only_rounding_errors,
                     boost::unit_test::data::make(multiples), c) {
  const auto text = R"({"properties":{"a":{"multipleOf":)" + std::string{c.divisor} + "}}}";
  const auto schema = argument_schema::compile(parse_json(text)->get_object());
  BOOST_REQUIRE(schema.has_value());
  const auto args = parse_json(R"({"a":)" + std::string{c.value} + "}")->get_object();
  const auto faults = schema->check(args);
  BOOST_TEST(faults.empty() == c.matches, print(faults));
  if (!c.matches)
    BOOST_TEST(print(faults) ==
               "a: Value should be a multiple of " + to_text(*parse_json(c.divisor)));
}

BOOST_AUTO_TEST_CASE(examine_removes_only_ignored_nulls) {
  const auto compiled = argument_schema::compile(
      parse_json(R"({"properties":{"q":{"type":"string"},"lang":{"type":"string"},)"
                 R"("sort":{"type":["string","null"]},"any":{},"odd":{"not":{"type":"null"}},)"
                 R"("in":{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}},)"
                 R"("required":["q"],"additionalProperties":false})")
          ->get_object());
  BOOST_REQUIRE(compiled.has_value());
  const auto examine = [&](std::string_view args) {
    auto checked = compiled->examine(parse_json(args)->get_object());
    return checked.without_nulls ? to_text(*checked.without_nulls) : print(checked.faults);
  };
  BOOST_TEST(examine(R"({"q":"x","sort":null,"any":null})") == "");
  BOOST_TEST(examine(R"({"lang":null,"q":"x","sort":null,"in":{"a":null,"b":1}})") ==
             R"({"q":"x","sort":null,"in":{"b":1}})");
  BOOST_TEST(examine(R"({"q":"x","odd":null,"unknown":null})") == R"({"q":"x"})");
  BOOST_TEST(examine(R"({"q":null,"lang":null})").starts_with("q: "));
}

BOOST_AUTO_TEST_CASE(invalid_schema_is_rejected) {
  for (const auto* text :
       {R"({"type":7})", R"({"properties":[]})", R"({"$ref":"http://example.org/s"})"})
    BOOST_TEST(argument_schema::compile(parse_json(text)->get_object()).has_error());
}

namespace {

json::object object_of(std::string_view text) {
  return parse_json(text)->get_object();
}

argument_schema schema_of(std::string_view text) {
  auto schema = argument_schema::compile(object_of(text));
  BOOST_REQUIRE(schema.has_value());
  return *std::move(schema);
}

json::object with_text(std::size_t size, char c = 'a') {
  return {{"s", std::string(size, c)}};
}

/// Returns nested brackets: `[[[…1…]]]`.
std::string nested(std::size_t depth, std::string_view open = "[", std::string_view close = "]") {
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < depth; ++i)
    out += open;
  out += '1';
  for (auto i = std::size_t{0}; i < depth; ++i)
    out += close;
  return out;
}

struct pattern_case {
  std::string_view name, pattern, takes, refuses;
};
std::ostream& operator<<(std::ostream& out, const pattern_case& c) {
  return out << c.name;
}

const auto patterns = std::vector<pattern_case>{
    {"letters", "^[a-z]*$", "abc", "aBc"},
    {"a part of the text", "b+", "abbc", "ac"},
    {"digits and counts", "^\\\\d{3}-\\\\d{2}$", "123-45", "123-4"},
    {"an escaped slash", "^a\\\\/b$", "a/b", "ab"},
    {"a code unit", "^\\\\u00e9$", "\u00e9", "e"},
    {"a pair of code units", "^\\\\ud83d\\\\ude00$", "\U0001F600", "e"},
    {"a group with a name", "^(?<year>[0-9]{4})$", "2024", "24"},
    {"no capture", "^(?:ab|cd)+$", "abcd", "abc"},
};

} // namespace

BOOST_DATA_TEST_CASE(patterns_match_as_in_json_schema, boost::unit_test::data::make(patterns), c) {
  const auto text = R"({"properties":{"s":{"pattern":")" + std::string{c.pattern} + "\"}}}";
  const auto schema = schema_of(text);
  BOOST_TEST(schema.check({{"s", c.takes}}).empty());
  BOOST_TEST(schema.check({{"s", c.refuses}}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(pattern_check_takes_linear_time_and_bounded_stack) {
  for (const auto* pattern : {"^[a-z]*$", "^(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$",
                              "^(a|a?)+$", "(x+x+)+y", "^.*a.*a.*a.*a.*a.*a.*!$"}) {
    const auto began = std::chrono::steady_clock::now();
    for (const auto& text :
         {json::object{{"properties", {{"s", {{"pattern", pattern}}}}}},
          json::object{{"patternProperties", {{pattern, {{"type", "integer"}}}}}},
          json::object{{"propertyNames", {{"pattern", pattern}}}},
          json::object{{"properties", {{"s", {{"anyOf", {{{"pattern", pattern}}, true}}}}}}}}) {
      const auto schema = argument_schema::compile(text);
      BOOST_REQUIRE(schema.has_value());
      (void)schema->check(with_text(1'000'000));
      (void)schema->check({{std::string(100'000, 'a'), 1}});
    }
    BOOST_TEST((std::chrono::steady_clock::now() - began < std::chrono::seconds{5}), pattern);
  }
}

BOOST_AUTO_TEST_CASE(date_and_time_format_checks_take_linear_time) {
  for (const auto* format : {"date", "time", "date-time"}) {
    const auto schema = argument_schema::compile({{"properties", {{"s", {{"format", format}}}}}});
    BOOST_TEST(schema->check(with_text(1'000'000, '1')).size() == 1u);
    BOOST_TEST(schema->check({{"s", "16:52:45." + std::string(1'000'000, '1') + "Z"}}).empty() ==
               (std::string_view{format} == "time"));
    BOOST_TEST(schema->check({{"s", 7}}).empty()); // formats apply to texts only
  }
  const auto date = schema_of(R"({"properties":{"s":{"format":"date"}}})");
  BOOST_TEST(date.check({{"s", "2024-02-29"}}).empty());
  for (const auto* wrong : {"2024-02-30", "2023-02-29", "2024-13-01", "2024-00-01", "2024-04-31",
                            "2024-04-00", "2024-1-1", "02024-01-01", ""})
    BOOST_TEST(date.check({{"s", wrong}}).size() == 1u);
  const auto moment = schema_of(R"({"properties":{"s":{"format":"date-time"}}})");
  for (const auto* right : {"2024-02-29T10:00:00Z", "2024-02-29t10:00:00.5+02:00"})
    BOOST_TEST(moment.check({{"s", right}}).empty());
  for (const auto* wrong : {"2024-02-29T10:00:00|02:00", "2024-02-29T10:00:00"})
    BOOST_TEST(moment.check({{"s", wrong}}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(schema_with_uncompilable_pattern_is_rejected_with_path) {
  for (const auto* pattern : {"^(?=a).*$", "(?!x)", "(?<=a)b", "(?<!a)b", "(a)\\1", "(?<n>a)\\k<n>",
                              "[", "(", "a{1001}", "*"})
    for (const auto& [schema, place] : std::vector<std::pair<json::object, std::string>>{
             {{{"properties", {{"s", {{"pattern", pattern}}}}}}, "properties.s.pattern"},
             {{{"patternProperties", {{pattern, json::object{}}}}},
              std::string{"patternProperties."} + pattern},
             {{{"items", {{{"pattern", pattern}}}}}, "items.0.pattern"}}) {
      const auto fault = argument_schema::find_fault(schema);
      BOOST_REQUIRE(fault.has_value());
      BOOST_TEST(fault->path == place);
      BOOST_TEST(argument_schema::compile(schema).error().text.starts_with(place + ": "));
    }
}

BOOST_AUTO_TEST_CASE(pattern_key_outside_schema_is_not_compiled) {
  for (const auto* text : {R"j({"properties":{"pattern":{"type":"string"}}})j",
                           R"j({"properties":{"p":{"default":{"pattern":"(?=x)"}}}})j",
                           R"j({"properties":{"p":{"enum":[{"pattern":"(?=x)"}]}}})j",
                           R"j({"properties":{"p":{"const":{"pattern":"(?=x)"}}}})j"})
    BOOST_TEST(!argument_schema::find_fault(object_of(text)));
}

BOOST_AUTO_TEST_CASE(cyclic_references_and_excessive_schema_size_are_rejected) {
  const auto refused = [](const json::object& schema) {
    BOOST_TEST(argument_schema::compile(schema).has_error());
  };
  refused(object_of(R"({"properties":{"a":{"$ref":"#/definitions/a"}},
    "definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}})"));
  refused(object_of(R"({"properties":{"a":{"$ref":"#/properties/a"}}})"));
  refused(object_of(R"({"definitions":{"a b":{"$ref":"#/definitions/a%20b"}},
    "items":{"$ref":"#/definitions/a%20b"}})"));
  refused({{"$ref", "urn:" + std::string(100'000, 'a')}});
  refused({{"id", "urn:ab:" + std::string(100'000, 'a')}});
  refused({{"enum", parse_json(nested(150))->get_array()}});
  auto deep = json::object{{"type", "object"}};
  for (auto i = 0; i < 150; ++i)
    deep = json::object{{"properties", {{"a", std::move(deep)}}}};
  refused(deep);
  auto wide = json::array(200'000, json::value{1});
  refused({{"enum", std::move(wide)}});
}

BOOST_AUTO_TEST_CASE(overlong_reference_chains_are_rejected) {
  constexpr auto count = 20'000;
  auto definitions = json::object{};
  for (auto i = 0; i < count; ++i)
    definitions["d" + std::to_string(i)] = {
        {"items", {{"$ref", "#/definitions/d" + std::to_string(i + 1)}}}};
  definitions["d" + std::to_string(count)] = json::object{};
  const auto schema = argument_schema::compile(
      {{"definitions", std::move(definitions)}, {"items", {{"$ref", "#/definitions/d0"}}}});
  BOOST_TEST(schema.has_error());
}

BOOST_AUTO_TEST_CASE(endless_schema_recursion_is_reported_as_fault) {
  for (const auto* text : {R"({"allOf":[{"$ref":"#"}]})", R"({"anyOf":[{"$ref":"#"}]})",
                           R"({"not":{"$ref":"#"}})", R"({"if":{"$ref":"#"},"then":true})",
                           R"({"definitions":{"a":{"oneOf":[{"$ref":"#/definitions/b"},true]},
            "b":{"allOf":[{"$ref":"#/definitions/a"}]}},"allOf":[{"$ref":"#/definitions/a"}]})"})
    if (const auto schema = argument_schema::compile(object_of(text)))
      BOOST_TEST(schema->check({{"a", 1}}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(recursive_schema_accepts_deeply_nested_arguments) {
  const auto schema = schema_of(
      R"({"properties":{"a":{"$ref":"#"}},"additionalProperties":false,"type":["object","integer"]})");
  BOOST_TEST(schema.check(object_of(nested(150, R"({"a":)", "}"))).empty());
  BOOST_TEST(schema.check(object_of(nested(150, R"({"b":)", "}"))).size() == 1u);
}

BOOST_AUTO_TEST_CASE(nested_alternatives_are_checked_in_bounded_time) {
  auto definitions = json::object{};
  for (auto i = 0; i < 40; ++i) {
    const auto next = json::object{{"$ref", "#/definitions/d" + std::to_string(i + 1)}};
    definitions["d" + std::to_string(i)] = {{"anyOf", {next, next, next}}};
  }
  definitions["d40"] = {{"type", "string"}};
  const auto schema =
      argument_schema::compile({{"definitions", std::move(definitions)},
                                {"properties", {{"a", {{"$ref", "#/definitions/d0"}}}}}});
  BOOST_REQUIRE(schema.has_value());
  const auto began = std::chrono::steady_clock::now();
  BOOST_TEST(schema->check({{"a", 1}}).size() == 1u);
  BOOST_TEST((std::chrono::steady_clock::now() - began < std::chrono::seconds{4}));
}

BOOST_AUTO_TEST_CASE(large_arguments_are_checked_in_bounded_time) {
  const auto schema = schema_of(
      R"({"properties":{"a":{"uniqueItems":true},"b":{"items":{"type":"string"}},
          "c":{"additionalProperties":{"type":"string"}},"s":{"maxLength":5}}})");
  auto numbers = json::array{};
  auto members = json::object{};
  for (auto i = 0; i < 150'000; ++i) {
    numbers.emplace_back(i);
    members[std::to_string(i)] = i;
  }
  auto patient = schema_check_limits{};
  patient.time_max = std::chrono::seconds{60};
  const auto began = std::chrono::steady_clock::now();
  BOOST_TEST(schema.check({{"a", numbers}}, patient).empty());
  BOOST_TEST(schema.check({{"b", numbers}}, patient).size() == 10u); // the first ten faults
  BOOST_TEST(schema.check({{"c", std::move(members)}}, patient).size() == 10u);
  BOOST_TEST(schema.check(with_text(1'000'000), patient).size() == 1u);
  numbers.emplace_back(7);
  BOOST_TEST(schema.check({{"a", std::move(numbers)}}, patient).front().path == "a");
  BOOST_TEST((std::chrono::steady_clock::now() - began < std::chrono::seconds{30}));
}

BOOST_AUTO_TEST_CASE(failed_alternative_does_not_prevent_another_from_matching) {
  for (const auto* alternatives : {"anyOf", "oneOf"}) {
    const auto schema = argument_schema::compile(
        {{"properties",
          {{"a", {{alternatives, {{{"items", {{"type", "string"}}}}, {{"minItems", 1}}}}}}}}});
    BOOST_REQUIRE(schema.has_value());
    BOOST_TEST(schema->check({{"a", json::array(1'000, json::value(1))}}).empty());
  }
}

BOOST_AUTO_TEST_CASE(unique_items_are_compared_by_value) {
  const auto schema = schema_of(R"({"properties":{"a":{"uniqueItems":true}}})");
  for (const auto* same : {R"({"a":[1,2,1]})", R"({"a":[1,1.0]})", R"({"a":["x","x"]})",
                           R"({"a":[{"x":1,"y":[2]},{"y":[2],"x":1}]})", R"({"a":[null,null]})"})
    BOOST_TEST(schema.check(object_of(same)).size() == 1u, same);
  for (const auto* distinct : {R"({"a":[1,true,"1",[1],{"a":1},null,0,false,""]})",
                               R"({"a":[[1,2],[2,1]]})", R"({"a":[{"x":1},{"y":1}]})"})
    BOOST_TEST(schema.check(object_of(distinct)).empty(), distinct);
}

BOOST_AUTO_TEST_CASE(check_stops_on_cancellation_or_timeout) {
  const auto schema = schema_of(R"({"properties":{"a":{"items":{"type":"integer"}}}})");
  const auto arguments = json::object{{"a", json::array(100'000, json::value(1))}};
  auto limits = schema_check_limits{};
  limits.time_max = std::chrono::seconds{60};
  auto stopped = std::stop_source{};
  limits.stop = stopped.get_token();
  BOOST_TEST(schema.check(arguments, limits).empty());
  stopped.request_stop();
  BOOST_TEST(schema.check(arguments, limits).size() == 1u);
  limits = schema_check_limits{};
  limits.time_max = std::chrono::milliseconds{0};
  BOOST_TEST(schema.check(arguments, limits).size() == 1u);
}

BOOST_AUTO_TEST_CASE(error_for_model_contains_call_and_faults) {
  BOOST_TEST(describe_faults("f", json::object{{"a", 1}}, {{"a", "is bad"}, {"", "is worse"}}) ==
             "Error invoking tool 'f' with kwargs {'a': 1} with error:\n a: is bad\narguments: is "
             "worse\n Please fix the error and try again.");
}

BOOST_AUTO_TEST_CASE(schema_with_unusable_multiple_of_is_rejected) {
  for (const auto* divisor : {"0", "-1", "0.0", "-0.5", "18446744073709551615", "\"0\"", "null"}) {
    const auto text = R"({"type":"object","properties":{"n":{"anyOf":[{"multipleOf":)" +
                      std::string{divisor} + R"(},{"type":"null"}]}}})";
    const auto fault = argument_schema::find_fault(parse_json(text).value().as_object());
    BOOST_TEST_REQUIRE(fault.has_value(), divisor);
    BOOST_TEST(fault->path == "properties.n.anyOf.0.multipleOf", divisor);
  }
  const auto schema = argument_schema::compile(
      parse_json(R"({"type":"object","properties":{"multipleOf":{"multipleOf":2}}})")
          .value()
          .as_object());
  BOOST_TEST_REQUIRE(schema.has_value());
  BOOST_TEST(schema->check({{"multipleOf", 4}}).empty());
  BOOST_TEST(schema->check({{"multipleOf", 5}}).size() == 1U);
}

BOOST_AUTO_TEST_CASE(real_schemas_accept_nearly_all_expected_calls) {
  const auto* shared = std::getenv("SUPERSTEP_SHARED");
  auto rows = std::size_t{0};
  auto calls = std::size_t{0};
  auto refused = std::size_t{0};
  if (shared)
    for (const auto& entry : {"multiple", "parallel", "parallel_multiple"}) {
      auto file = std::ifstream{shared + std::string{"/data/bfcl/bfcl_"} + entry + ".jsonl"};
      for (auto line = std::string{}; std::getline(file, line); ++rows) {
        const auto row = parse_json(line);
        BOOST_REQUIRE(row.has_value());
        for (const auto& tool : row->at("tools").as_array()) {
          const auto& about = tool.as_object().contains("function") ? tool.at("function") : tool;
          const auto schema = argument_schema::compile(about.at("parameters").as_object());
          BOOST_REQUIRE(schema.has_value());
          for (const auto& call : row->at("expected_calls").as_array())
            if (call.at("name") == about.at("name")) {
              const auto& args = call.at("args").as_object();
              ++calls;
              refused += !schema->check(args).empty();
            }
        }
      }
    }
  BOOST_TEST_MESSAGE(rows << " rows, " << calls << " calls, " << refused << " refused");
  BOOST_TEST(refused * 100 <= calls); // a few calls of the data do not match their own schemas
}

BOOST_AUTO_TEST_SUITE_END()
