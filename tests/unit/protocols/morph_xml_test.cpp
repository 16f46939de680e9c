// SPDX-License-Identifier: Apache-2.0
// Calls of morph_xml with tags that are not closed, and lists of numbered elements.
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(morph_xml)

namespace {

std::vector<protocol_tool> tools() {
  auto out = std::vector<protocol_tool>(1);
  out[0].name = "f";
  out[0].schema = json::parse(R"({"type":"object","properties":{"s":{"type":"string"},
      "n":{"type":"number"},"any":{}}})");
  return out;
}

struct sample {
  std::string_view text;
  std::vector<std::string> calls;
};
std::ostream& operator<<(std::ostream& out, const sample& s) {
  return out << s.text;
}

std::vector<std::string> whole(std::string_view text) {
  auto out = std::vector<std::string>{};
  for (const auto& part : make_protocol("morph_xml").value()->parse(text, tools(), {}))
    if (const auto* call = std::get_if<parsed_call>(&part))
      out.push_back(call->arguments);
  return out;
}

/// Returns the joined pieces of each started input.
std::vector<std::string> streamed(std::string_view text, std::size_t piece) {
  auto out = std::vector<std::string>{};
  const auto known = tools();
  const auto protocol = make_protocol("morph_xml").value();
  const auto stream =
      protocol->stream(known, {},
                       [&](const protocol_event& e) {
                         if (std::holds_alternative<tool_input_start>(e))
                           out.emplace_back();
                         else if (const auto* delta = std::get_if<tool_input_delta>(&e))
                           out.back() += delta->text;
                       },
                       {});
  for (auto at = std::size_t{0}; at < text.size(); at += piece)
    stream->write(text.substr(at, piece));
  stream->finish();
  return out;
}

void check(const sample& s) {
  BOOST_TEST(whole(s.text) == s.calls, boost::test_tools::per_element());
  for (const auto piece : {s.text.size(), std::size_t{1}, std::size_t{5}})
    BOOST_TEST(streamed(s.text, piece) == s.calls, boost::test_tools::per_element());
}

const auto unclosed = std::vector<sample>{{"<f>\n<s>Seoul\n</f>", {R"({"s":"Seoul\n"})"}},
                                          {"<f><s>Seoul </f>", {R"({"s":"Seoul "})"}},
                                          {"<f><s>1<n><</n>\n</f>", {R"({"s":"1<n><</n>\n"})"}}};

const auto cut =
    std::vector<sample>{{"<f><n>1</n></f", {R"({"n":1})"}}, {"<f><n>1</n></f \n", {R"({"n":1})"}}};

const auto numbered =
    std::vector<sample>{{"<f><any><0>1</0><1>x</1></any></f>", {R"({"any":["1","x"]})"}},
                        {"<f><any><item>1</item><item>x</item></any></f>", {R"({"any":[1,"x"]})"}}};

} // namespace

BOOST_DATA_TEST_CASE(string_without_close_tag_keeps_white_space, unclosed, s) {
  check(s);
}

BOOST_DATA_TEST_CASE(close_tag_without_its_end_ends_a_call, cut, s) {
  check(s);
}

BOOST_DATA_TEST_CASE(numbered_elements_remain_texts, numbered, s) {
  check(s);
}

BOOST_AUTO_TEST_SUITE_END()
