// SPDX-License-Identifier: Apache-2.0
// Answers of all providers, complete and streamed: content, calls, usage, errors.
#include "fed_streams.hpp"
#include "models/providers/answer_end.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/retry.hpp"

#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

using namespace superstep;
using namespace superstep::models;

namespace {

constexpr auto whole = std::string_view{
    R"({"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi","tool_calls":[)"
    R"({"id":"a","type":"function","function":{"name":"add","arguments":"{\"x\": 1}"}},)"
    R"({"id":"b","type":"function","function":{"name":"mul","arguments":"{\"y\": [2, 3]}"}}]},)"
    R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,)"
    R"("prompt_tokens_details":{"cached_tokens":2}}})"};

const auto chunks = std::vector<std::string_view>{
    R"({"model":"m1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]})",
    R"({"choices":[{"delta":{"content":"H"}}]})",
    R"({"choices":[{"delta":{"content":"i"}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"add","arguments":""}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"mul","arguments":"{\"y\": "}}]}}]})",
    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":": 1}"}},{"index":1,"function":{"arguments":"[2, 3]}"}}]}}]})",
    R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})",
    R"({"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2}}})",
    "[DONE]"};

const auto nonsense = std::vector<std::string_view>{
    "",
    "<html><body>Bad gateway</body></html>",
    "[]",
    "{}",
    R"({"choices":[]})",
    R"({"choices":{}})",
    R"({"choices":[1]})",
    R"({"choices":[{}]})",
    R"({"choices":[{"message":{"role":"assistant","content":null}}]})",
    R"({"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[]}}]})",
    R"({"choices":[{"message":{"role":"assistant","tool_calls":"x"}}]})"};

} // namespace

// The JSON tree of an answer uses memory that is released after reading.
BOOST_AUTO_TEST_CASE(parsed_message_does_not_refer_to_response_memory) {
  const auto own = json::storage_ptr{};
  auto body = parse_json(whole)->as_object();
  body["service_tier"] = "flex";
  auto& said = body["choices"].as_array()[0].as_object()["message"].as_object();
  said["content"] = json::array{json::object{{"type", "text"}, {"text", "a"}}};
  said["tool_calls"].as_array()[0].as_object()["function"].as_object()["arguments"] =
      json::object{{"x", 1}}; // as some servers send them
  said["audio"] = json::object{{"id", "s"}};
  const auto m = read_answer(provider_api::openai_chat, to_text(body)).value();
  BOOST_TEST((m.blocks->storage() == own && m.blocks->front().storage() == own));
  BOOST_TEST((m.tool_calls[0].args.storage() == own));
  BOOST_TEST((m.response_metadata.at("token_usage").storage() == own));
  BOOST_TEST((m.additional_kwargs.at("audio").storage() == own));
  BOOST_TEST((m.usage->input_details.at("flex_cache_read").storage() == own));

  auto told = std::vector<message_chunk>{};
  auto answer = make_stream(provider_api::openai_chat,
                            [&](const message_chunk& chunk) { told.push_back(chunk); });
  BOOST_TEST(!answer.feed(event(
      R"({"choices":[{"delta":{"content":["b"],"tool_calls":[{"index":"0","function":{}}]}}]})")));
  BOOST_TEST((told.at(0).call_chunks.at(0).index.storage() == own));
  BOOST_TEST((told.at(0).part.blocks->storage() == own));
}

