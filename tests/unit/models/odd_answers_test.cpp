// SPDX-License-Identifier: Apache-2.0
// Answers that deviate from their API: malformed JSON, repeated keys, unusual types, reasoning.
#include "base/utf8.hpp"
#include "fed_streams.hpp"
#include "models/retry.hpp"

#include <superstep/models/chat_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace superstep;
using namespace superstep::models;

BOOST_AUTO_TEST_SUITE(unusual_answers_suite)

namespace {

struct odd_answer {
  std::string_view name;
  provider_api api;
  std::string body;
  std::string_view content; ///< expected content of the message
  std::string_view args;    ///< expected arguments of its call; "-" if it must be invalid
};
std::ostream& operator<<(std::ostream& out, const odd_answer& o) {
  return out << o.name;
}

std::string chat_answer(const std::string& content, const std::string& arguments) {
  return R"({"choices":[{"message":{"role":"assistant","content":")" + content +
         R"(","tool_calls":[{"id":"c","function":{"name":"f","arguments":")" + arguments +
         R"("}}]},"finish_reason":"tool_calls"}]})";
}
std::string anthropic_answer(const std::string& text, const std::string& input) {
  return R"({"id":"m","content":[{"type":"text","text":")" + text +
         R"("},{"type":"tool_use","id":"c","name":"f","input":)" + input +
         R"(}],"stop_reason":"tool_use"})";
}
std::string ollama_answer(const std::string& content, const std::string& arguments) {
  return R"({"message":{"role":"assistant","content":")" + content +
         R"(","tool_calls":[{"id":"c","function":{"name":"f","arguments":)" + arguments +
         R"(}}]},"done":true,"done_reason":"stop"})";
}

const auto odd_answers = std::vector<odd_answer>{
    {"a byte order mark", provider_api::openai_chat, "\xEF\xBB\xBF" + chat_answer("a", "{}"), "a",
     "{}"},
    {"a key that appears twice", provider_api::openai_chat,
     R"({"id":"x","id":"y",)" + chat_answer("a", "{}").substr(1), "a", "{}"},
    {"a lone surrogate in the text", provider_api::ollama, ollama_answer(R"(a\ud83d)", "{}"),
     "a\xEF\xBF\xBD", "-"},
    {"a lone surrogate in the text of arguments", provider_api::openai_chat,
     chat_answer("a", R"({\"n\":\"\ud83d\"})"), "a", "-"},
    {"a surrogate pair in the text of arguments", provider_api::openai_chat,
     chat_answer("a", R"({\"n\":\"\ud83d\ude00\"})"), "a", "{\"n\":\"\xF0\x9F\x98\x80\"}"},
    {"a lone low surrogate", provider_api::anthropic, anthropic_answer("a", R"({"n":"\ude00"})"),
     "a", "-"},
    {"an integer beyond 64 bits in text", provider_api::openai_chat,
     chat_answer("a", R"({\"n\":123456789012345678901})"), "a", "-"},
    {"an integer beyond 64 bits", provider_api::anthropic,
     anthropic_answer("a", R"({"n":123456789012345678901})"), "a", "-"},
    {"an integer below -2^63", provider_api::ollama,
     ollama_answer("a", R"({"n":-9223372036854775809})"), "a", "-"},
    {"the largest 64-bit integer", provider_api::ollama,
     ollama_answer("a", R"({"n":18446744073709551615})"), "a", R"({"n":18446744073709551615})"},
    {"digits in a string", provider_api::ollama,
     ollama_answer("a", R"({"n":"\"123456789012345678901","n":1})"), "a", R"({"n":1})"},
    {"list arguments", provider_api::ollama, ollama_answer("a", "[1]"), "a", "-"},
    {"list input", provider_api::anthropic, anthropic_answer("a", "[1]"), "a", "-"},
    {"list arguments in text", provider_api::openai_chat, chat_answer("a", "[1]"), "a", "-"},
    {"a byte order mark in arguments", provider_api::openai_chat,
     chat_answer("a", "\xEF\xBB\xBF{}"), "a", "{}"},
    {"text that is not JSON", provider_api::ollama, ollama_answer("a", R"("{\"n\":")"), "a", "-"},
};

} // namespace

BOOST_DATA_TEST_CASE(unusual_json_in_answer_does_not_fail_reading,
                     boost::unit_test::data::make(odd_answers), o) {
  const auto m = read_answer(o.api, o.body);
  BOOST_TEST_REQUIRE(m.has_value(), (m ? "" : m.error().text));
  BOOST_TEST(text_of(*m) == o.content);
  if (o.args == "-") {
    BOOST_TEST(m->tool_calls.empty());
    BOOST_REQUIRE(m->invalid_tool_calls.size() == 1U);
    BOOST_TEST(m->invalid_tool_calls[0].error != "");
  } else {
    BOOST_REQUIRE(m->tool_calls.size() == 1U);
    BOOST_TEST(to_text(m->tool_calls[0].args) == o.args);
  }
  if (o.api == provider_api::ollama) { // its streams have the same form
    const auto streamed = message_of(o.api, o.body + "\n", 9);
    BOOST_TEST((streamed.tool_calls == m->tool_calls));
    BOOST_TEST(streamed.invalid_tool_calls.size() == m->invalid_tool_calls.size());
    BOOST_TEST(streamed.content == m->content);
  }
}

BOOST_AUTO_TEST_CASE(surrogate_pair_split_over_chunks_is_joined) {
  const auto piece = [](std::string_view text) {
    return event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":")" +
                 std::string{text} + R"("}}]}}]})");
  };
  const auto m = message_of(
      provider_api::openai_chat,
      event(
          R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f"}}]}}]})") +
          piece(R"({\"n\":\"\ud83d)") + piece(R"(\ude00\"})") +
          event(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})"),
      30);
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(to_text(m.tool_calls[0].args) == "{\"n\":\"\xF0\x9F\x98\x80\"}");
}

