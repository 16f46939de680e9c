// SPDX-License-Identifier: Apache-2.0
#include <superstep/tools/argument_schema.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(argument_schemas)

namespace {

struct check_case {
  std::string_view name, schema, args, faults; ///< faults as `path: text; …`, a part of it
};
std::ostream& operator<<(std::ostream& out, const check_case& c) {
  return out << c.name;
}

const auto checks = std::vector<check_case>{
    {"an empty schema takes everything", "{}", R"({"a":1})", ""},
    {"what fits", R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})",
     R"({"a":1})", ""},
    {"a missing member", R"({"type":"object","properties":{"a":{}},"required":["a"]})", "{}",
     "a: Field required"},
    {"a missing member inside", R"({"properties":{"a":{"properties":{"b":{}},"required":["b"]}}})",
     R"({"a":{}})", "a.b: Field required"},
    {"faults go by the properties of the schema",
     R"({"properties":{"z":{"type":"string"},"n":{"type":"integer","minimum":1},"a":{}},"required":["z","a"]})",
     R"({"a":1,"n":0})", "z: Field required; n: "},
    {"a place has one fault", R"({"properties":{"a":{"type":"integer","enum":[1,2]}}})",
     R"({"a":"x"})", "a: "},
    {"a wrong kind", R"({"type":"object","properties":{"a":{"type":"string"}}})", R"({"a":1})",
     "a: Value type not permitted by 'type' constraint."},
    {"a wrong item",
     R"({"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"type":"number"}}}}}})",
     R"({"a":{"b":[1,2,"x"]}})", "a.b.2: Value type not permitted by 'type' constraint."},
    {"an unknown member", R"({"type":"object","properties":{"a":{}},"additionalProperties":false})",
     R"({"b":1})", "b"},
    {"an enum", R"({"type":"object","properties":{"a":{"enum":["x","y"]}}})", R"({"a":"z"})",
     "a: "},
    {"null is not given", R"({"type":"object","properties":{"a":{"type":"number"}}})",
     R"({"a":null})", ""},
    {"null for what is required", R"({"properties":{"a":{"type":"number"}},"required":["a"]})",
     R"({"a":null})", "a: "},
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

BOOST_DATA_TEST_CASE(arguments_are_checked, boost::unit_test::data::make(checks), c) {
  const auto schema = argument_schema::compile(parse_json(c.schema)->get_object());
  BOOST_REQUIRE(schema.has_value());
  const auto faults = schema->check(parse_json(c.args)->get_object());
  BOOST_TEST_INFO(print(faults));
  BOOST_TEST(faults.empty() == c.faults.empty());
  BOOST_TEST(print(faults).find(c.faults) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_is_no_schema_is_refused) {
  for (const auto* text :
       {R"({"type":7})", R"({"properties":[]})", R"({"$ref":"http://example.org/s"})"})
    BOOST_TEST(argument_schema::compile(parse_json(text)->get_object()).has_error());
}

BOOST_AUTO_TEST_CASE(the_text_for_the_model_names_tool_arguments_and_faults) {
  BOOST_TEST(describe_faults("f", json::object{{"a", 1}}, {{"a", "is bad"}, {"", "is worse"}}) ==
             "Error invoking tool 'f' with kwargs {'a': 1} with error:\n a: is bad\narguments: is "
             "worse\n Please fix the error and try again.");
}

BOOST_AUTO_TEST_CASE(real_schemas_compile_and_take_the_calls_that_are_expected) {
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
  BOOST_TEST(refused * 100 <= calls); // a few calls of the data do not fit their own schemas
}

BOOST_AUTO_TEST_SUITE_END()