BOOST_AUTO_TEST_CASE(streamed_answer_equals_complete_answer) {
  const auto once = read_answer(provider_api::openai_chat, whole);
  BOOST_REQUIRE(once.has_value());
  auto answer = make_stream();
  for (const auto chunk : chunks)
    BOOST_TEST(!answer.feed(event(chunk)));
  BOOST_TEST(!answer.end());
  BOOST_TEST(answer.is_whole());
  const auto built = answer.finish();
  BOOST_REQUIRE(built.has_value());
  BOOST_TEST(built->content == once->content);
  BOOST_TEST((built->tool_calls == once->tool_calls));
  BOOST_TEST((built->usage == once->usage));
  BOOST_TEST(once->content == "Hi");
  BOOST_TEST(once->tool_calls.size() == 2u);
  BOOST_TEST(once->tool_calls[1].name == "mul");
  BOOST_TEST(once->usage->total_tokens == 10);
  for (const auto* m : {&*once, &*built})
    BOOST_TEST(m->response_metadata.at("finish_reason").as_string() == "tool_calls");
}

BOOST_DATA_TEST_CASE(malformed_response_is_reported_as_bad_answer,
                     boost::unit_test::data::make(nonsense), body) {
  const auto read = read_answer(provider_api::openai_chat, body);
  BOOST_REQUIRE(read.has_error());
  BOOST_TEST((judge_answer(read.error().code).kind == model_errc::bad_answer));
}

BOOST_AUTO_TEST_CASE(truncated_stream_is_recognized_as_incomplete) {
  auto answer = make_stream();
  BOOST_TEST(!answer.feed(event(chunks[1])));
  BOOST_TEST(!answer.end());
  BOOST_TEST(!answer.is_whole());
}

BOOST_AUTO_TEST_CASE(streamed_refusal_pieces_are_joined_in_additional_kwargs) {
  auto answer = make_stream();
  BOOST_TEST(!answer.feed(event(R"({"choices":[{"delta":{"refusal":"I will "}}]})")));
  BOOST_TEST(!answer.feed(event(R"({"choices":[{"delta":{"refusal":"not."}}]})")));
  BOOST_TEST(!answer.feed("data: [DONE]\n\n"));
  BOOST_TEST(answer.finish()->additional_kwargs.at("refusal").as_string() == "I will not.");
}

BOOST_AUTO_TEST_CASE(error_events_of_all_apis_determine_retry) {
  const auto wrong = make_stream().feed(event(R"({"error":{"message":"overloaded"}})"));
  BOOST_REQUIRE(wrong);
  BOOST_TEST((wrong->why.next == next_step::try_again));
  BOOST_TEST(wrong->text.find("overloaded") != std::string::npos);
  const auto busy = make_stream(provider_api::anthropic)
                        .feed(event(R"({"type":"error","error":{"type":"overloaded_error",)"
                                    R"("message":"Overloaded"}})"));
  BOOST_REQUIRE(busy);
  BOOST_TEST(busy->why.is_overload);
  const auto failed =
      make_stream(provider_api::openai_responses)
          .feed(event(
              R"({"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded",)"
              R"("message":"slow"},"output":[]}})"));
  BOOST_REQUIRE(failed);
  BOOST_TEST((failed->why.next == next_step::wait));
  const auto line = make_stream(provider_api::ollama).feed("{\"error\":\"out of memory\"}\n");
  BOOST_REQUIRE(line);
  BOOST_TEST(line->text.find("out of memory") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(malformed_event_fails_the_stream) {
  for (const auto* data : {"{", "[]", R"({"choices":[{"delta":{"content":42}}]})"})
    BOOST_TEST(make_stream().feed(event(data)).has_value(), data);
  BOOST_TEST(make_stream().feed(event("\xff\xfe")).has_value());
}

BOOST_AUTO_TEST_CASE(streamed_answer_with_too_many_calls_is_rejected) {
  auto answer = make_stream();
  auto wrong = std::optional<fault>{};
  for (auto i = 0; i < 200 && !wrong; ++i)
    wrong = answer.feed(event(R"({"choices":[{"delta":{"tool_calls":[{"index":)" +
                              std::to_string(i) + R"(,"id":"c)" + std::to_string(i) +
                              R"(","function":{"name":"f","arguments":""}}]}}]})"));
  BOOST_REQUIRE(wrong);
  BOOST_TEST((wrong->why.kind == model_errc::bad_answer));
}