BOOST_AUTO_TEST_CASE(unreadable_answers_are_classified_for_retry) {
  const auto judged = [](std::string_view body) {
    return judge_answer(read_answer(provider_api::openai_chat, body).error().code);
  };
  for (const auto* body : {"", "<html></html>", R"({"choices":[{"mess)", "\xff\xfe", "{}{}"})
    BOOST_TEST((judged(body).next == next_step::try_again), body);
  for (const auto* body : {"[]", "{}", R"({"choices":[]})"})
    BOOST_TEST((judged(body).next == next_step::try_once), body);
  BOOST_TEST((judged(R"({"error":{"code":502,"message":"m"}})").next == next_step::try_again));
  BOOST_TEST((judged(R"({"error":{"code":429,"message":"m"}})").next == next_step::wait));
  BOOST_TEST((judged(R"({"error":{"code":"invalid_api_key"}})").next == next_step::give_up));
  const auto text = read_answer(provider_api::openai_chat, R"({"choices":[}])").error().text;
  BOOST_TEST(text.find("at byte 12") != std::string::npos, text);
}

/// Streams in another provider's form that seem to end normally.
BOOST_AUTO_TEST_CASE(streams_in_form_of_other_providers_are_rejected) {
  const auto foreign = std::vector<std::pair<provider_api, std::string>>{
      {provider_api::anthropic, event(R"({"choices":[{"delta":{"content":"a"}}]})") +
                                    event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})") +
                                    event("[DONE]")},
      {provider_api::anthropic, event("[DONE]")},
      {provider_api::anthropic, event(R"({"type":"ping"})") + event(R"({"type":"message_stop"})")},
      {provider_api::anthropic,
       event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})")},
      {provider_api::anthropic, "{\"hello\":1}\n"},
      {provider_api::openai_responses, event(R"({"choices":[]})") + event("[DONE]")},
      {provider_api::openai_chat, event(R"({"type":"message_stop"})")},
      {provider_api::openai_chat, event("[DONE]")},
      {provider_api::ollama, "{\"done\":true}\n"},
      {provider_api::ollama, "{\"hello\":1}\n"},
  };
  for (const auto& [api, body] : foreign) {
    auto answer = make_stream(api);
    auto wrong = answer.feed(body);
    if (!wrong)
      wrong = answer.end();
    if (wrong || !answer.is_whole())
      continue;
    const auto read = answer.finish();
    BOOST_TEST_REQUIRE(read.has_error(), body);
    BOOST_TEST((judge_answer(read.error().code).next != next_step::give_up), body);
  }
}

BOOST_AUTO_TEST_CASE(secrets_shorter_than_16_characters_are_not_masked) {
  constexpr auto key = std::string_view{"0123456789abcdef"};
  BOOST_TEST(without_secret("a 0123456789abcdef0123456789abcdef b", key) == "a ****** b");
  for (const auto* shorter : {"", "x", "ollama", "EMPTY", "null", "0123456789abcde"})
    BOOST_TEST(without_secret("x ollama EMPTY null 0123456789abcde", shorter) ==
               "x ollama EMPTY null 0123456789abcde");
  auto many = std::string{};
  for (auto i = 0; i < 200'000; ++i)
    many += key;
  BOOST_TEST(without_secret(many, key).size() == 600'000U); // takes linear time
}

BOOST_AUTO_TEST_CASE(secrets_are_masked_in_stream_errors) {
  const auto key = std::string{"sk-0123456789abcdef"};
  auto answer = answer_stream{
      provider_api::openai_chat, wire_request{}, output_version::v0, nullptr, {}, {key}};
  BOOST_TEST(!answer.feed(event(R"({"choices":[{"delta":{"content":")" + key + "\"}}]}")));
  BOOST_TEST(!answer.feed(event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})")));
  BOOST_TEST(answer.finish()->content == key);
  // No part of the key appears, whatever part of an event is quoted.
  for (auto before = std::size_t{0}; before < 520; ++before) {
    auto broken = answer_stream{
        provider_api::openai_chat, wire_request{}, output_version::v0, nullptr, {}, {key}};
    const auto wrong =
        broken.feed(event(R"({"error":{"message":")" + std::string(before, 'x') + key + "\"}}"));
    BOOST_REQUIRE(wrong);
    BOOST_TEST(wrong->text.find("sk-0") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(reasoning_under_either_key_becomes_reasoning_content) {
  for (const auto* key : {"reasoning_content", "reasoning"}) {
    const auto whole =
        read_answer(provider_api::openai_chat,
                    R"({"choices":[{"message":{"role":"assistant","content":"a",")" +
                        std::string{key} + R"(":"because"},"finish_reason":"stop"}]})");
    BOOST_TEST(whole->additional_kwargs.at("reasoning_content").as_string() == "because");
    const auto piece = [&](std::string_view text) {
      return event(R"({"choices":[{"delta":{")" + std::string{key} + R"(":")" + std::string{text} +
                   "\"}}]}");
    };
    const auto streamed = message_of(
        provider_api::openai_chat,
        piece("bec") + piece("ause") + event(R"({"choices":[{"delta":{"content":"a"}}]})") +
            event(R"({"choices":[{"delta":{},"finish_reason":"stop"}]})"),
        20);
    BOOST_TEST(streamed.additional_kwargs.at("reasoning_content").as_string() == "because");
    BOOST_TEST(streamed.content == "a");
  }
}

