// SPDX-License-Identifier: Apache-2.0
// The fast check of arguments agrees with the complete validator.
#include "tools/flat_schema.hpp"

#include <superstep/tools/detail/argument_schema.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace superstep;
using detail::flat_schema;

namespace {

json::object object_of(std::string_view text) {
  return json::parse(text).as_object();
}

const auto plain = std::string{R"({
  "type": "object", "title": "T", "additionalProperties": false, "required": ["query"],
  "properties": {
    "query": {"type": "string", "description": "d"},
    "limit": {"type": ["integer", "null"], "default": 3},
    "ratio": {"type": "number"},
    "exact": {"type": "boolean"},
    "order": {"enum": ["up", "down"]},
    "tags": {"type": "array", "items": {"type": "string"}},
    "any": {},
    "place": {"type": "object", "required": ["city"],
              "properties": {"city": {"type": "string"}, "zip": {"type": "string"}}}}})"};

} // namespace

BOOST_AUTO_TEST_SUITE(flat_schema_)

BOOST_AUTO_TEST_CASE(accepts_only_what_the_validator_accepts) {
  const auto schema = object_of(plain);
  const auto flat = flat_schema::compile(schema);
  BOOST_REQUIRE(flat.has_value());
  const auto full = argument_schema::compile(schema).value();
  struct example {
    std::string_view text;
    bool is_valid;
  };
  for (const auto& [text, is_valid] : std::vector<example>{
           {R"({"query": "a"})", true},
           {R"({"query": "a", "limit": null, "ratio": 1, "exact": true, "order": "up"})", true},
           {R"({"query": "a", "limit": 7, "ratio": 1.5, "tags": ["x"], "any": [{}]})", true},
           {R"({"query": "a", "place": {"city": "c", "country": "d"}})", true},
           {R"({"query": "a", "tags": [], "place": {"city": "c"}})", true},
           {R"({})", false},
           {R"({"query": 1})", false},
           {R"({"query": "a", "other": 1})", false},
           {R"({"query": "a", "limit": 1.5})", false},
           {R"({"query": "a", "ratio": "1"})", false},
           {R"({"query": "a", "exact": 0})", false},
           {R"({"query": "a", "order": "left"})", false},
           {R"({"query": "a", "order": 1})", false},
           {R"({"query": "a", "tags": ["x", 1]})", false},
           {R"({"query": "a", "tags": "x"})", false},
           {R"({"query": "a", "place": {"zip": "1"}})", false},
           {R"({"query": "a", "place": {"city": null}})", false}}) {
    BOOST_TEST_CONTEXT(text) {
      BOOST_TEST(flat->accepts(object_of(text)) == is_valid);
      BOOST_TEST(full.check(object_of(text)).empty() == is_valid);
    }
  }
}

BOOST_AUTO_TEST_CASE(compiles_only_simple_schemas) {
  for (const auto* text :
       {R"({"properties": {"a": {"$ref": "#"}}})", R"({"anyOf": [{"type": "object"}]})",
        R"({"properties": {"a": {"type": "string", "pattern": "x"}}})",
        R"({"properties": {"a": {"type": "integer", "minimum": 1}}})",
        R"({"properties": {"a": {"enum": [1]}}})",
        R"({"additionalProperties": {"type": "string"}})",
        R"({"properties": {"a": {"items": [{"type": "string"}]}}})", R"({"required": ["a"]})",
        R"({"properties": {"a": false}})", R"({"type": "string"})"})
    BOOST_TEST(!flat_schema::compile(object_of(text)).has_value(), text);
  BOOST_TEST(flat_schema::compile(object_of("{}")).has_value());
  BOOST_TEST(flat_schema::compile(object_of(R"({"type": "object"})")).has_value());
}

BOOST_AUTO_TEST_CASE(leaves_large_values_to_the_validator) {
  const auto schema = object_of(R"({"properties": {"list": {"items": {"type": "integer"}}}})");
  const auto flat = flat_schema::compile(schema);
  BOOST_REQUIRE(flat.has_value());
  auto list = json::array(20'000, json::value(1));
  BOOST_TEST(!flat->accepts({{"list", list}}));
  list.resize(5'000);
  BOOST_TEST(flat->accepts({{"list", list}}));
}

BOOST_AUTO_TEST_SUITE_END()