BOOST_AUTO_TEST_CASE(streamed_chunks_add_up_to_the_message) {
  for (const auto version : {output_version::v0, output_version::v1}) {
    auto sum = std::optional<message_chunk>{};
    auto answer = make_stream(
        provider_api::openai_chat,
        [&](const message_chunk& piece) {
          if (sum)
            append(*sum, piece).value();
          else
            sum = piece;
        },
        version);
    for (const auto chunk : chunks)
      BOOST_TEST(!answer.feed(event(chunk)));
    const auto built = answer.finish();
    BOOST_REQUIRE((built && sum));
    BOOST_TEST(sum->is_last);
    const auto told = to_message(*sum);
    BOOST_TEST(text_of(told) == text_of(*built));
    BOOST_TEST((told.tool_calls == built->tool_calls));
    BOOST_TEST((told.usage == built->usage));
    BOOST_TEST(told.blocks.has_value() == (version == output_version::v1));
  }
}

BOOST_AUTO_TEST_CASE(error_code_and_text_are_read_from_response) {
  BOOST_TEST(read_fault(R"({"error":{"message":"no","code":"insufficient_quota"}})").code ==
             "insufficient_quota");
  BOOST_TEST(read_fault(R"({"error":{"message":"no","type":"x","code":null}})").code == "x");
  BOOST_TEST(read_fault(R"({"error":"model 'm' not found"})").text == "model 'm' not found");
  BOOST_TEST(read_fault("Bad gateway").text == "Bad gateway");
  const auto event = read_fault(
      parse_json(R"({"type":"error","code":"server_error","message":"no"})").value().as_object());
  BOOST_TEST(event.text == "no");
  BOOST_TEST(event.code == "server_error");
}

std::string recording(const std::string& name) {
  auto in = std::ifstream{SUPERSTEP_TREE "/tests/unit/models/recordings/" + name};
  return {std::istreambuf_iterator<char>{in}, {}};
}

BOOST_AUTO_TEST_CASE(repeated_call_name_of_llamacpp_is_dropped) {
  const auto body = recording("llamacpp_stream_tool.sse");
  BOOST_REQUIRE(!body.empty());
  auto names = std::string{};
  const auto m = message_of(provider_api::openai_chat, body, 100, [&](const message_chunk& piece) {
    for (const auto& call : piece.call_chunks)
      names += call.name.value_or("");
  });
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(m.tool_calls[0].name == "get_weather");
  BOOST_TEST(names == "get_weather");
  BOOST_TEST(to_text(m.tool_calls[0].args) == R"({"city":"Oslo"})");
  BOOST_TEST(m.additional_kwargs.at("function_call").at("name").as_string() == "get_weather");
  BOOST_TEST(text_of(message_of(provider_api::openai_chat, recording("llamacpp_stream_text.sse"),
                                7)) != "");
  const auto whole = read_answer(provider_api::openai_chat, recording("llamacpp_tool.json"));
  BOOST_REQUIRE(whole.has_value());
  BOOST_TEST((whole->tool_calls[0].args == m.tool_calls[0].args));
}

