// SPDX-License-Identifier: Apache-2.0
// Content that only some providers accept, and what requests to the other providers contain
// instead.
#include "models/http/wire_request.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/wire_request_fixtures.hpp"

#include <superstep/messages/message_json.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdlib>

using namespace superstep;
using namespace superstep::test;

BOOST_AUTO_TEST_SUITE(provider_requests)

namespace {

constexpr auto openai_apis = std::array{provider_api::openai_chat, provider_api::openai_responses};

message message_of(std::string_view text) {
  return message_from_json(parse_json(text).value()).value();
}

message answer_in_blocks(std::string_view blocks, std::string_view metadata = "{}") {
  auto out = message{};
  out.type = message_type::ai;
  out.blocks = parse_json(blocks).value().as_array();
  out.response_metadata = parse_json(metadata).value().as_object();
  return out;
}

model_request asking(message m) {
  auto out = model_request{};
  out.messages.push_back(std::move(m));
  out.messages.push_back(human_message("go on"));
  return out;
}

json::value sent(provider_api api, message m) {
  return body_of(make_options(api), asking(std::move(m)));
}

json::value content_sent(provider_api api, message m) {
  return sent(api, std::move(m)).at("messages").at(0).at("content");
}

bool is_refused(provider_api api, message m) {
  return models::write_request(make_options(api), asking(std::move(m))).has_error();
}

const auto standard = std::string_view{R"({"output_version":"v1","model_provider":"anthropic"})"};

} // namespace

BOOST_AUTO_TEST_CASE(tool_calls_without_ids_are_sent_separately) {
  const auto m =
      message_of(R"({"type":"ai","content":"","tool_calls":[)"
                 R"({"name":"f","args":{},"id":null},{"name":"g","args":{},"id":null}]})");
  BOOST_TEST(content_sent(provider_api::anthropic, m).as_array().size() == 2U);
  const auto input = sent(provider_api::openai_responses, m).at("input").as_array();
  BOOST_TEST(input.size() == 3U);
  BOOST_TEST(input.at(1).at("name").as_string() == "g");
}

BOOST_AUTO_TEST_CASE(texts_in_lists_are_sent_as_blocks) {
  const auto text = parse_json(R"([{"type":"text","text":"a"}])").value();
  for (const auto api : {provider_api::openai_chat, provider_api::anthropic}) {
    BOOST_TEST(content_sent(api, answer_in_blocks(R"(["","a"])")) == text);
    BOOST_TEST(content_sent(api, message_of(R"({"type":"human","content":["a"]})")).at(0) ==
               text.at(0));
  }
}

BOOST_AUTO_TEST_CASE(chat_completions_content_is_never_an_empty_list) {
  for (const auto* blocks : {"[]", R"([""])", R"([{"type":"thinking","thinking":"t"}])"})
    BOOST_TEST(content_sent(provider_api::openai_chat, answer_in_blocks(blocks)) == "");
}

