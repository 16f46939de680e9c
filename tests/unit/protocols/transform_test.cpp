// SPDX-License-Identifier: Apache-2.0
// Conversations of the AI SDK as text: empty messages, approvals, system messages of several parts.
#include "protocols/protocol_parts.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(transform)

namespace {

struct conversation {
  std::string_view messages;
  std::string_view expected;
};
std::ostream& operator<<(std::ostream& out, const conversation& c) {
  return out << c.messages;
}

// Each conversation is transformed with the tools prompt `TOOLS`.
const auto conversations = std::vector<conversation>{
    {R"([{"role":"tool","content":[{"type":"tool-approval-response","approved":true,"reason":"fine"},
                                   {"type":"tool-approval-response","approved":false}]}])",
     R"([{"role":"user","content":[{"type":"text","text":"[Tool Approval Approved: fine]\n[Tool Approval Denied]"}]},
         {"role":"system","content":"TOOLS"}])"},
    {R"([{"role":"assistant","content":[]}])",
     R"([{"role":"assistant","content":[{"type":"text","text":""}]},{"role":"system","content":"TOOLS"}])"},
    {R"([{"role":"tool","content":[]}])",
     R"([{"role":"user","content":[{"type":"text","text":""}]},{"role":"system","content":"TOOLS"}])"},
    {R"([{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[]},
         {"role":"user","content":[{"type":"text","text":"b"}]}])",
     R"([{"role":"user","content":[{"type":"text","text":"a\n\nb"}]},{"role":"system","content":"TOOLS"}])"},
    {R"([{"role":"system","content":""}])", R"([{"role":"system","content":"\n\nTOOLS"}])"},
    {R"([{"role":"system","content":[{"type":"text","text":"a"},{"type":"file"},{"type":"text","text":""},
                                     {"type":"text","text":"b"}]}])",
     R"([{"role":"system","content":"a\nb\n\nTOOLS"}])"},
    {R"([{"role":"system","content":"a"},
         {"role":"system","content":[{"type":"text","text":"b"},{"type":"text","text":"c"}]}])",
     R"([{"role":"system","content":"a\n\nTOOLS"},{"role":"system","content":"b\nc"}])"},
    {R"([{"role":"assistant","content":[{"type":"text","text":"a"}],"providerOptions":{"p":{}}},
         {"role":"user","content":[{"type":"text","text":"b"}],"providerOptions":{"p":{}}}])",
     R"([{"role":"assistant","content":[{"type":"text","text":"a"}]},
         {"role":"user","content":[{"type":"text","text":"b"}],"providerOptions":{"p":{}}},
         {"role":"system","content":"TOOLS"}])"},
};

} // namespace

BOOST_DATA_TEST_CASE(messages_become_text, boost::unit_test::data::make(conversations), each) {
  auto messages = parse_json(each.messages).value().as_array();
  const auto protocol = make_protocol("hermes").value();
  const auto out = transform_prompt(*protocol, std::move(messages), "TOOLS", {});
  BOOST_TEST(json::value(out) == parse_json(each.expected).value());
}

BOOST_AUTO_TEST_CASE(image_id_of_tool_result_is_unknown_content) {
  const auto output = parse_json(
      R"({"type":"content","value":[{"type":"image-file-id","fileId":"f"},{"type":"image-id","fileId":"f"}]})");
  BOOST_TEST(tool_result_value(output.value().as_object()) ==
             json::value("[Image ID: f]\n[Unknown content]"));
}

BOOST_AUTO_TEST_CASE(numbers_in_results_are_written_as_in_javascript) {
  const auto output = parse_json(R"({"type":"error-json","value":{"a":1e-07,"b":-0.0}})");
  BOOST_TEST(tool_result_value(output.value().as_object()) ==
             json::value(R"([Error: {"a":1e-7,"b":0}])"));
  const auto protocol = make_protocol("qwen3_coder").value();
  BOOST_TEST(protocol->format_result("f", parse_json("[1e-07,5.0]").value()) ==
             "<tool_response>\n[1e-7,5]\n</tool_response>");
  BOOST_TEST(protocol->format_call("f", R"({"a":{"b":1e-07}})") ==
             "<tool_call>\n  <function=\"f\">\n    <parameter=\"a\">{\"b\":1e-7}</parameter>\n"
             "  </function>\n</tool_call>");
  BOOST_TEST(protocol->format_call("f", "") ==
             "<tool_call>\n  <function=\"f\">\n  </function>\n</tool_call>");
}

BOOST_AUTO_TEST_CASE(prompts_describe_unions_values_and_examples) {
  const auto tool = make_protocol_tool(parse_json(R"({"name":"f","inputSchema":{"type":"object",
      "properties":{"l":{"type":["array","null"],"items":{"type":"string"}}}},
      "inputExamples":[{"note":1},{"input":{"a":true,"b":null}}]})")
                                           .value()
                                           .as_object());
  const auto hermes = make_protocol("hermes").value()->tool_list({tool});
  BOOST_TEST(hermes.find("f(l: Union[list[Any],Any])") != hermes.npos, hermes);
  BOOST_TEST_REQUIRE(tool.examples.size() == 1U);
  BOOST_TEST(make_protocol("qwen3_coder").value()->example_call("f", tool.examples[0]) ==
             "<tool_call>\n<function=f>\n<parameter=a>\ntrue\n</parameter>\n<parameter=b>\nnull\n"
             "</parameter>\n</function>\n</tool_call>");
  auto list = tool;
  list.schema = parse_json(R"({"type":"array","items":{"type":"string"}})").value();
  const auto morph = make_protocol("morph_xml").value()->tool_list({list});
  BOOST_TEST(morph.find("parameters:\n  - value (array<string>)\n") != morph.npos, morph);
}

BOOST_AUTO_TEST_SUITE_END()