struct named_pieces {
  std::string_view name;
  std::vector<std::string_view> calls; ///< `tool_calls` of each event
  std::string wanted;                  ///< expected names and arguments of the calls
};
std::ostream& operator<<(std::ostream& out, const named_pieces& n) {
  return out << n.name;
}
const auto all_named = std::vector<named_pieces>{
    {"repeated with the id",
     {R"({"index":0,"id":"a","function":{"name":"f","arguments":"{"}})",
      R"({"index":0,"id":"a","function":{"name":"f","arguments":"}"}})"},
     "f{} "},
    {"repeated without an id",
     {R"({"index":0,"id":"a","function":{"name":"f","arguments":"{"}})",
      R"({"index":0,"function":{"name":"f","arguments":"}"}})"},
     "f{} "},
    {"in parts",
     {R"({"index":0,"id":"a","function":{"name":"get_","arguments":""}})",
      R"({"index":0,"function":{"name":"it","arguments":"{}"}})"},
     "get_it{} "},
    {"two calls of one tool",
     {R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})",
      R"({"index":1,"id":"b","function":{"name":"f","arguments":"{}"}})",
      R"({"index":1,"id":"b","function":{"name":"f","arguments":" "}})"},
     "f{} f{} "},
    {"two calls at one index",
     {R"({"index":0,"id":"a","function":{"name":"f","arguments":"{}"}})",
      R"({"index":0,"id":"b","function":{"name":"f","arguments":"{}"}})"},
     "f{} f{} "},
};

BOOST_DATA_TEST_CASE(repeated_tool_name_in_stream_is_not_appended,
                     boost::unit_test::data::make(all_named), n) {
  auto body = std::string{};
  for (const auto call : n.calls)
    body += event(R"({"choices":[{"delta":{"tool_calls":[)" + std::string{call} + "]}}]}");
  // Some servers also repeat the finish reason.
  for (auto i = 0; i < 2; ++i)
    body += event(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
  const auto m = message_of(provider_api::openai_chat, body, 40);
  auto got = std::string{};
  for (const auto& call : m.tool_calls)
    got += call.name + to_text(call.args) + ' ';
  BOOST_TEST(got == n.wanted);
  BOOST_TEST(m.response_metadata.at("finish_reason").as_string() == "tool_calls");
}

struct counted {
  std::string_view name;
  std::string_view start; ///< usage in message_start
  std::vector<std::string_view> ends;
  std::string_view wanted;
};
std::ostream& operator<<(std::ostream& out, const counted& c) {
  return out << c.name;
}
const auto all_counted = std::vector<counted>{
    {"input at the start only",
     R"({"input_tokens":1000,"cache_read_input_tokens":7,"output_tokens":1})",
     {R"({"output_tokens":9})"},
     R"({"input_tokens":1007,"output_tokens":9,"total_tokens":1016,"input_token_details":{"cache_read":7}})"},
    {"null at the end",
     R"({"input_tokens":3,"output_tokens":1})",
     {R"({"input_tokens":null,"cache_read_input_tokens":null,"output_tokens":9})"},
     R"({"input_tokens":3,"output_tokens":9,"total_tokens":12})"},
    {"repeated at the end",
     R"({"input_tokens":3,"output_tokens":1})",
     {R"({"input_tokens":3,"output_tokens":9})"},
     R"({"input_tokens":3,"output_tokens":9,"total_tokens":12})"},
    {"corrected at the end",
     R"({"input_tokens":0,"output_tokens":0})",
     {R"({"input_tokens":5,"output_tokens":9})"},
     R"({"input_tokens":5,"output_tokens":9,"total_tokens":14})"},
    {"counts that grow",
     R"({"input_tokens":3,"output_tokens":1})",
     {R"({"output_tokens":5})", R"({"output_tokens":9})"},
     R"({"input_tokens":3,"output_tokens":9,"total_tokens":12})"},
};

BOOST_DATA_TEST_CASE(anthropic_usage_combines_start_and_delta_events,
                     boost::unit_test::data::make(all_counted), c) {
  auto body =
      event(R"({"type":"message_start","message":{"id":"msg_7","model":"m","content":[],"usage":)" +
            std::string{c.start} + "}}");
  for (const auto end : c.ends)
    body += event(R"({"type":"message_delta","delta":{"stop_reason":)" +
                  std::string{end == c.ends.back() ? "\"end_turn\"" : "null"} + R"(},"usage":)" +
                  std::string{end} + "}");
  const auto m = message_of(provider_api::anthropic, body, 50);
  BOOST_REQUIRE(m.usage.has_value());
  BOOST_TEST(to_text(to_json(*m.usage)) == c.wanted);
  BOOST_TEST(m.response_metadata.at("id").as_string() == "msg_7");
}

BOOST_AUTO_TEST_SUITE(provider_answers)

namespace {

json::object object_of(std::string_view text) {
  return parse_json(text).value().as_object();
}

/// Returns the sum of the events of a stream.
template <class Reader>
message added_up(Reader reader, std::initializer_list<std::string_view> events) {
  auto sum = std::optional<message_chunk>{};
  for (const auto event : events) {
    auto piece = reader.read(object_of(event)).value();
    if (piece && sum)
      append(*sum, *std::move(piece)).value();
    else if (piece)
      sum = std::move(piece);
  }
  return to_message(std::move(sum).value());
}

constexpr auto text_begins = std::string_view{
    R"({"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":"a"})"};

} // namespace

BOOST_AUTO_TEST_CASE(citations_with_equal_position_stay_separate) {
  constexpr auto cited = std::string_view{
      R"({"type":"response.output_text.annotation.added","item_id":"m","output_index":0,"content_index":0,)"
      R"("annotation":{"type":"file_citation","file_id":"f","filename":"n","index":3}})"};
  const auto streamed = added_up(openai_responses::event_reader{}, {text_begins, cited, cited});
  const auto whole = openai_responses::read_response(object_of(
      R"({"output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"a","annotations":[)"
      R"({"type":"file_citation","file_id":"f","filename":"n","index":3},)"
      R"({"type":"file_citation","file_id":"f","filename":"n","index":3}]}]}]})"));
  for (const auto* m : {&streamed, &*whole}) {
    const auto annotations = m->blocks->at(0).at("annotations").as_array();
    BOOST_REQUIRE(annotations.size() == 2U);
    BOOST_TEST(annotations.at(1).at("file_id").as_string() == "f");
    BOOST_TEST(annotations.at(1).at("file_index").as_int64() == 3);
  }
}

BOOST_AUTO_TEST_CASE(streamed_encrypted_reasoning_keeps_only_final_value) {
  const auto m = added_up(
      openai_responses::event_reader{},
      {R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r","summary":[],"encrypted_content":"EN"}})",
       R"({"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":0,"delta":"hm"})",
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"ENC"}})"});
  BOOST_REQUIRE(m.blocks->size() == 1U);
  BOOST_TEST(m.blocks->at(0).at("encrypted_content").as_string() == "ENC");
  BOOST_TEST(m.blocks->at(0).at("summary").as_array().size() == 1U);
  BOOST_TEST(m.blocks->at(0).at("id").as_string() == "r");
}

