// SPDX-License-Identifier: Apache-2.0
// Errors inside of answers with status 200, and streams of servers that deviate from their API.
#include "fed_streams.hpp"
#include "models/http/faults.hpp"
#include "models/retry.hpp"

#include <superstep/base/json.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>

using namespace superstep;
using namespace superstep::models;

BOOST_AUTO_TEST_SUITE(odd_streams)

namespace {

constexpr auto chat = provider_api::openai_chat;
constexpr auto responses = provider_api::openai_responses;
constexpr auto half = std::string_view{R"({"choices":[{"delta":{"content":"The first half "}}]})"};

std::string call_piece(std::string_view arguments) {
  return event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":)"
               R"({"name":"f","arguments":)" +
               std::string{arguments} + "}}]}}]}");
}
constexpr auto calls_end =
    std::string_view{"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"};

} // namespace

BOOST_AUTO_TEST_CASE(error_after_half_of_the_answer_fails_the_stream) {
  const auto fault_of = [](std::string_view data) {
    auto answer = make_stream();
    BOOST_TEST(!answer.feed(event(half)));
    auto wrong = answer.feed(event(data));
    BOOST_REQUIRE(wrong);
    return *wrong;
  };
  const auto dead =
      fault_of(R"({"object":"error","message":"engine died","type":"InternalServerError",)"
               R"("param":null,"code":500})");
  BOOST_TEST((dead.why.next == next_step::try_again));
  BOOST_TEST(dead.text.find("engine died") != std::string::npos, dead.text);
  const auto busy = fault_of(R"({"choices":[{"delta":{"content":""},"finish_reason":"error",)"
                             R"("error":{"code":429,"message":"slow down"}}]})");
  BOOST_TEST((busy.why.next == next_step::wait));
  BOOST_TEST(busy.text.find("slow down") != std::string::npos, busy.text);
  const auto silent = fault_of(R"({"choices":[{"delta":{},"finish_reason":"error"}]})");
  BOOST_TEST((silent.why.next == next_step::try_again));
}

BOOST_AUTO_TEST_CASE(error_field_of_llama_cpp_fails_the_stream) {
  auto answer = make_stream();
  BOOST_TEST(!answer.feed(event(half)));
  const auto wrong =
      answer.feed("error: {\"code\":400,\"message\":\"the request exceeds the context\","
                  "\"type\":\"exceed_context_size_error\"}\n\ndata: [DONE]\n\n");
  BOOST_REQUIRE(wrong);
  BOOST_TEST((wrong->why.kind == model_errc::bad_request));
  BOOST_TEST(wrong->text.find("exceeds the context") != std::string::npos, wrong->text);
}

BOOST_AUTO_TEST_CASE(error_of_a_choice_fails_the_answer) {
  const auto judged = [](std::string_view body) {
    return judge_answer(read_answer(chat, body).error().code).next;
  };
  BOOST_TEST((judged(R"({"choices":[{"message":{"role":"assistant","content":""},)"
                     R"("finish_reason":"error","error":{"code":502,"message":"m"}}]})") ==
              next_step::try_again));
  BOOST_TEST((judged(R"({"object":"error","message":"m","code":503})") == next_step::try_again));
  const auto text = read_answer(chat, R"({"choices":[{"message":{"content":"a"},)"
                                      R"("error":{"code":502,"message":"no provider"}}]})")
                        .error()
                        .text;
  BOOST_TEST(text.find("no provider") != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(streamed_arguments_may_be_an_object) {
  const auto args_in = [](const std::string& body) {
    const auto m = message_of(chat, body, body.size());
    BOOST_REQUIRE(m.tool_calls.size() == 1U);
    return to_text(m.tool_calls[0].args);
  };
  BOOST_TEST(args_in(call_piece(R"({"path":"/tmp/x"})") + std::string{calls_end}) ==
             R"({"path":"/tmp/x"})");
  BOOST_TEST(args_in(call_piece("{}") + std::string{calls_end}) == "{}");
  BOOST_TEST(args_in(call_piece("{}") +
                     event(R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":)"
                           R"({"arguments":"{\"n\":1}"}}]}}]})") +
                     std::string{calls_end}) == R"({"n":1})");
  const auto list = call_piece("[1]") + std::string{calls_end};
  BOOST_TEST(message_of(chat, list, list.size()).invalid_tool_calls.size() == 1U);
}

