// SPDX-License-Identifier: Apache-2.0
// Calls in plain JSON, and calls of hermes with invalid arguments or a tag without a partner.
#include "protocols/protocol_parts.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(json_calls)

namespace {

struct sample {
  std::string text;
  std::vector<std::string> calls;
};
std::ostream& operator<<(std::ostream& out, const sample& s) {
  return out << s.text.substr(0, 80);
}

std::vector<std::string> read(std::string_view text) {
  auto tools = std::vector<protocol_tool>(1);
  tools[0].name = "f";
  tools[0].schema = json::parse(R"({"type":"object","properties":{"name":{"type":"string"},
      "s":{"type":"string"}},"patternProperties":{"^x":{"type":"string"}}})");
  auto out = std::vector<std::string>{};
  for (const auto& part : parse_answer(*make_protocol("hermes").value(), text, tools, {}))
    if (const auto* call = std::get_if<parsed_call>(&part))
      out.push_back(call->name + call->arguments);
  return out;
}

std::string repeated(std::string_view s, std::size_t count) {
  auto out = std::string{};
  for (; count > 0; --count)
    out += s;
  return out;
}

const auto arguments =
    std::vector<sample>{{R"(<tool_call>{"name":"f","arguments":"{\"s\":\"a\"}"}</tool_call>)", {}},
                        {R"(<tool_call>{"name":"f","arguments":null}</tool_call>)", {}},
                        {R"(<tool_call>{"name":"g","arguments":null}</tool_call>)", {}},
                        {R"(<tool_call>{"name":"f"}</tool_call>)", {"f{}"}},
                        {R"({"name":"f","arguments":null})", {}},
                        {R"({"name":"f"})", {"f{}"}}};

const auto only_arguments =
    std::vector<sample>{{R"({"name":"","s":"a"})", {R"(f{"name":"","s":"a"})"}},
                        {R"({"name":"g","s":"a"})", {}},
                        {R"({"xy":"a"})", {}}};

/// Returns the texts and the calls that hermes finds, without the search for plain JSON.
std::string parts_of(std::string_view text) {
  auto out = std::string{};
  for (const auto& part : make_protocol("hermes").value()->parse(text, {}, {}))
    if (const auto* call = std::get_if<parsed_call>(&part))
      out += '[' + call->name + ']';
    else
      out += std::get<parsed_text>(part).text;
  return out;
}

struct tag_case {
  std::string_view text;
  std::string_view parts;
};
std::ostream& operator<<(std::ostream& out, const tag_case& c) {
  return out << c.text;
}

const auto lone_tags = std::vector<tag_case>{
    {" <tool_call>{", " <tool_call>{"},
    {"\n<tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call>", "\n<tool_call>[g]"},
    {"<tool_call>{\"name\":\"g\"}</tool_call>\n<tool_call>{", "[g]\n<tool_call>{"},
    {"<tool_call>{\"name\":\"g\"}</tool_call>\n", "[g]"},
    {"<tool_call><tool_call>{\"name\":\"g\"}</tool_call>",
     "<tool_call><tool_call>{\"name\":\"g\"}</tool_call>"}};

} // namespace

BOOST_DATA_TEST_CASE(open_tag_without_partner_is_text, lone_tags, c) {
  BOOST_TEST(parts_of(c.text) == c.parts);
}

BOOST_AUTO_TEST_CASE(blank_call_without_end_is_reported) {
  const auto tools = std::vector<protocol_tool>{};
  const auto protocol = make_protocol("hermes").value();
  for (const auto* text : {"<tool_call> ", "<tool_call>"}) {
    auto errors = std::size_t{0};
    const auto stream = protocol->stream(
        tools, {}, [](const protocol_event&) {}, [&](const protocol_error&) { ++errors; });
    stream->write(text);
    stream->finish();
    BOOST_TEST(errors == (std::string_view{text}.ends_with(' ') ? 1U : 0U), text);
  }
}

BOOST_DATA_TEST_CASE(arguments_other_than_objects_are_rejected, arguments, s) {
  BOOST_TEST(read(s.text) == s.calls, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(object_with_known_key_is_call_of_single_tool, only_arguments, s) {
  BOOST_TEST(read(s.text) == s.calls, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(length_of_json_call_is_counted_in_utf16_units) {
  const auto call = [](std::string_view letter, std::size_t count) {
    return R"({"s":")" + repeated(letter, count) + R"("})";
  };
  BOOST_TEST(read(call("가", 5'000)).size() == 1U);
  BOOST_TEST(read(call("가", 9'992)).size() == 1U);
  BOOST_TEST(read(call("가", 9'993)).empty());
  BOOST_TEST(read(call("😀", 4'996)).size() == 1U);
  BOOST_TEST(read(call("😀", 4'997)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
