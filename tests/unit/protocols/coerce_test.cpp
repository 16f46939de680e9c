// SPDX-License-Identifier: Apache-2.0
// Conversions and checks of arguments that the recorded cases do not contain. The results are those
// of
// @ai-sdk-tool/parser 4.1.26.
#include "models/json_schema.hpp"
#include "protocols/protocol_parts.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(coercion)

namespace {

struct conversion {
  std::string_view schema;
  std::string_view value;
  std::string_view want;
};
std::ostream& operator<<(std::ostream& out, const conversion& c) {
  return out << c.value << " by " << c.schema;
}

void check(const conversion& c) {
  BOOST_TEST(to_text(coerce(json::parse(c.value), json::parse(c.schema))) == c.want);
}

const auto unknown = std::vector<conversion>{
    {"null", R"("[\"5\"]")", R"(["5"])"},
    {"null", R"("{\"a\":\"5\"}")", R"({"a":"5"})"},
    {"null", R"(" 5 ")", "5"},
    {R"({"properties":{"a":true,"b":false}})", R"({"a":"5","b":"true"})",
     R"({"a":"5","b":"true"})"},
    {R"({"patternProperties":{"^a":true},"type":"object"})", R"({"a":"5"})", R"({"a":"5"})"},
    {R"({"additionalProperties":false})", R"({"a":"5"})", R"({"a":"5"})"},
    {R"({"additionalProperties":false})", R"("{\"a\":1}")", R"("{\"a\":1}")"},
    {R"({"jsonSchema":{"jsonSchema":{"type":"integer"}}})", R"("5")", "5"},
    {R"({"type":"array","items":[{"type":"integer"}]})", R"(["5","true"])", R"(["5","true"])"},
};

const auto enums = std::vector<conversion>{
    {R"({"type":"string","enum":["fast"]})", R"(" fast ")", R"(" fast ")"},
    {R"({"type":"string","enum":["fast"]})", R"(" 'fast' ")", R"("fast")"},
    {R"({"type":"string","enum":["slow mode"]})", R"("\"slow  mode\"")", R"("slow mode")"},
    {R"({"type":"string","enum":["slow mode"]})", R"("slow  mode")", R"("slow mode")"},
    {R"({"type":"string","enum":["a b","ab"]})", R"("a  b")", R"("a  b")"},
    {R"({"type":"string","enum":["a","a"]})", R"("'a'")", R"("'a'")"},
};

const auto lists = std::vector<conversion>{
    {R"({"type":"array","items":{}})", R"({"a":[1,2]})", R"([{"a":[1,2]}])"},
    {R"({"type":"array","items":{"type":"integer"}})", R"({"a":["1",2]})", "[1,2]"},
    {R"({"type":"array","items":{"anyOf":[{"type":"object"},{"type":"string"}]}})",
     R"({"user":{"id":1}})", R"([{"user":{"id":1}}])"},
    {R"({"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"}]}})",
     R"({"user":{"id":1}})", R"([{"id":1}])"},
    {R"({"type":"array","items":{"allOf":[{"required":["user"]},{"type":"string"}]}})",
     R"({"user":[1]})", "[1]"},
    {R"({"type":"array","items":{"properties":{"user":false}}})", R"({"user":[{"a":"1"}]})",
     R"([{"a":1}])"},
    {R"({"type":"array","items":{"type":"integer"}})", R"({"x":{"y":"abc"}})", R"([{"y":"abc"}])"},
    {R"({"type":"array","items":{"type":"integer"}})", R"({"x":{"y":"5"}})", "[5]"},
    {R"({"type":"array","items":{"additionalProperties":false,"properties":{"a":{"enum":["x"]},
         "b":{}}}})",
     R"({"a":[1,2],"b":[3,4]})", R"([{"a":1,"b":3},{"a":2,"b":4}])"},
    {R"({"type":"array","items":{"additionalProperties":false,"properties":{"a":{"type":"array"},
         "b":{}}}})",
     R"({"a":[1,2],"b":[3,4]})", R"([{"a":[1,2],"b":[3,4]}])"},
};

