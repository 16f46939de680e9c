// SPDX-License-Identifier: Apache-2.0
#include "models/answer_reader.hpp"

#include <superstep/messages/openai_json.hpp>
#include <superstep/models/model_error.hpp>

#include <simdjson.h>

#include <utility>

namespace superstep::models {

namespace {

constexpr auto excerpt_size = std::size_t{200};

error bad_answer(std::string what, std::string_view body) {
  return {model_errc::bad_answer,
          what + "; the answer begins: " + std::string{body.substr(0, excerpt_size)}};
}

std::int64_t number_at(const json::object& in, std::string_view name) {
  const auto* value = in.if_contains(name);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

const json::object* object_at(const json::object& in, std::string_view name) {
  const auto* value = in.if_contains(name);
  return value != nullptr ? value->if_object() : nullptr;
}

std::string_view text_at(const json::object& in, std::string_view name) {
  const auto* value = in.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view{value->get_string()}
                                                : std::string_view{};
}

token_usage read_usage(const json::object& in) {
  auto out = token_usage{};
  out.input_tokens = number_at(in, "prompt_tokens");
  out.output_tokens = number_at(in, "completion_tokens");
  out.total_tokens = number_at(in, "total_tokens");
  if (out.total_tokens == 0)
    out.total_tokens = out.input_tokens + out.output_tokens;
  if (const auto* details = object_at(in, "prompt_tokens_details"))
    if (details->contains("cached_tokens"))
      out.input_details["cache_read"] = number_at(*details, "cached_tokens");
  if (const auto* details = object_at(in, "completion_tokens_details"))
    if (details->contains("reasoning_tokens"))
      out.output_details["reasoning"] = number_at(*details, "reasoning_tokens");
  return out;
}

/// The last steps of both kinds of answer.
result<message> make_message(const json::object& said, const json::value* usage,
                             std::string_view finish_reason, std::string_view model,
                             std::string_view body) {
  const auto* content = said.if_contains("content");
  const auto* calls = said.if_contains("tool_calls");
  const auto has_calls = calls != nullptr && calls->is_array() && !calls->get_array().empty();
  if ((content == nullptr || content->is_null()) && !has_calls && text_at(said, "refusal").empty())
    return bad_answer("the message has neither text nor tool calls", body);
  auto out = from_openai(said);
  if (!out)
    return bad_answer(out.error().text, body);
  if (usage != nullptr && usage->is_object())
    out->usage = read_usage(usage->get_object());
  if (!finish_reason.empty())
    out->response_metadata["finish_reason"] = finish_reason;
  if (!model.empty())
    out->response_metadata["model_name"] = model;
  return out;
}

} // namespace

server_fault read_fault(std::string_view body) {
  auto out = server_fault{{}, std::string{body.substr(0, 500)}};
  const auto parsed = parse_json(body);
  const auto* object = parsed ? parsed->if_object() : nullptr;
  const auto* fault = object != nullptr ? object_at(*object, "error") : nullptr;
  if (fault == nullptr)
    return out;
  out.code = text_at(*fault, "code");
  if (out.code.empty())
    out.code = text_at(*fault, "type");
  if (const auto text = text_at(*fault, "message"); !text.empty())
    out.text = text.substr(0, 500);
  return out;
}

result<message> read_answer(std::string_view body) {
  const auto parsed = parse_json(body);
  if (!parsed)
    return bad_answer("the answer is no JSON", body);
  const auto* answer = parsed->if_object();
  if (answer == nullptr)
    return bad_answer("the answer is no JSON object", body);
  const auto* choices = answer->if_contains("choices");
  if (choices == nullptr || !choices->is_array() || choices->get_array().empty())
    return bad_answer("the answer has no choices", body);
  const auto* choice = choices->get_array().front().if_object();
  const auto* said = choice != nullptr ? object_at(*choice, "message") : nullptr;
  if (said == nullptr)
    return bad_answer("the first choice has no message", body);
  return make_message(*said, answer->if_contains("usage"), text_at(*choice, "finish_reason"),
                      text_at(*answer, "model"), body);
}

struct answer_builder::parser {
  simdjson::dom::parser json;
};

answer_builder::answer_builder(std::size_t calls_max)
    : parser_{std::make_unique<parser>()}, calls_max_{calls_max} {}
answer_builder::~answer_builder() = default;

result<void> answer_builder::add(std::string_view data) {
  if (data == "[DONE]") {
    is_done_ = true;
    return {};
  }
  using simdjson::dom::element;
  auto chunk = element{};
  if (parser_->json.parse(data.data(), data.size()).get(chunk) != simdjson::SUCCESS)
    return bad_answer("an event of the stream is no JSON", data);
  auto found = element{};
  if (chunk["error"].get(found) == simdjson::SUCCESS && !found.is_null())
    return error{model_errc::server_error, "the stream broke off: " + read_fault(data).text};
  const auto append = [](std::string& to, const simdjson::simdjson_result<element>& from) {
    auto text = std::string_view{};
    if (from.get(text) != simdjson::SUCCESS)
      return false;
    to += text;
    return true;
  };
  if (model_.empty())
    append(model_, chunk["model"]);
  if (chunk["usage"].get(found) == simdjson::SUCCESS && found.is_object())
    if (auto usage = parse_json(simdjson::to_string(found)))
      usage_ = std::move(*usage);
  auto choice = element{};
  if (chunk["choices"].at(0).get(choice) != simdjson::SUCCESS)
    return {}; // the chunk that carries the usage has no choice
  append(finish_reason_, choice["finish_reason"]);
  const auto delta = choice["delta"];
  has_content_ = append(content_, delta["content"]) || has_content_;
  append(refusal_, delta["refusal"]);
  auto calls = simdjson::dom::array{};
  if (delta["tool_calls"].get(calls) != simdjson::SUCCESS)
    return {};
  for (const auto part : calls) {
    auto index = std::uint64_t{0};
    auto id = std::string_view{};
    // Servers that leave the index out send every call in one piece.
    if (part["index"].get(index) != simdjson::SUCCESS)
      index = calls_.size();
    if (index >= calls_max_ || index > calls_.size())
      return bad_answer("a tool call in the stream has an impossible index", data);
    if (index == calls_.size())
      calls_.emplace_back();
    auto& into = calls_[index];
    if (part["id"].get(id) == simdjson::SUCCESS && into.id.empty())
      into.id = id;
    append(into.name, part["function"]["name"]);
    append(into.arguments, part["function"]["arguments"]);
  }
  return {};
}

bool answer_builder::is_whole() const noexcept {
  return is_done_ || !finish_reason_.empty();
}

result<message> answer_builder::finish() {
  auto said = json::object{};
  said["role"] = "assistant";
  if (has_content_)
    said["content"] = content_;
  if (!refusal_.empty())
    said["refusal"] = refusal_;
  auto calls = json::array{};
  for (auto& part : calls_) {
    auto function = json::object{};
    function["name"] = std::move(part.name);
    function["arguments"] = std::move(part.arguments);
    auto whole = json::object{};
    whole["id"] = std::move(part.id);
    whole["type"] = "function";
    whole["function"] = std::move(function);
    calls.push_back(std::move(whole));
  }
  if (!calls.empty())
    said["tool_calls"] = std::move(calls);
  return make_message(said, &usage_, finish_reason_, model_, content_);
}

} // namespace superstep::models
