// SPDX-License-Identifier: Apache-2.0
// The conversion of JSON Schemas to OpenAI's strict mode, and of the answers back.
#include "models/strict_schema.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

using namespace superstep;
namespace data = boost::unit_test::data;

BOOST_AUTO_TEST_SUITE(strict_schema_suite)

namespace {

json::value parsed(std::string_view text) {
  return parse_json(text).value();
}

struct schema_case {
  std::string_view given;
  std::string_view expected; ///< the strict schema, or a part of the error
};
std::ostream& operator<<(std::ostream& out, const schema_case& c) {
  return out << c.given;
}

const auto convertible = std::vector<schema_case>{
    {R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})",
     R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false})"},
    {R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["b"]})",
     R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"integer"}},"required":["a","b"],"additionalProperties":false})"},
    {R"({"type":"object","properties":{"a":{"type":["string","null"],"default":null}}})",
     R"({"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false})"},
    {R"({"type":"object","properties":{"a":{"enum":["x","y"]}},"required":["a"]})",
     R"({"type":"object","properties":{"a":{"enum":["x","y"],"type":"string"}},"required":["a"],"additionalProperties":false})"},
    {R"({"type":"object","properties":{"l":{"type":"array","items":{"properties":{"n":{"type":"number"}},"required":["n"]}}},"required":["l"]})",
     R"({"type":"object","properties":{"l":{"type":"array","items":{"properties":{"n":{"type":"number"}},"type":"object","required":["n"],"additionalProperties":false}}},"required":["l"],"additionalProperties":false})"},
    {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/t","description":"d"}},"required":["a"],"$defs":{"t":{"type":"string"}}})",
     R"({"type":"object","$defs":{"t":{"type":"string"}},"properties":{"a":{"type":"string","description":"d"}},"required":["a"],"additionalProperties":false})"},
    {R"({"type":"object","additionalProperties":false})",
     R"({"type":"object","properties":{},"required":[],"additionalProperties":false})"},
    {R"({"type":"object","properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["next"]})",
     R"({"type":"object","properties":{"next":{"anyOf":[{"$ref":"#"},{"type":"null"}]}},"required":["next"],"additionalProperties":false})"},
};

const auto not_convertible = std::vector<schema_case>{
    {R"({"type":"object"})", "the root has no properties"},
    {R"({"type":"array","items":{"type":"string"}})", "the root must have the type object"},
    {R"({"type":"object","properties":{},"additionalProperties":true})",
     "the root allows additional properties"},
    {R"({"type":"object","properties":{"a":{"type":"string","minLength":1}}})",
     "properties.a has the keyword 'minLength'"},
    {R"({"type":"object","properties":{"a":{"type":"string","format":"uri"}}})",
     "properties.a has the format 'uri'"},
    {R"({"type":"object","properties":{"a":{}}})", "properties.a has no type"},
    {R"({"type":"object","properties":{"a":{"type":"array"}}})",
     "properties.a has the type array, but no items"},
    {R"({"type":"object","properties":{"a":{"type":"object"}}})", "properties.a has no properties"},
    {R"({"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}}})", "keyword 'oneOf'"},
    {R"({"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"type":"string"}]}}})",
     "properties.a has allOf with several schemas"},
    {R"({"type":"object","properties":{"a":{"$ref":"other.json"}}})", "names no schema"},
    {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/x","minimum":1}},"$defs":{"x":{"type":"number"}}})",
     "has 'minimum' beside $ref"},
    {R"({"type":"object","properties":{},"required":["b"]})", "requires a member"},
    {R"({"type":"object","properties":{"a":true}})", "properties.a must be an object"},
    {R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"$ref":"#","description":"again"}}}}})",
     "is nested more than 10 levels deep"},
};

struct answer_case {
  std::string_view schema;
  std::string_view given;
  std::string_view expected;
};
std::ostream& operator<<(std::ostream& out, const answer_case& c) {
  return out << c.given << " for " << c.schema;
}

const auto answers = std::vector<answer_case>{
    {R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"]})",
     R"({"a":"x","b":null})", R"({"a":"x"})"},
    {R"({"type":"object","properties":{"a":{"type":["string","null"]}}})", R"({"a":null})",
     R"({"a":null})"},
    {R"({"type":"object","properties":{"a":{"type":"string"}},"required":["a"]})", R"({"a":null})",
     R"({"a":null})"},
    {R"({"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"number"}}}}}})",
     R"({"l":[{"n":null},{"n":1}]})", R"({"l":[{},{"n":1}]})"},
    {R"({"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"x":{"type":"string"}}}}})",
     R"({"a":{"x":null}})", R"({"a":{}})"},
    {R"({"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"k":{"const":1},"x":{"type":["string","null"]}},"required":["k"]},{"type":"object","properties":{"k":{"const":2},"x":{"type":"string"}},"required":["k"]}]}}})",
     R"({"a":{"k":2,"x":null}})", R"({"a":{"k":2}})"},
    {R"({"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"k":{"const":1},"x":{"type":["string","null"]}},"required":["k"]},{"type":"object","properties":{"k":{"const":2},"x":{"type":"string"}},"required":["k"]}]}}})",
     R"({"a":{"k":1,"x":null}})", R"({"a":{"k":1,"x":null}})"},
};

} // namespace

BOOST_DATA_TEST_CASE(lossless_schemas_become_strict, data::make(convertible), c) {
  const auto out = to_strict_schema(parsed(c.given).as_object());
  BOOST_REQUIRE_MESSAGE(out.has_value(), (out ? "" : out.error().text));
  BOOST_TEST(to_text(*out) == c.expected);
  const auto again = to_strict_schema(*out); // a strict schema stays as it is
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST((json::value(*again) == json::value(*out)));
}

BOOST_DATA_TEST_CASE(other_schemas_are_refused_with_reason, data::make(not_convertible), c) {
  const auto out = to_strict_schema(parsed(c.given).as_object());
  BOOST_REQUIRE(!out);
  BOOST_TEST(out.error().text.find(c.expected) != std::string::npos, out.error().text);
}

BOOST_DATA_TEST_CASE(null_of_optional_member_becomes_absent, data::make(answers), c) {
  auto answer = parsed(c.given);
  remove_absent(answer, parsed(c.schema).as_object());
  BOOST_TEST(to_text(answer) == c.expected);
}

BOOST_AUTO_TEST_CASE(deep_nesting_exceeds_the_strict_mode) {
  auto schema = std::string{R"({"type":"string"})"};
  for (auto i = 0; i < 10; ++i)
    schema = R"({"type":"object","properties":{"a":)" + schema + R"(},"required":["a"]})";
  BOOST_TEST(to_strict_schema(parsed(schema).as_object()).has_value());
  schema = R"({"type":"object","properties":{"a":)" + schema + R"(},"required":["a"]})";
  const auto refused = to_strict_schema(parsed(schema).as_object());
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().text.find("more than 10 levels") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
