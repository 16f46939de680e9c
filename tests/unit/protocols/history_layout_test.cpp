// SPDX-License-Identifier: Apache-2.0
// The text of calls in a history. The expected texts are those of @ai-sdk-tool/parser 4.1.26.
#include "protocols/protocol_parts.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(history_layout)

namespace {

struct layout {
  std::string_view protocol;
  std::string_view arguments;
  std::string_view want;
};
std::ostream& operator<<(std::ostream& out, const layout& l) {
  return out << l.protocol << ": " << l.arguments;
}

void check(const layout& l) {
  BOOST_TEST(make_protocol(l.protocol).value()->format_call("f", l.arguments) == l.want);
}

const auto lists = std::vector<layout>{
    {"morph_xml", R"({"rows":[[1,2],[3,4.5]]})",
     "<f>\n  <rows>1</rows>\n  <rows>2</rows>\n  <rows>3</rows>\n  <rows>4.5</rows>\n</f>"},
    {"morph_xml", R"({"rows":[[],[[null],{"a":[true]}]]})",
     "<f>\n  <rows/>\n  <rows>\n    <a>true</a>\n  </rows>\n</f>"},
    {"morph_xml", R"({"rows":[]})", "<f>\n</f>"},
    {"morph_xml", "[1,2]", "<f>1</f>\n<f>2</f>"},
    {"morph_xml", "[]", ""},
};

const auto attributes = std::vector<layout>{
    {"morph_xml", R"({"@a":"x","#text":"t"})", "<f a=\"x\">t</f>"},
    {"morph_xml", R"({"e":{"_attributes":{"a":1,"b":null},"_text":"<"}})",
     "<f>\n  <e a=\"1\" b>&lt;</e>\n</f>"},
    {"morph_xml", R"({"@a":"say \"hi\" & 'go'"})", "<f a='say \"hi\" &amp; &apos;go&apos;'/>"},
    {"morph_xml", R"({"@a":"]]>"})", "<f a=\"]]>\"/>"},
    {"morph_xml", R"({"b":1,"#text":"t"})", "<f>\n  t\n  <b>1</b>\n</f>"},
    {"morph_xml", R"({"#text":""})", "<f/>"},
};

const auto numbers = std::vector<layout>{
    {"hermes", R"({"a":[1e-07,1.2345678901234568e+20,5.0,1e21]})",
     R"(<tool_call>{"name":"f","arguments":{"a":[1e-7,123456789012345680000,5,1e+21]}}</tool_call>)"},
    {"morph_xml", R"({"a":1.2345678901234568e+20})", "<f>\n  <a>123456789012345680000</a>\n</f>"},
    {"yaml_xml", R"({"a":1e20,"b":0.000001})", "<f>\na: 100000000000000000000\nb: 0.000001\n</f>"},
    {"hermes", R"({"a":9007199254740993})",
     R"(<tool_call>{"name":"f","arguments":{"a":9007199254740993}}</tool_call>)"},
};

} // namespace

BOOST_DATA_TEST_CASE(lists_repeat_their_element, lists) {
  check(sample);
}

BOOST_DATA_TEST_CASE(attributes_and_text_are_written_like_elements, attributes) {
  check(sample);
}

BOOST_DATA_TEST_CASE(numbers_are_written_as_in_javascript, numbers) {
  check(sample);
}

BOOST_DATA_TEST_CASE(line_ends_survive_a_history_in_yaml,
                     (std::vector<std::string>{"x", "x\n", "x\n\n", "x\n\n\n", "\nx\n\n"})) {
  const auto protocol = make_protocol("yaml_xml").value();
  auto tools = std::vector<protocol_tool>(1);
  tools.front().name = "f";
  auto arguments = json::object{};
  arguments["s"] = sample;
  const auto text = protocol->format_call("f", to_text(arguments));
  const auto parts = parse_answer(*protocol, text, tools, {});
  BOOST_TEST_REQUIRE(parts.size() == 1U);
  BOOST_TEST(std::get<parsed_call>(parts.front()).arguments == to_text(arguments));
}

BOOST_AUTO_TEST_SUITE_END()
