// SPDX-License-Identifier: Apache-2.0
// Tags of calls in the values of qwen3_coder, and close tags that close nothing.
#include <superstep/protocols/tool_protocol.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(qwen3_coder)

namespace {

std::vector<protocol_tool> tools() {
  auto out = std::vector<protocol_tool>(2);
  out[0].name = "write";
  out[0].schema = json::parse(R"({"type":"object","properties":{"path":{"type":"string"},
      "contents":{"type":"string"}}})");
  out[1].name = "read";
  out[1].schema = json::parse(R"({"type":"object","properties":{"path":{"type":"string"}}})");
  return out;
}

/// Appends a part: a text as it is, a call as `[name arguments]`.
void append(std::string& out, const parsed_part& part) {
  if (const auto* text = std::get_if<parsed_text>(&part))
    out += text->text;
  else if (const auto* call = std::get_if<parsed_call>(&part))
    out += '[' + call->name + ' ' + call->arguments + ']';
}

std::string whole(std::string_view text) {
  auto out = std::string{};
  for (const auto& part : make_protocol("qwen3_coder").value()->parse(text, tools(), {}))
    append(out, part);
  return out;
}

std::string streamed(std::string_view text, std::size_t piece) {
  auto out = std::string{};
  auto deltas = std::string{};
  const auto known = tools();
  const auto stream =
      make_protocol("qwen3_coder")
          .value()
          ->stream(known, {},
                   [&](const protocol_event& e) {
                     if (const auto* said = std::get_if<stream_text>(&e)) {
                       out += said->text;
                     } else if (const auto* delta = std::get_if<tool_input_delta>(&e)) {
                       deltas += delta->text;
                     } else if (const auto* call = std::get_if<stream_call>(&e)) {
                       append(out, call->parsed);
                       BOOST_TEST(deltas == call->parsed.arguments);
                       deltas.clear();
                     }
                   },
                   {});
  for (auto at = std::size_t{0}; at < text.size(); at += piece)
    stream->write(text.substr(at, piece));
  stream->finish();
  return out;
}

struct sample {
  std::string_view text;
  std::string_view read;
};
std::ostream& operator<<(std::ostream& out, const sample& s) {
  return out << s.text;
}

void check(const sample& s) {
  BOOST_TEST(whole(s.text) == s.read);
  for (const auto piece : {s.text.size(), std::size_t{1}, std::size_t{7}})
    BOOST_TEST(streamed(s.text, piece) == s.read, "in pieces of " << piece);
}

const auto values = std::vector<std::string_view>{
    "<function=read>",     "use <function=read> here",
    "<call=read>",         "<invoke name=\"read\">",
    "a <tool_call> b",     "<tool_call>\n<function=read>\n<parameter=path>\nx\n</parameter>",
    "<tool=read></tool>",  "<param=path>x</param><function=read>",
    "<param=path>x<tool>", "<arg=path><function=read>"};

const auto value_frames =
    std::vector<std::pair<std::string, std::string>>{{"<tool_call>\n", "\n</tool_call>"}, {"", ""}};

} // namespace

BOOST_DATA_TEST_CASE(value_keeps_tags_of_calls, boost::unit_test::data::make(values), value) {
  for (const auto& [before, after] : value_frames) {
    const auto text = before + "<function=write>\n<parameter=contents>\n" + std::string{value} +
                      "\n</parameter>\n<parameter=path>\na\n</parameter>\n</function>" + after +
                      " end";
    auto arguments = json::object{{"contents", value}};
    arguments["path"] = "a";
    check({text, "[write " + to_text(arguments) + "] end"});
  }
}

const auto unclosed_values = std::vector<sample>{
    {"<tool_call><function=write><parameter=path>a<function=read><parameter=path>b</parameter>"
     "</function></tool_call>",
     R"([write {"path":"a"}][read {"path":"b"}])"},
    {"<tool_call><function=write><parameter=path>a\n<function=read></function></tool_call> end",
     R"([write {"path":"a"}][read {}] end)"},
    {"<tool_call><function=write><parameter=path>a<tool=read></function></tool></tool_call>",
     R"([write {"path":"a"}][read {}])"},
    {"<function=write><parameter=path>a</tool_call> end", R"([write {"path":"a"}] end)"},
    {"<function=write><parameter=path>a<tool_call><function=read></function></tool_call>",
     R"([write {"path":"a"}][read {}])"}};

BOOST_DATA_TEST_CASE(value_without_close_tag_ends_at_next_call, unclosed_values, s) {
  check(s);
}

const auto stray_closes = std::vector<sample>{
    {"a </tool_call>\n<function=read></function> b", "a [read {}] b"},
    {"</tool_call></tool_call><function=read></function></tool_call> </tool_call> b",
     "[read {}] b"},
    {"</tool_call> a <function=read></function>", "</tool_call> a [read {}]"},
    {"a </tool_call><tool_call><function=read></function></tool_call>", "a </tool_call>[read {}]"},
    {"a </tool_call>", "a </tool_call>"},
    {"a </tool_call><b>", "a </tool_call><b>"}};

BOOST_DATA_TEST_CASE(stray_close_tags_next_to_single_call_are_removed, stray_closes, s) {
  check(s);
}

const auto tails = std::vector<sample>{
    {"<function=read> tail", "[read {}] tail"},
    {"<function=read><parameter=path>a</parameter> tail\n", "[read {\"path\":\"a\"}] tail\n"},
    {"<function=read>\nx\n<function=read><parameter=path>a</parameter>y",
     "[read {}]\nx\n[read {\"path\":\"a\"}]y"},
    {"<function=read><parameter=path>a", R"([read {"path":"a"}])"}};

BOOST_DATA_TEST_CASE(text_after_unclosed_call_is_kept, tails, s) {
  BOOST_TEST(whole(s.text) == s.read);
}

BOOST_AUTO_TEST_SUITE_END()