BOOST_AUTO_TEST_CASE(null_encrypted_content_is_omitted) {
  const auto m = added_up(
      openai_responses::event_reader{},
      {R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r","summary":[],"encrypted_content":null}})"});
  BOOST_TEST(!m.blocks->at(0).as_object().contains("encrypted_content"));
}

BOOST_AUTO_TEST_CASE(streamed_text_keeps_phase_of_its_item) {
  const auto m = added_up(
      openai_responses::event_reader{},
      {R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","phase":"commentary","content":[]}})",
       text_begins});
  BOOST_REQUIRE(m.blocks->size() == 1U);
  BOOST_TEST(m.blocks->at(0).at("phase").as_string() == "commentary");
  BOOST_TEST(m.blocks->at(0).at("text").as_string() == "a");
}

BOOST_AUTO_TEST_CASE(streamed_parts_have_type_and_phase) {
  const auto m = added_up(
      openai_responses::event_reader{},
      {R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m","phase":"p","content":[]}})",
       text_begins, text_begins,
       R"({"type":"response.refusal.done","item_id":"m","output_index":0,"content_index":1,"refusal":"no"})"});
  BOOST_REQUIRE(m.blocks->size() == 2U);
  BOOST_TEST(m.blocks->at(0).at("text").as_string() == "aa");
  for (const auto& block : *m.blocks)
    BOOST_TEST(block.at("phase").as_string() == "p");
  BOOST_TEST(providers::why_refused(m) == "the model refused to answer: no");
}