BOOST_AUTO_TEST_CASE(pieces_of_streamed_text_lists_are_joined) {
  const auto list = [](std::string_view blocks) {
    return event(R"({"choices":[{"delta":{"content":[)" + std::string{blocks} + "]}}]}");
  };
  const auto text = [&](std::string_view piece) {
    return list(R"({"type":"text","text":")" + std::string{piece} + "\"}");
  };
  auto body = std::string{};
  for (auto i = 0; i < 200; ++i) // more than the maximum number of blocks
    body += list(R"({"type":"thinking","thinking":[{"type":"text","text":"t"}]})");
  body += text("a") + text("b") + list(R"({"type":"image_url","image_url":"u"})") + text("c") +
          event(R"({"choices":[{"delta":{"content":"d"}}]})") + text("e") + std::string{calls_end};
  const auto m = message_of(chat, body, body.size());
  BOOST_REQUIRE(m.blocks);
  BOOST_REQUIRE(m.blocks->size() == 6U);
  const auto& thoughts = m.blocks->at(0).at("thinking").as_array();
  BOOST_REQUIRE(thoughts.size() == 1U);
  BOOST_TEST(thoughts[0].at("text").as_string() == std::string(200, 't'));
  BOOST_TEST(m.blocks->at(1).at("text").as_string() == "ab");
  BOOST_TEST(m.blocks->at(3).at("text").as_string() == "c");
  BOOST_TEST(m.blocks->at(5).at("text").as_string() == "e");
  BOOST_TEST(text_of(m) == "abcde");
}

BOOST_AUTO_TEST_CASE(missing_counts_of_tokens_are_zero) {
  const auto usage_of = [](provider_api api, const std::string& body) {
    const auto m = message_of(api, body, body.size());
    BOOST_REQUIRE(m.usage);
    return *m.usage;
  };
  // Ollama omits counts of 0.
  const auto line = std::string{R"({"message":{"content":"a"},"done":true,"done_reason":"stop",)"};
  BOOST_TEST(usage_of(provider_api::ollama, line + "\"eval_count\":4}").total_tokens == 4);
  BOOST_TEST(usage_of(provider_api::ollama, line + "\"prompt_eval_count\":3}").total_tokens == 3);
  const auto end = std::string_view{R"({"type":"response.completed","response":{"output":[],)"
                                    R"("usage":{"input_tokens":3,"output_tokens":4}}})"};
  BOOST_TEST(usage_of(responses, event(end)).total_tokens == 7);
}

BOOST_AUTO_TEST_CASE(arguments_of_responses_and_anthropic_may_have_other_types) {
  const auto item = std::string_view{R"({"type":"function_call","id":"i","call_id":"c","name":"f",)"
                                     R"("arguments":{"n":1}}})"};
  const auto responses_body =
      event(R"({"type":"response.output_item.added","output_index":0,"item":)" +
            std::string{item}) +
      event(R"({"type":"response.output_item.done","output_index":0,"item":)" + std::string{item}) +
      event(R"({"type":"response.completed","response":{"output":[]}})");
  const auto m = message_of(responses, responses_body, responses_body.size());
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(to_text(m.tool_calls[0].args) == R"({"n":1})");
  const auto anthropic_body =
      event(R"({"type":"message_start","message":{"id":"m","usage":{}}})") +
      event(R"({"type":"content_block_start","index":0,"content_block":{"type":"tool_use",)"
            R"("id":"c","name":"f","input":"{\"n\":2}"}})") +
      event(R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{}})") +
      event(R"({"type":"message_stop"})");
  const auto other = message_of(provider_api::anthropic, anthropic_body, anthropic_body.size());
  BOOST_REQUIRE(other.tool_calls.size() == 1U);
  BOOST_TEST(to_text(other.tool_calls[0].args) == R"({"n":2})");
}

BOOST_AUTO_TEST_CASE(deltas_of_parallel_calls_may_alternate) {
  const auto begin = [](std::string_view n) {
    return event(R"({"type":"response.output_item.added","output_index":)" + std::string{n} +
                 R"(,"item":{"type":"function_call","id":"i)" + std::string{n} +
                 R"(","call_id":"c)" + std::string{n} + R"(","name":"f","arguments":""}})");
  };
  const auto delta = [](std::string_view n, std::string_view text) {
    return event(R"({"type":"response.function_call_arguments.delta","item_id":"i)" +
                 std::string{n} + R"(","output_index":)" + std::string{n} + R"(,"delta":")" +
                 std::string{text} + R"("})");
  };
  const auto body = begin("0") + begin("1") + delta("0", R"({\"x\")") + delta("1", R"({\"y\")") +
                    delta("0", ":1}") + delta("1", ":2}") +
                    event(R"({"type":"response.completed","response":{"output":[]}})");
  const auto m = message_of(responses, body, body.size());
  BOOST_REQUIRE(m.tool_calls.size() == 2U);
  BOOST_TEST(to_text(m.tool_calls[0].args) == R"({"x":1})");
  BOOST_TEST(to_text(m.tool_calls[1].args) == R"({"y":2})");
  BOOST_TEST(m.invalid_tool_calls.empty());
}

BOOST_AUTO_TEST_CASE(text_without_deltas_is_taken_from_its_end) {
  const auto end = event(R"({"type":"response.output_text.done","item_id":"i","output_index":0,)"
                         R"("content_index":0,"text":"Hello"})") +
                   event(R"({"type":"response.completed","response":{"output":[]}})");
  BOOST_TEST(text_of(message_of(responses, end, end.size())) == "Hello");
  const auto usual = event(R"({"type":"response.output_text.delta","item_id":"i",)"
                           R"("output_index":0,"content_index":0,"delta":"Hello"})") +
                     end;
  BOOST_TEST(text_of(message_of(responses, usual, usual.size())) == "Hello");
}

