// SPDX-License-Identifier: Apache-2.0
// Parsing of the user's input in chat: commands, review decisions and invisible characters.
#include "base/visible_text.hpp"
#include "cli/chat_words.hpp"

#include <superstep/base/json.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

using namespace superstep;
using namespace superstep::cli;

BOOST_AUTO_TEST_SUITE(chat_input)

namespace {

using kind = typed_line::kind;

struct typed_case {
  std::string_view line;
  kind what;
  std::string_view text;
};
std::ostream& operator<<(std::ostream& out, const typed_case& c) {
  return out << '"' << c.line << '"';
}
const auto typed = std::vector<typed_case>{
    {"", kind::nothing, ""},
    {" \t\r", kind::nothing, ""},
    {"  hello there \r", kind::words, "hello there"},
    {"/history", kind::history, ""},
    {" /help ", kind::help, ""},
    {"/continue", kind::resume, ""},
    {"/quit", kind::quit, ""},
    {"/exit", kind::quit, ""},
    {"/quit now", kind::unknown, "/quit now"},
    {"/", kind::unknown, "/"},
    {"//etc/passwd?", kind::words, "/etc/passwd?"},
    {"1/2", kind::words, "1/2"},
};

struct review_case {
  std::string_view line;
  std::string_view answer; ///< JSON, or the start of the error text
};
std::ostream& operator<<(std::ostream& out, const review_case& c) {
  return out << '"' << c.line << '"';
}
const auto reviews = std::vector<review_case>{
    {"accept", R"({"type":"accept","args":null})"},
    {" y ", R"({"type":"accept","args":null})"},
    {"ignore", R"({"type":"ignore","args":null})"},
    {"no", R"({"type":"ignore","args":null})"},
    {"respond  it is closed ", R"({"type":"response","args":"it is closed"})"},
    {"e {\"a\": 2}", R"({"type":"edit","args":{"action":"book","args":{"a":2}}})"},
    {"edit", "edit requires the arguments as a JSON object, e.g. edit {\"a\":1}"},
    {"edit [1]", "edit requires the arguments as a JSON object"},
    {"edit {\"a\":", "edit requires the arguments as a JSON object"},
    {"respond", "respond requires a text"},
    {"accept it", "unexpected text after the answer: it"},
    {"Accept", "answer with accept, edit {JSON}, respond TEXT or ignore"},
    {"", "answer with accept"},
};

human_interrupt asked_of(human_interrupt_config config) {
  auto out = human_interrupt{};
  out.action.action = "book";
  out.action.args["a"] = 1;
  out.config = config;
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(single_leading_slash_makes_line_a_command, boost::unit_test::data::make(typed),
                     c) {
  const auto got = read_typed(c.line);
  BOOST_TEST((got.what == c.what));
  BOOST_TEST(got.text == c.text);
}

BOOST_DATA_TEST_CASE(valid_review_decisions_are_parsed_and_others_rejected,
                     boost::unit_test::data::make(reviews), c) {
  const auto got = read_review(c.line, asked_of({true, true, true, true}));
  const auto text = got ? to_text(to_json(*got)) : got.error().text;
  if (got)
    BOOST_TEST(parse_json(text).value() == parse_json(c.answer).value());
  else
    BOOST_TEST(text.starts_with(c.answer), text);
}

BOOST_AUTO_TEST_CASE(decision_not_allowed_by_review_is_rejected) {
  const auto asked = asked_of(
      {.allow_ignore = true, .allow_respond = false, .allow_edit = false, .allow_accept = true});
  BOOST_TEST(read_review("accept", asked).has_value());
  BOOST_TEST(read_review("edit {}", asked).error().text == "answer with accept or ignore");
  BOOST_TEST(choices_of({.allow_ignore = false,
                         .allow_respond = true,
                         .allow_edit = false,
                         .allow_accept = false}) == "respond TEXT");
}

BOOST_AUTO_TEST_CASE(invisible_characters_are_shown_as_code_points) {
  BOOST_TEST(visible_text("a\x1b[2Jb\rc\x7f") == "a<U+001B>[2Jb<U+000D>c<U+007F>");
  BOOST_TEST(visible_text("\xC2\x9B"
                          "1m") == "<U+009B>1m"); // a C1 control character in UTF-8
  BOOST_TEST(visible_text("pay \u202Eeno\u202C") == "pay <U+202E>eno<U+202C>");
  BOOST_TEST(visible_text("\u200B\u2028\u2066\uFEFF\u00AD") ==
             "<U+200B><U+2028><U+2066><U+FEFF><U+00AD>");
  BOOST_TEST(visible_text("\U000E0041\u3164") == "<U+E0041><U+3164>");
  BOOST_TEST(visible_text("ünïcode\tand\nlines 日本 \U0001F600\uFE0F") ==
             "ünïcode\tand\nlines 日本 \U0001F600\uFE0F");
  BOOST_TEST(visible_text("\xff") == "\uFFFD");
  BOOST_TEST(one_line("a\u202Eb", 100) == "a<U+202E>b");
}

BOOST_AUTO_TEST_SUITE_END()