BOOST_AUTO_TEST_CASE(reasoning_without_deltas_is_read_at_its_end) {
  const auto begun = std::string_view{
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r","summary":[],"content":[]}})"};
  const auto ended = std::string_view{
      R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"s"}],"content":[{"type":"reasoning_text","text":"t"}]}})"};
  const auto whole = added_up(openai_responses::event_reader{}, {begun, ended});
  BOOST_REQUIRE(whole.blocks->size() == 1U);
  BOOST_TEST(whole.blocks->at(0).at("content").at(0).at("text").as_string() == "t");
  BOOST_TEST(whole.blocks->at(0).at("summary").at(0).at("text").as_string() == "s");
  const auto delta = std::string_view{
      R"({"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":0,"delta":"s"})"};
  const auto streamed = added_up(openai_responses::event_reader{}, {begun, delta, ended});
  BOOST_TEST(streamed.blocks->at(0).at("summary").as_array().size() == 1U);
}

BOOST_AUTO_TEST_CASE(streamed_item_keeps_its_first_output_index) {
  const auto m = added_up(
      openai_responses::event_reader{},
      {R"({"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"w"}})",
       R"({"type":"response.output_item.done","output_index":1,"item":{"type":"web_search_call","id":"w"}})",
       R"({"type":"response.output_text.delta","item_id":"m","output_index":1,"content_index":0,"delta":"a"})"});
  BOOST_REQUIRE(m.blocks->size() == 2U);
  BOOST_TEST(m.blocks->at(0).at("id").as_string() == "w");
  BOOST_TEST(m.blocks->at(1).at("text").as_string() == "a");
}

BOOST_AUTO_TEST_CASE(each_openai_responses_chunk_contains_content_blocks) {
  auto reader = openai_responses::event_reader{};
  for (
      const auto* event :
      {R"({"type":"response.created","response":{"id":"r"}})",
       R"({"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}})",
       R"({"type":"response.completed","response":{"id":"r","output":[]}})"}) {
    const auto piece = reader.read(object_of(event)).value();
    BOOST_REQUIRE(piece.has_value());
    BOOST_TEST(piece->part.blocks.has_value(), event);
  }
}

BOOST_AUTO_TEST_CASE(streamed_custom_tool_input_becomes_an_argument) {
  const auto m = added_up(
      openai_responses::event_reader{},
      {R"({"type":"response.output_item.added","output_index":0,"item":{"type":"custom_tool_call","id":"t","call_id":"c","name":"f","input":""}})",
       R"({"type":"response.output_item.done","output_index":0,"item":{"type":"custom_tool_call","id":"t","call_id":"c","name":"f","input":"x"}})"});
  BOOST_REQUIRE(m.tool_calls.size() == 1U);
  BOOST_TEST(m.tool_calls.front().args.at("__arg1").as_string() == "x");
}

BOOST_AUTO_TEST_CASE(streamed_compaction_content_is_added_to_its_block) {
  const auto m = added_up(
      anthropic::event_reader{false},
      {R"({"type":"content_block_start","index":0,"content_block":{"type":"compaction","content":null}})",
       R"({"type":"content_block_delta","index":0,"delta":{"type":"compaction_delta","content":"zip"}})"});
  BOOST_REQUIRE(m.blocks->size() == 1U);
  BOOST_TEST(m.blocks->at(0).at("type").as_string() == "compaction");
  BOOST_TEST(m.blocks->at(0).at("content").as_string() == "zip");
}