BOOST_AUTO_TEST_CASE(empty_finish_reason_does_not_end_the_stream) {
  const auto piece = [](std::string_view text, std::string_view reason) {
    return event(R"({"choices":[{"delta":{"content":")" + std::string{text} +
                 R"("},"finish_reason":")" + std::string{reason} + "\"}]}");
  };
  auto cut = make_stream();
  BOOST_TEST(!cut.feed(piece("Hel", "")));
  BOOST_TEST(!cut.is_whole());
  const auto whole =
      message_of(provider_api::openai_chat, piece("Hel", "") + piece("lo", "stop"), 9);
  BOOST_TEST(whole.content == "Hello");
  BOOST_TEST(whole.response_metadata.at("finish_reason").as_string() == "stop");
}

BOOST_AUTO_TEST_CASE(last_event_may_have_no_delta_and_an_integer_id) {
  const auto m = message_of(
      provider_api::openai_chat,
      event(
          R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":7,"function":{"name":"f"}}]}}]})") +
          event(R"({"choices":[{"delta":null}]})") +
          event(R"({"choices":[{"delta":null,"finish_reason":"tool_calls"}],)"
                R"("usage":{"prompt_tokens":3.0,"completion_tokens":2}})") +
          "data: [DONE] \n\n",
      17);
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(m.tool_calls[0].id == "7");
  BOOST_REQUIRE(m.usage.has_value());
  BOOST_TEST(m.usage->total_tokens == 5);
}

BOOST_AUTO_TEST_CASE(usage_of_each_event_is_that_of_the_answer_so_far) {
  const auto piece = [](int completion, std::string_view reason) {
    return event(R"({"choices":[{"delta":{"content":"a"},"finish_reason":)" + std::string{reason} +
                 R"(}],"usage":{"prompt_tokens":100,"completion_tokens":)" +
                 std::to_string(completion) +
                 R"(,"prompt_tokens_details":{"cached_tokens":40,"audio_tokens":"0"}}})");
  };
  const auto m = message_of(provider_api::openai_chat,
                            piece(0, "null") + piece(1, "null") + piece(2, "\"stop\""), 50);
  BOOST_REQUIRE(m.usage.has_value());
  BOOST_TEST(m.usage->input_tokens == 100);
  BOOST_TEST(m.usage->output_tokens == 2);
  BOOST_TEST(to_text(json::value(m.usage->input_details)) == R"({"cache_read":40})");
}

BOOST_AUTO_TEST_CASE(repeated_stop_reason_is_reported_once) {
  const auto end = event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},)"
                         R"("usage":{"output_tokens":2}})");
  const auto m = message_of(
      provider_api::anthropic,
      event(R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}})") + end +
          end + event(R"({"type":"message_stop"})"),
      30);
  BOOST_TEST(m.response_metadata.at("stop_reason").as_string() == "end_turn");
  BOOST_TEST(m.usage->output_tokens == 2);
}

BOOST_AUTO_TEST_CASE(error_text_is_not_cut_inside_a_character) {
  // the excerpt of the content has at most 200 bytes and would end inside the letter
  const auto content = R"({"x":")" + std::string(193, 'a') + "\u00e9\"}";
  const auto failed = read_answer(provider_api::openai_chat,
                                  R"({"choices":[{"message":{"content":)" + content + "}}]}");
  BOOST_REQUIRE(failed.has_error());
  BOOST_TEST(is_utf8(failed.error().text));
  BOOST_TEST(failed.error().text.find("a…; ") != std::string::npos, failed.error().text);
}

BOOST_AUTO_TEST_SUITE_END()
