// SPDX-License-Identifier: Apache-2.0
// Operations on conversations: trimming, filtering, merging, rendering, token counting.
#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(conversations)

namespace {

/// Counts one token per character of text.
std::int64_t characters(const message& m) {
  return static_cast<std::int64_t>(text_of(m).size());
}

message_list conversation() {
  return {system_message("be"), human_message("one"), ai_message("four", {{"c", "f", {}}}),
          tool_message("sun", "c", "f"), ai_message("end")};
}

std::string texts_of(const message_list& messages) {
  auto out = std::string{};
  for (const auto& m : messages)
    (out += text_of(m)) += ' ';
  return out;
}

trim_options with_budget(std::int64_t tokens) {
  auto options = trim_options{};
  options.tokens_max = tokens;
  options.count = characters;
  return options;
}

} // namespace

BOOST_AUTO_TEST_CASE(trim_keeps_the_system_message_within_budget) {
  auto options = with_budget(9);
  options.include_system = true;
  BOOST_TEST(texts_of(trim_messages(conversation(), options).value()) == "be sun end ");
}

BOOST_AUTO_TEST_CASE(trimmed_list_starts_with_type_in_start_on) {
  auto options = with_budget(9);
  options.start_on = {message_type::human, message_type::ai};
  BOOST_TEST(texts_of(trim_messages(conversation(), options).value()) == "end ");
}

BOOST_AUTO_TEST_CASE(trimming_shares_messages_with_the_original) {
  const auto all = conversation();
  const auto kept = trim_messages(all, with_budget(100)).value();
  BOOST_REQUIRE(kept.size() == all.size());
  BOOST_TEST((kept.at_ptr(1) == all.at_ptr(1)));
}

BOOST_AUTO_TEST_CASE(allow_partial_trims_boundary_message_by_lines) {
  auto options = with_budget(5);
  options.allow_partial = true;
  const auto list = message_list{human_message("aa\nbb\ncc")};
  BOOST_TEST(text_of(trim_messages(list, options).value()[0]) == "bb\ncc");
  options.strategy = trim_strategy::first;
  options.tokens_max = 4;
  BOOST_TEST(text_of(trim_messages(list, options).value()[0]) == "aa\n");
}

BOOST_AUTO_TEST_CASE(trim_strategy_first_rejects_start_on_types) {
  auto options = with_budget(5);
  options.strategy = trim_strategy::first;
  options.start_on = {message_type::human};
  BOOST_TEST(trim_messages(conversation(), options).has_error());
}

BOOST_AUTO_TEST_CASE(filter_excludes_tool_calls_with_their_results) {
  auto filter = message_filter{};
  filter.exclude_all_calls = true;
  BOOST_TEST(texts_of(filter_messages(conversation(), filter)) == "be one end ");
  filter = message_filter{};
  filter.exclude_calls = {"c"};
  BOOST_TEST(texts_of(filter_messages(conversation(), filter)) == "be one end ");
}

BOOST_AUTO_TEST_CASE(filter_keeps_included_types_without_excluded_calls) {
  auto filter = message_filter{};
  filter.include_types = {message_type::human, message_type::ai};
  filter.exclude_all_calls = true;
  BOOST_TEST(texts_of(filter_messages(conversation(), filter)) == "one end ");
}

BOOST_AUTO_TEST_CASE(runs_of_same_type_merge_except_tool_messages) {
  const auto list = message_list{human_message("a"), human_message("b"), tool_message("c", "1", ""),
                                 tool_message("d", "2", "")};
  BOOST_TEST(texts_of(merge_message_runs(list, "+").value()) == "a+b c d ");
}

BOOST_AUTO_TEST_CASE(buffer_functions_render_conversation_as_text_and_xml) {
  BOOST_TEST(buffer_string({human_message("a"), ai_message("b")}) == "Human: a\nAI: b");
  BOOST_TEST(buffer_xml({human_message("a < b")}) == "<message type=\"human\">a &lt; b</message>");
}

BOOST_AUTO_TEST_CASE(token_estimate_counts_code_points_not_bytes) {
  const auto ascii = count_tokens_approximately({human_message(std::string(40, 'x'))});
  auto wide = std::string{};
  for (auto i = 0; i < 40; ++i)
    wide += "서";
  BOOST_TEST(count_tokens_approximately({human_message(wide)}) == ascii);
  BOOST_TEST(ascii == 14);
}

BOOST_AUTO_TEST_CASE(anthropic_tool_result_becomes_openai_tool_message) {
  auto m = human_message("");
  m.blocks =
      parse_json(R"([{"type":"tool_result","tool_use_id":"c","content":"sun"}])")->as_array();
  const auto forms = to_openai_messages({m}, text_format::string).value();
  BOOST_REQUIRE(forms.size() == 1U);
  BOOST_TEST(to_text(forms[0]) == R"({"role":"tool","tool_call_id":"c","content":"sun"})");
}

BOOST_AUTO_TEST_CASE(openai_conversion_rejects_unsupported_block) {
  auto m = human_message("");
  m.blocks = parse_json(R"([{"type":"video","base64":"AA","mime_type":"video/mp4"}])")->as_array();
  const auto forms = to_openai_messages({m}, text_format::string);
  BOOST_REQUIRE(forms.has_error());
  BOOST_TEST(forms.error().text.find("video") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