BOOST_AUTO_TEST_CASE(single_text_block_without_citations_becomes_string) {
  for (const auto* citations : {"null", "[]"}) {
    const auto m = anthropic::read_response(object_of(
        R"({"content":[{"type":"text","text":"a","citations":)" + std::string{citations} + "}]}"));
    BOOST_TEST(m->content == "a");
    BOOST_TEST(!m->blocks.has_value());
  }
}

BOOST_AUTO_TEST_CASE(thinking_tokens_are_counted_as_reasoning_tokens) {
  const auto usage = anthropic::read_usage(object_of(
      R"({"input_tokens":3,"output_tokens":4,"output_tokens_details":{"thinking_tokens":2}})"));
  BOOST_TEST(usage.output_tokens == 4);
  BOOST_TEST(usage.output_details.at("reasoning").as_int64() == 2);
}

BOOST_AUTO_TEST_CASE(logprobs_of_all_ollama_lines_are_joined) {
  const auto m = added_up(ollama::line_reader{},
                          {R"({"message":{"content":"a"},"done":false,"logprobs":[{"token":"a"}]})",
                           R"({"message":{"content":"b"},"done":false,"logprobs":[{"token":"b"}]})",
                           R"({"message":{"content":""},"done":true,"done_reason":"stop"})"});
  BOOST_REQUIRE(m.response_metadata.at("logprobs").as_array().size() == 2U);
  BOOST_TEST(m.response_metadata.at("logprobs").at(1).at("token").as_string() == "b");
}

BOOST_AUTO_TEST_CASE(call_arguments_other_than_one_object_are_invalid) {
  const auto read = [](std::string_view arguments) {
    return openai_responses::read_response(
        object_of(R"({"output":[{"type":"function_call","call_id":"c","name":"f","arguments":")" +
                  std::string{arguments} + R"("}]})"));
  };
  BOOST_TEST(read("[1]")->invalid_tool_calls.size() == 1U);
  BOOST_TEST(read("{}{}")->invalid_tool_calls.size() == 1U);
  BOOST_TEST(read("{bad")->invalid_tool_calls.size() == 1U);
  BOOST_TEST(read("{}")->tool_calls.size() == 1U);
}

BOOST_AUTO_TEST_CASE(item_done_event_completes_call_arguments) {
  const auto begun = std::string_view{
      R"({"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":""}})"};
  const auto delta = std::string_view{
      R"({"type":"response.function_call_arguments.delta","item_id":"i","output_index":0,"delta":"{\"n\":"})"};
  const auto end = std::string_view{
      R"({"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"i","call_id":"c","name":"f","arguments":"{\"n\":1}"}})"};
  for (const auto& m : {added_up(openai_responses::event_reader{}, {begun, end}),
                        added_up(openai_responses::event_reader{}, {begun, delta, end}),
                        added_up(openai_responses::event_reader{}, {begun, delta, end, end}),
                        added_up(openai_responses::event_reader{}, {end})}) {
    BOOST_REQUIRE(m.tool_calls.size() == 1U);
    BOOST_TEST(m.tool_calls[0].name == "f");
    BOOST_TEST(to_text(m.tool_calls[0].args) == R"({"n":1})");
    BOOST_TEST(m.blocks->size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(stream_error_text_contains_code_and_message) {
  const auto text_of_failure = [](std::string_view event) {
    return openai_responses::event_reader{}.read(object_of(event)).error().text;
  };
  BOOST_TEST(text_of_failure(R"({"type":"error","code":"c1","message":"slow"})").find("c1: slow") !=
             std::string::npos);
  const auto failed = text_of_failure(
      R"({"type":"response.failed","response":{"error":{"code":"c2","message":"broken"}}})");
  BOOST_TEST(failed.find("c2: broken") != std::string::npos, failed);
  const auto silent = text_of_failure(R"({"type":"response.failed","response":{"id":"resp_1"}})");
  BOOST_TEST(silent.find("error: resp_1") != std::string::npos, silent);
  BOOST_TEST(text_of_failure(R"({"type":"error"})").find("error: :") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