BOOST_AUTO_TEST_CASE(blank_answer_is_not_sent_to_anthropic) {
  for (const auto* text : {"", "\n\n", " \t"}) {
    BOOST_TEST(sent(provider_api::anthropic, ai_message(text)).at("messages").as_array().size() ==
               1U);
    const auto content = content_sent(provider_api::anthropic, ai_message(text, {{"c", "f", {}}}));
    BOOST_TEST(content.as_array().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(server_tools_of_other_providers_are_not_sent) {
  const auto text = json::object{{"type", "text"}, {"text", "a"}};
  const auto answers = std::array{
      answer_in_blocks(R"([{"type":"server_tool_use","id":"s","name":"web_search","input":{}},)"
                       R"({"type":"web_search_tool_result","tool_use_id":"s","content":[]},)"
                       R"({"type":"text","text":"a"}])",
                       R"({"model_provider":"anthropic"})"),
      answer_in_blocks(R"([{"type":"web_search_call","id":"w","status":"completed"},)"
                       R"({"type":"text","text":"a"}])",
                       R"({"model_provider":"openai"})"),
      answer_in_blocks(R"([{"type":"server_tool_call","id":"s","name":"web_search","args":{}},)"
                       R"({"type":"server_tool_result","tool_call_id":"s","status":"success"},)"
                       R"({"type":"text","text":"a"}])",
                       R"({"model_provider":"other","output_version":"v1"})")};
  for (const auto& answer : answers) {
    BOOST_TEST(content_sent(provider_api::openai_chat, answer) == json::array{text});
    BOOST_TEST(content_sent(provider_api::ollama, answer) == "\na");
    if (answer.response_metadata.at("model_provider") != "anthropic")
      BOOST_TEST(content_sent(provider_api::anthropic, answer) == json::array{text});
    const auto input = sent(provider_api::openai_responses, answer).at("input").as_array();
    if (answer.response_metadata.at("model_provider") != "openai")
      BOOST_TEST(input.size() == 2U);
  }
}

BOOST_AUTO_TEST_CASE(non_standard_blocks_of_other_providers_are_not_sent) {
  const auto answer = answer_in_blocks(
      R"([{"type":"non_standard","value":{"type":"x"}},{"type":"text","text":"a"}])",
      R"({"model_provider":"other","output_version":"v1"})");
  for (const auto api : {provider_api::openai_chat, provider_api::anthropic})
    BOOST_TEST(content_sent(api, answer).as_array().size() == 1U);
}

BOOST_AUTO_TEST_CASE(reasoning_without_id_is_not_sent_to_responses) {
  const auto input_of = [](std::string_view reasoning) {
    return sent(provider_api::openai_responses,
                answer_in_blocks('[' + std::string{reasoning} + R"(,{"type":"text","text":"a"}])",
                                 R"({"model_provider":"openai","output_version":"v1"})"))
        .at("input")
        .as_array();
  };
  BOOST_TEST(input_of(R"({"type":"reasoning","reasoning":"t"})").size() == 2U);
  BOOST_TEST(input_of(R"({"type":"reasoning","reasoning":"t","id":"r"})").size() == 3U);
}

BOOST_AUTO_TEST_CASE(refusal_of_responses_is_sent_to_all_providers) {
  const auto refusal = json::value{{"type", "refusal"}, {"refusal", "no"}};
  const auto answer =
      answer_in_blocks(R"([{"type":"refusal","refusal":"no","id":"m","index":0}])", "{}");
  BOOST_TEST(content_sent(provider_api::openai_chat, answer).at(0) == refusal);
  BOOST_TEST(content_sent(provider_api::anthropic, answer).at(0).at("text") == "no");
  BOOST_TEST(content_sent(provider_api::ollama, answer) == "\nno");
}

BOOST_AUTO_TEST_CASE(call_also_contained_in_content_is_sent_once) {
  auto m = answer_in_blocks(R"([{"type":"tool_use","id":"a","name":"f","input":{}}])");
  m.tool_calls.push_back({"a", "f", {}});
  BOOST_TEST(content_sent(provider_api::anthropic, m).as_array().size() == 1U);
  m.blocks = parse_json(R"([{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}])")
                 .value()
                 .as_array();
  BOOST_TEST(sent(provider_api::openai_responses, m).at("input").as_array().size() == 2U);
}

BOOST_AUTO_TEST_CASE(plain_text_document_without_text_is_rejected) {
  for (const auto* block : {R"({"type":"text-plain","url":"https://e.org/x.txt"})",
                            R"({"type":"text-plain","base64":"ZG9j","mime_type":"text/plain"})",
                            R"({"type":"text-plain","file_id":"f"})"}) {
    auto m = message{};
    m.blocks = json::array{parse_json(block).value()};
    BOOST_TEST(is_refused(provider_api::anthropic, m), block);
  }
}

BOOST_AUTO_TEST_CASE(openai_file_becomes_an_anthropic_document) {
  const auto sent_file = [](std::string_view file) {
    auto m = message{};
    m.blocks = json::array{json::object{{"type", "file"}, {"file", parse_json(file).value()}}};
    return content_sent(provider_api::anthropic, m).at(0);
  };
  const auto whole = sent_file(R"({"file_data":"data:application/pdf;base64,JVBE"})");
  BOOST_TEST(whole.at("type").as_string() == "document");
  BOOST_TEST(whole.at("source").at("media_type").as_string() == "application/pdf");
  BOOST_TEST(whole.at("source").at("data").as_string() == "JVBE");
  BOOST_TEST(sent_file(R"({"file_id":"f"})").at("source").at("file_id").as_string() == "f");
}

BOOST_AUTO_TEST_CASE(openai_audio_is_rejected_for_anthropic) {
  auto m = message{};
  m.blocks = parse_json(R"([{"type":"input_audio","input_audio":{"data":"UklG","format":"wav"}}])")
                 .value()
                 .as_array();
  BOOST_TEST(is_refused(provider_api::anthropic, m));
}

BOOST_AUTO_TEST_CASE(answer_audio_is_sent_by_id_if_known) {
  const auto with_id = sent(
      provider_api::openai_chat,
      answer_in_blocks(R"([{"type":"audio","id":"a","base64":"UklG","mime_type":"audio/wav"}])"));
  BOOST_TEST(with_id.at("messages").at(0).at("audio").at("id").as_string() == "a");
  BOOST_TEST(with_id.at("messages").at(0).at("content").as_string() == "");
  const auto without = content_sent(
      provider_api::openai_chat,
      answer_in_blocks(R"([{"type":"audio","base64":"UklG","mime_type":"audio/wav"}])"));
  BOOST_TEST(without.at(0).at("input_audio").at("format").as_string() == "wav");
}

BOOST_AUTO_TEST_CASE(audio_without_data_or_mime_type_is_rejected) {
  for (const auto* block : {R"([{"type":"audio","url":"https://e.org/a.wav"}])",
                            R"([{"type":"audio","base64":"UklG"}])"})
    BOOST_TEST(is_refused(provider_api::openai_chat, answer_in_blocks(block)), block);
}

BOOST_AUTO_TEST_CASE(tool_result_text_is_sent_without_extra_members) {
  const auto m = message_of(R"({"type":"tool","tool_call_id":"c","content":[{"type":"text",)"
                            R"("text":"r","id":"i","cache_control":{"type":"ephemeral"}}]})");
  const auto part = content_sent(provider_api::openai_chat, m).at(0).as_object();
  BOOST_TEST(part.size() == 2U);
  BOOST_TEST(part.at("text").as_string() == "r");
}

BOOST_AUTO_TEST_CASE(unsupported_tool_result_block_is_sent_as_text) {
  const auto output = [](std::string_view blocks) {
    auto m = message{};
    m.type = message_type::tool;
    m.tool_call_id = "c";
    m.blocks = parse_json(blocks).value().as_array();
    return sent(provider_api::openai_responses, m).at("input").at(0).at("output");
  };
  BOOST_TEST(output(R"([{"type":"json","x":[1,2]}])").as_string() ==
             R"([{"type": "json", "x": [1, 2]}])");
  BOOST_TEST(output(R"([{"type":"redacted_thinking","data":"z"}])").is_string());
  BOOST_TEST(output(R"([{"type":"text","text":"r"}])").at(0).at("type").as_string() ==
             "input_text");
}

BOOST_AUTO_TEST_CASE(empty_system_message_is_not_sent) {
  auto m = system_message("");
  for (const auto* blocks : {"[]", R"([{"type":"text","text":" "}])"}) {
    m.blocks = parse_json(blocks).value().as_array();
    BOOST_TEST(!sent(provider_api::anthropic, m).as_object().contains("system"), blocks);
  }
}

BOOST_AUTO_TEST_CASE(image_in_anthropic_system_message_is_rejected) {
  auto m = system_message("");
  m.blocks = parse_json(R"([{"type":"image","url":"https://e.org/a.png"}])").value().as_array();
  BOOST_TEST(is_refused(provider_api::anthropic, m));
}

BOOST_AUTO_TEST_CASE(string_input_of_tool_call_is_sent_unparsed) {
  const auto m =
      answer_in_blocks(R"([{"type":"tool_use","id":"a","name":"f","input":"{\"x\":1}"}])");
  BOOST_TEST(content_sent(provider_api::anthropic, m).at(0).at("input").as_string() ==
             R"({"x":1})");
}

BOOST_AUTO_TEST_CASE(v1_call_blocks_are_sent_as_tool_use) {
  const auto content = content_sent(
      provider_api::anthropic,
      answer_in_blocks(R"([{"type":"tool_call_chunk","id":"a","name":"f","args":"{\"x\":1}"},)"
                       R"({"type":"invalid_tool_call","id":"b","name":"f","args":"{"}])",
                       standard));
  BOOST_REQUIRE(content.as_array().size() == 2U);
  BOOST_TEST(content.at(1).at("id").as_string() == "b");
  BOOST_TEST(content.at(1).at("input").as_object().empty());
  BOOST_TEST(content.at(0).at("type").as_string() == "tool_use");
  BOOST_TEST(content.at(0).at("input").at("x").as_int64() == 1);
}

BOOST_AUTO_TEST_CASE(nonstandard_citation_is_sent_only_to_its_provider) {
  const auto blocks = std::string_view{
      R"([{"type":"text","text":"t","annotations":[{"type":"non_standard_annotation","value":{"a":1}}]}])"};
  const auto own = content_sent(provider_api::anthropic, answer_in_blocks(blocks, standard));
  BOOST_TEST(own.at(0).at("citations").at(0).at("a").as_int64() == 1);
  const auto other = content_sent(
      provider_api::anthropic,
      answer_in_blocks(blocks, R"({"output_version":"v1","model_provider":"openai"})"));
  BOOST_TEST(!other.at(0).as_object().contains("citations"));
}

BOOST_AUTO_TEST_CASE(invalid_calls_are_omitted_from_openai_content) {
  const auto m = answer_in_blocks(
      R"([{"type":"text","text":"t"},{"type":"invalid_tool_call","id":"b","name":"f","args":"{"}])");
  BOOST_TEST(content_sent(provider_api::openai_chat, m).as_array().size() == 1U);
}

BOOST_AUTO_TEST_CASE(unnamed_file_gets_default_name_for_openai) {
  for (const auto api : openai_apis) {
    auto m = message{};
    m.blocks =
        parse_json(R"([{"type":"file","file":{"file_data":"data:application/pdf;base64,JVBE"}}])")
            .value()
            .as_array();
    const auto body = to_text(sent(api, m));
    BOOST_TEST(body.find(R"("filename":"LC_AUTOGENERATED")") != std::string::npos, body);
  }
}

BOOST_AUTO_TEST_CASE(openai_responses_input_omits_images_and_incomplete_calls) {
  const auto items = [](message m) {
    auto input = sent(provider_api::openai_responses, std::move(m)).at("input").as_array();
    input.pop_back(); // removes the request
    return input;
  };
  const auto search = items(answer_in_blocks(R"([{"type":"tool_search_call","id":"ts"}])"));
  BOOST_REQUIRE(search.size() == 1U);
  BOOST_TEST(search.at(0).at("id").as_string() == "ts");
  BOOST_TEST(items(answer_in_blocks(R"([{"type":"image","file_id":"f"}])")).empty());
  auto call = message{};
  call.type = message_type::ai;
  call.additional_kwargs["function_call"] = json::object{{"name", "f"}};
  BOOST_TEST(items(call).empty());
}

BOOST_AUTO_TEST_CASE(file_index_of_citation_is_sent_as_index) {
  const auto m = answer_in_blocks(
      R"([{"type":"text","text":"t","annotations":[{"type":"file_citation","file_index":3}]}])");
  const auto item = sent(provider_api::openai_responses, m).at("input").at(0);
  const auto cited = item.at("content").at(0).at("annotations").at(0).as_object();
  BOOST_TEST(cited.at("index").as_int64() == 3);
  BOOST_TEST(!cited.contains("file_index"));
}

BOOST_AUTO_TEST_CASE(bound_parameters_are_sent_under_provider_names) {
  auto q = provider_question{};
  q.model = "m";
  q.binding =
      parse_json(R"({"stop":["Z"],"max_tokens":5,"tool_choice":"auto"})").value().as_object();
  const auto anthropic = anthropic::make_request(q)->body;
  BOOST_TEST(anthropic.at("stop_sequences").at(0).as_string() == "Z");
  BOOST_TEST(!anthropic.contains("stop"));
  const auto ollama = ollama::make_request(q)->body;
  BOOST_TEST(ollama.at("options").at("stop").at(0).as_string() == "Z");
  BOOST_TEST(!ollama.contains("tool_choice"));
  BOOST_TEST(openai_chat::make_request(q)->body.at("max_completion_tokens").as_int64() == 5);
  const auto responses = openai_responses::make_request(q)->body;
  BOOST_TEST(responses.at("max_output_tokens").as_int64() == 5);
  BOOST_TEST(!responses.contains("stop"));
}

BOOST_AUTO_TEST_CASE(openai_responses_request_puts_answer_format_under_text) {
  auto q = provider_question{};
  q.parameters =
      parse_json(R"({"verbosity":"low","response_format":{"type":"json_schema",)"
                 R"("json_schema":{"name":"n","schema":{"type":"object"}}},"text":{"extra":1}})")
          .value()
          .as_object();
  const auto body = openai_responses::make_request(q)->body;
  BOOST_TEST(!body.contains("response_format"));
  const auto text = body.at("text");
  BOOST_TEST(text.at("verbosity").as_string() == "low");
  BOOST_TEST(text.at("extra").as_int64() == 1);
  BOOST_TEST(text.at("format").at("type").as_string() == "json_schema");
  BOOST_TEST(text.at("format").at("name").as_string() == "n");
}

BOOST_AUTO_TEST_CASE(openai_and_anthropic_tools_are_converted_for_ollama) {
  auto q = provider_question{};
  q.tools = parse_json(R"([{"name":"f","parameters":{"type":"object"}},)"
                       R"({"name":"g","input_schema":{"type":"object"}}])")
                .value()
                .as_array();
  const auto tools = ollama::make_request(q)->body.at("tools");
  BOOST_TEST(tools.at(0).at("function").at("name").as_string() == "f");
  BOOST_TEST(tools.at(1).at("function").at("parameters").at("type").as_string() == "object");
}

BOOST_AUTO_TEST_CASE(ollama_receives_v1_blocks_as_one_text) {
  const auto m = answer_in_blocks(R"([{"type":"file","file_id":"f"},{"type":"text","text":"t"},)"
                                  R"({"type":"non_standard","value":{"a":1}}])",
                                  standard);
  BOOST_TEST(content_sent(provider_api::ollama, m).as_string() == "\nt\n{'a': 1}");
}

BOOST_AUTO_TEST_SUITE_END()
