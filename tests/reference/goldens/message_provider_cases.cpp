// SPDX-License-Identifier: Apache-2.0
// Recorded cases of providers' requests, answers and streams.
#include "message_form.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_responses.hpp"

#include <superstep/messages/message_json.hpp>

#include <utility>

namespace superstep::conformance {

namespace {

bool is_set(const json::object& input, std::string_view key) {
  const auto* value = input.if_contains(key);
  return value != nullptr && *value == true;
}

provider_question question_in(const json::object& input) {
  const auto object_in = [&](std::string_view key) {
    const auto* value = input.if_contains(key);
    return value && value->is_object() ? value->get_object() : json::object{};
  };
  auto q = provider_question{};
  q.model = std::string{input.at("model").as_string()};
  q.messages = messages_in(input);
  if (const auto* tools = input.if_contains("tools"); tools && tools->is_array())
    q.tools = tools->get_array();
  q.binding = object_in("bind");
  q.parameters = object_in("params");
  if (const auto* tokens = input.if_contains("max_tokens"))
    q.parameters.emplace("max_tokens", *tokens);
  return q;
}

using request_function = result<provider_request> (*)(provider_question);
using response_function = result<message> (*)(const json::object&);
using event_function = std::function<chunk_result(const json::object& event)>;

case_function payload_case(request_function make) {
  return [make](const json::object& input) -> json::value {
    auto request = value_of(make(question_in(input)));
    return {{"path", request.path}, {"body", std::move(request.body)}};
  };
}

/// LangChain rejects an OpenAI answer whose arguments are JSON but not an object. Here such a call
/// is invalid, and the model is called again.
result<message> as_recorded(result<message> answer) {
  if (answer)
    for (const auto& call : answer->invalid_tool_calls)
      if (const auto args = parse_json(call.args); args && !args->is_object())
        return error{errc::parse_failed, call.error};
  return answer;
}

json::value answer_of(const message& m, std::string_view key) {
  auto out = json::object{};
  out[key] = form_of(m);
  out["content_blocks"] = form_of_blocks(value_of(content_blocks(m)));
  return out;
}

case_function response_case(response_function read) {
  return [read](const json::object& input) {
    return answer_of(value_of(read(input.at("response").as_object())), "message");
  };
}

std::vector<message_chunk> chunks_of(const json::object& input, const event_function& read) {
  auto chunks = std::vector<message_chunk>{};
  for (const auto& event : input.at("events").as_array())
    if (auto chunk = value_of(read(event.as_object())))
      chunks.push_back(*std::move(chunk));
  // Mark the last chunk of the stream, unless the provider's reader has already done so.
  if (!chunks.empty() && !chunks.back().is_last) {
    auto last = message_chunk{};
    last.part.type = message_type::ai;
    last.is_last = true;
    chunks.push_back(std::move(last));
  }
  return chunks;
}

message sum_of(const std::vector<message_chunk>& chunks) {
  auto sum = chunks.at(0);
  for (auto i = std::size_t{1}; i < chunks.size(); ++i)
    append(sum, chunks[i]).value();
  return to_message(std::move(sum));
}

json::value stream_case(const json::object& input, const event_function& read) {
  auto chunks = chunks_of(input, read);
  auto out = answer_of(sum_of(chunks), "merged");
  auto& forms = out.as_object()["chunks"].emplace_array();
  for (auto& chunk : chunks) {
    read_calls(chunk);
    forms.push_back(form_of(chunk));
  }
  return out;
}

json::value openai_stream_case(const json::object& input) {
  return stream_case(input, openai_chat::read_event);
}

json::value openai_responses_stream_case(const json::object& input) {
  auto reader = openai_responses::event_reader{};
  return stream_case(input, [&](const json::object& event) { return reader.read(event); });
}

json::value anthropic_stream_case(const json::object& input) {
  const auto text_only = !is_set(input, "request_has_tools") &&
                         !is_set(input, "request_has_thinking") &&
                         !is_set(input, "request_has_documents");
  auto reader = anthropic::event_reader{text_only};
  // LangChain reads the token counts of the last event only and loses those of the first one.
  return stream_case(input, [&](json::object event) {
    if (auto* begun = event.if_contains("message"); begun && begun->is_object())
      begun->get_object().erase("usage");
    return reader.read(event);
  });
}

json::value ollama_stream_case(const json::object& input) {
  auto reader = ollama::line_reader{is_set(input, "reasoning")};
  return stream_case(input, [&](const json::object& line) { return reader.read(line); });
}

json::value ollama_response_case(const json::object& input) {
  auto reader = ollama::line_reader{is_set(input, "reasoning")};
  const auto chunks = chunks_of(input, [&](const json::object& line) { return reader.read(line); });
  return answer_of(sum_of(chunks), "message");
}

} // namespace

void add_message_provider_cases(case_table& table) {
  table["msg.openai_payload"] = payload_case(openai_chat::make_request);
  table["msg.openai_response"] = response_case(
      [](const json::object& answer) { return as_recorded(openai_chat::read_response(answer)); });
  table["msg.openai_stream"] = openai_stream_case;
  table["msg.openai_responses_payload"] = payload_case(openai_responses::make_request);
  table["msg.openai_responses_response"] = response_case([](const json::object& answer) {
    return as_recorded(openai_responses::read_response(answer));
  });
  table["msg.openai_responses_stream"] = openai_responses_stream_case;
  table["msg.anthropic_payload"] = payload_case(anthropic::make_request);
  table["msg.anthropic_response"] = response_case(anthropic::read_response);
  table["msg.anthropic_stream"] = anthropic_stream_case;
  table["msg.ollama_payload"] = payload_case(ollama::make_request);
  table["msg.ollama_response"] = ollama_response_case;
  table["msg.ollama_stream"] = ollama_stream_case;
}

} // namespace superstep::conformance