BOOST_AUTO_TEST_CASE(answer_that_was_not_streamed_fails_the_stream) {
  auto answer = make_stream(responses);
  const auto wrong = answer.feed(
      event(R"({"type":"response.completed","response":{"output":[{"type":"message","id":"i",)"
            R"("content":[{"type":"output_text","text":"Hello","annotations":[]}]}]}})"));
  BOOST_REQUIRE(wrong);
  BOOST_TEST((wrong->why.next == next_step::try_again));
}

BOOST_AUTO_TEST_CASE(events_after_the_last_event_are_ignored) {
  const auto of_anthropic =
      event(R"({"type":"message_start","message":{"id":"m","usage":{"input_tokens":1}}})") +
      event(
          R"({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}})") +
      event(R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})") +
      event(R"({"type":"message_stop"})");
  const auto of_chat = event(R"({"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]})") +
                       event(R"({"choices":[],"usage":{"prompt_tokens":1}})") + event("[DONE]");
  const auto of_ollama =
      std::string{R"({"message":{"content":"a"},"done":true,"done_reason":"stop"})"} + '\n';
  for (const auto& [api, body] :
       {std::pair{provider_api::anthropic, of_anthropic}, std::pair{chat, of_chat},
        std::pair{provider_api::ollama, of_ollama}}) {
    auto answer = make_stream(api);
    const auto last = body.size() - 3;
    BOOST_TEST(!answer.feed(std::string_view{body}.substr(0, last)));
    BOOST_TEST(!answer.has_ended(), body);
    BOOST_TEST(!answer.feed(std::string_view{body}.substr(last)));
    BOOST_TEST(answer.has_ended(), body);
    BOOST_TEST(!answer.feed("data: not JSON\n\n"), body);
    BOOST_TEST(text_of(answer.finish().value()) == "a", body);
  }
}

BOOST_AUTO_TEST_CASE(anthropic_stream_may_end_without_a_stop_reason) {
  const auto start = event(R"({"type":"message_start","message":{"id":"m"}})");
  const auto text = event(R"({"type":"content_block_delta","index":0,"delta":)"
                          R"({"type":"text_delta","text":"a"}})");
  const auto none = event(R"({"type":"message_delta","delta":{"stop_reason":null}})");
  const auto stop = event(R"({"type":"message_stop"})");
  BOOST_TEST(text_of(message_of(provider_api::anthropic, start + text + stop, 7)) == "a");
  BOOST_TEST(text_of(message_of(provider_api::anthropic, start + text + none + stop, 7)) == "a");
  // The call could be incomplete, so it is invalid.
  const auto call = event(R"({"type":"content_block_start","index":1,"content_block":)"
                          R"({"type":"tool_use","id":"c","name":"f","input":{}}})");
  const auto cut = message_of(provider_api::anthropic, start + call + none + stop, 7);
  BOOST_TEST(cut.tool_calls.empty());
  BOOST_TEST(cut.invalid_tool_calls.size() == 1U);
}

BOOST_AUTO_TEST_CASE(only_the_first_of_several_choices_is_read) {
  const auto piece = [](int index, std::string_view text) {
    return event(R"({"choices":[{"index":)" + std::to_string(index) + R"(,"delta":{"content":")" +
                 std::string{text} + R"("}}]})");
  };
  const auto end = [](int index, std::string_view usage) {
    return event(R"({"choices":[{"index":)" + std::to_string(index) +
                 R"(,"delta":{},"finish_reason":"stop"}])" + std::string{usage} + "}");
  };
  const auto m = message_of(
      chat,
      piece(0, "A") + piece(1, "x") + piece(0, "B") + end(0, "") + piece(1, "y") +
          end(1, R"(,"usage":{"prompt_tokens":2,"completion_tokens":3,"total_tokens":5})") +
          event("[DONE]"),
      11);
  BOOST_TEST(m.content == "AB");
  BOOST_TEST(m.usage->total_tokens == 5);
  BOOST_TEST(message_of(chat, piece(3, "A") + end(3, ""), 11).content == "A");
}

BOOST_AUTO_TEST_CASE(answer_without_content_has_a_finish_reason) {
  const auto body = [](std::string_view reason) {
    return R"({"choices":[{"message":{"role":"assistant","content":null},"finish_reason":)" +
           std::string{reason} + "}]}";
  };
  BOOST_TEST(read_answer(chat, body(R"("content_filter")")).value().content.empty());
  BOOST_TEST(read_answer(chat, body("null")).has_error());
  const auto empty = read_answer(chat, " \r\n").error();
  BOOST_TEST(empty.text == "the answer is empty");
  BOOST_TEST((judge_answer(empty.code).next == next_step::try_again));
}

BOOST_AUTO_TEST_SUITE_END()