struct renaming {
  std::string_view from;
  std::string_view to;
  bool is_renamed;
};
std::ostream& operator<<(std::ostream& out, const renaming& r) {
  return out << r.from << " to " << r.to;
}
const auto renamings = std::vector<renaming>{
    {"user_id", "userId", true},
    {"userId", "user_id", true},
    {"line_2", "line2", true},
    {"_name", "name", true},
    {"user_name_", "userName_", true},
    {"userID", "user_id", true},
    {"user_id", "userID", false},
    {"user_id", "UserId", false},
    {"user__id", "userId", false},
    {"Name", "_name", false},
    {"HTTPServer", "http_server", false},
    {"tag", "tags", true},
    {"tags", "tag", true},
    {"a", "as", false},
};

struct pattern_case {
  std::string_view pattern;
  std::string_view key;
  bool applies;
};
std::ostream& operator<<(std::ostream& out, const pattern_case& p) {
  return out << p.pattern;
}
const auto patterns = std::vector<pattern_case>{
    {"^[a-z]+[0-9]*$", "a1", true}, {"^[A-Z]+[0-9]+$", "A1", true}, {"^\\w+\\s*$", "a ", true},
    {"a+b+", "ab", true},           {"(ab)+", "abab", true},        {"(a|b)+", "ab", false},
    {"^(ab?)+$", "ab", false},      {"(ab+)?c", "abc", false},      {"a+a+", "aa", false},
    {"[a]+[a]*", "aa", false},      {"(a)\\1", "aa", false},        {"[(|+]+x", "(x", true},
    {"((a+)b)*", "ab", true},       {"(?:ab){2}", "abab", true},
};

} // namespace

BOOST_DATA_TEST_CASE(values_without_type_are_guessed_once, unknown) {
  check(sample);
}

BOOST_DATA_TEST_CASE(enum_member_is_found_despite_quotes_and_spaces, enums) {
  check(sample);
}

BOOST_DATA_TEST_CASE(object_in_place_of_list_is_converted, lists) {
  check(sample);
}

BOOST_DATA_TEST_CASE(closed_schema_renames_case_styles_and_plurals, renamings) {
  auto schema = json::value(json::object{{"additionalProperties", false}});
  auto& members = schema.get_object();
  members["properties"] = json::object{};
  members["properties"].get_object()[sample.to] = json::object{{"type", "array"}};
  members["required"] = json::array{};
  members["required"].get_array().emplace_back(json::string_view{sample.to});
  auto value = json::object{};
  value[sample.from] = json::array{};
  const auto renamed = coerce(json::value(std::move(value)), schema);
  BOOST_TEST(renamed.get_object().contains(sample.to) == sample.is_renamed);
}

BOOST_AUTO_TEST_CASE(closed_part_without_properties_is_not_applied) {
  check({R"({"allOf":[{"type":"object","additionalProperties":false}]})", R"("{\"a\":1}")",
         R"("{\"a\":1}")"});
  check({R"({"allOf":[{"additionalProperties":false,"properties":{"a":{"type":"integer"}}}]})",
         R"({"a":"1"})", R"({"a":1})"});
}

BOOST_DATA_TEST_CASE(patterns_that_risk_backtracking_are_ignored, patterns) {
  auto schema = json::value(json::object{{"type", "object"}});
  schema.get_object()["patternProperties"] = json::object{};
  schema.at("patternProperties").get_object()[sample.pattern] = json::object{{"type", "string"}};
  auto value = json::object{};
  value[sample.key] = "5";
  const auto converted = coerce(json::value(std::move(value)), schema);
  BOOST_TEST(converted.at(sample.key).is_string() == sample.applies);
}

BOOST_AUTO_TEST_CASE(schema_without_type_requires_implied_type) {
  for (const auto* schema :
       {R"({"properties":{"a":{}}})", R"({"required":["a"]})", R"({"additionalProperties":false})",
        R"({"patternProperties":{"a":{}}})"}) {
    BOOST_TEST(!matches_schema("x", json::parse(schema)), schema);
    BOOST_TEST(!matches_schema(nullptr, json::parse(schema)), schema);
  }
  BOOST_TEST(matches_schema(json::object{{"a", 1}}, json::parse(R"({"required":["a"]})")));
  for (const auto* schema : {R"({"items":{}})", R"({"items":[{}]})", R"({"prefixItems":[{}]})"}) {
    BOOST_TEST(!matches_schema("x", json::parse(schema)), schema);
    BOOST_TEST(matches_schema(json::array{1}, json::parse(schema)), schema);
  }
  BOOST_TEST(matches_schema("x", json::parse(R"({"description":"any"})")));
}

BOOST_AUTO_TEST_SUITE_END()
