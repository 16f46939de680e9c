// SPDX-License-Identifier: Apache-2.0
// Calls of morph_xml with tags that are not closed, lists of numbered elements, and markup inside
// arguments. The results are those of @ai-sdk-tool/parser 4.1.26.
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
      "n":{"type":"number"},"any":{},"l":{"type":"array","items":{"type":"string"}},
      "o":{"type":"array","items":{"type":"object","properties":{"a":{"type":"number"}}}}}})");
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

const auto marked_up = std::vector<sample>{
    {R"(<f><n unit="d">3</n></f>)", {R"({"n":3})"}},
    {R"(<f><any a="1">5</any></f>)", {R"({"any":"5"})"}},
    {R"(<f><any a="1"><b>5</b></any></f>)", {R"({"any":{"b":"5","@_a":"1"}})"}},
    {"<f><any>t<b>5</b></any></f>", {R"({"any":"t"})"}},
    {"<f><any><b>5</b>t</any><n>1</n></f>", {R"({"any":"t","n":1})"}},
    {"<f><any><b>t<c>5</c></b></any></f>", {R"({"any":{"b":{"c":"5","#text":"t"}}})"}}};

const auto items = std::vector<sample>{{"<f><n><item>3</item></n></f>", {R"({"n":3})"}},
                                       {"<f><any><item>3</item></any></f>", {R"({"any":[3]})"}},
                                       {"<f><any><b><item>1</item><item>x</item></b></any></f>",
                                        {R"({"any":{"b":{"item":["1","x"]}}})"}},
                                       {"<f><any></any><any>b</any></f>", {R"({"any":"b"})"}},
                                       {"<f><l></l><l>b</l><l>c</l></f>", {R"({"l":["b","c"]})"}}};

const auto encoded = std::vector<sample>{
    {"<f><l>[&quot;a&quot;]</l></f>", {R"({"l":["[\"a\"]"]})"}},
    {"<f><l>a &amp; b</l><l>&lt;c&gt;</l></f>", {R"({"l":["a & b","<c>"]})"}},
    {"<f><any><b>&lt;</b></any><more>&lt;</more></f>", {R"({"any":{"b":"<"},"more":"<"})"}},
    {"<f><any>\u00a0x\ufeff</any></f>", {R"({"any":"x"})"}}};

const auto misplaced = std::vector<sample>{
    {"<f><any><s>a</s></any></f>", {R"({"any":{"s":"a"},"s":"a"})"}},
    {"<f><x>1</x><any><b><s>a</s></b></any></f>", {R"({"x":1,"any":{"b":{"s":"a"}},"s":"a"})"}},
    {"<f><any><s>a</s></any>text</f>", {R"({"any":{"s":"a"}})"}}};

const auto repeated = std::vector<std::string_view>{
    "<f><s>a</s><s>b</s></f>", "<f><s><s>a</s></s></f>", "<f><s><s>a</s></f>",
    "<f><s>a</s><any><s>b</s></any></f>", "<f>< s>a</s></f>"};

const auto objects = std::vector<sample>{{"<f><o>soon</o></f>", {R"({"o":[{}]})"}},
                                         {"<f><o>1, 2</o></f>", {R"({"o":[{},{}]})"}},
                                         {"<f><o>&lt;a>3&lt;/a></o></f>", {R"({"o":[{"a":3}]})"}},
                                         {"<f><o><item>x</item></o></f>", {R"({"o":[{}]})"}}};

const auto unfinished = std::vector<sample>{{"<f><n>1</n></s>", {R"({"n":1})"}},
                                            {"<f><n>1</n></g>done", {R"({"n":1})"}},
                                            {"<f>\n < <n>1</n>\n", {R"({"n":1})"}},
                                            {"<f><n>1</n><![CDATA[<ping/>]]>", {R"({"n":1})"}}};

const auto spaced = std::vector<sample>{{"a < f/> b", {"{}"}}, {"<\nf\n/>", {"{}"}}, {"< f>", {}}};

} // namespace

BOOST_DATA_TEST_CASE(text_of_argument_replaces_its_markup, marked_up, s) {
  check(s);
}

BOOST_DATA_TEST_CASE(items_make_lists_of_whole_arguments_only, items, s) {
  BOOST_TEST(whole(s.text) == s.calls, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(entities_are_decoded_after_conversion, encoded, s) {
  BOOST_TEST(whole(s.text) == s.calls, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(text_parameter_is_found_inside_other_elements, misplaced, s) {
  BOOST_TEST(whole(s.text) == s.calls, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(repeated_text_parameter_is_rejected_at_any_depth,
                     boost::unit_test::data::make(repeated), text) {
  BOOST_TEST(whole(text).empty());
}

BOOST_DATA_TEST_CASE(text_in_list_of_objects_becomes_object, objects, s) {
  check(s);
}

BOOST_DATA_TEST_CASE(unfinished_streamed_call_is_repaired, unfinished, s) {
  for (const auto piece : {s.text.size(), std::size_t{1}, std::size_t{5}})
    BOOST_TEST(streamed(s.text, piece) == s.calls, boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(empty_tag_may_have_spaces_before_name, spaced, s) {
  check(s);
}

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
