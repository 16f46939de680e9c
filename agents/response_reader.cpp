// SPDX-License-Identifier: Apache-2.0
// Requests structured responses and reads them from the answers of a model. An invalid answer is
// sent back to the model with the error; neither becomes part of the state of the run.
#include "base/fenced_text.hpp"
#include "base/utf8.hpp"
#include "models/providers/answer_end.hpp"
#include "models/strict_schema.hpp"

#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/detail/response_reader.hpp>
#include <superstep/models/structured_model.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace superstep::react {

namespace {

/// Maximum number of bytes of an answer that an error text shows.
constexpr auto excerpt_size = std::size_t{200};

/// Text before the schema in the system message of a JSON-mode request. The provider does not pass
/// the schema to the model, and OpenAI rejects a JSON-mode request that does not mention JSON.
constexpr auto json_instruction =
    "Answer with one JSON object that matches this JSON Schema, and with nothing else:\n";

argument_schema compiled(const response_format& format) {
  auto checks = argument_schema::compile(format.schema);
  if (!checks)
    refuse_options("agent_options::response: " + checks.error().text);
  return *std::move(checks);
}

/// Returns the name of a schema with the characters and the length that OpenAI's APIs accept.
std::string valid_name(std::string_view name) {
  constexpr auto size_max = std::size_t{64};
  auto out = std::string{name.substr(0, size_max)};
  for (auto& c : out)
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-')
      c = '_';
  return out;
}

answer_schema schema_of(const response_format& format) {
  auto out = answer_schema{};
  if (const auto* title = format.schema.if_contains("title");
      title && title->is_string() && !title->get_string().empty())
    out.name = valid_name(title->get_string());
  if (const auto* text = format.schema.if_contains("description"); text && text->is_string())
    out.description = text->get_string();
  out.schema = format.schema;
  out.is_strict = format.strict != strict_mode::off;
  if (format.method == structured_method::json_object)
    out.mode = answer_mode::json_object;
  return out;
}

error invalid(std::string text) {
  return {model_errc::invalid_response, std::move(text)};
}

/// Notifies the caller's observer of an invalid answer.
void report_rejected(const agent_context& asked, std::uint32_t turn, const std::string& answer,
                     const std::string& why) {
  const auto number = std::to_string(turn);
  auto event = call_event{"model_rejected", number};
  event.answer = answer;
  event.error = why;
  asked.observe(event);
}

} // namespace

invalid_response::invalid_response(const error& why, std::string text)
    : model_error{why}, text_{std::make_shared<const std::string>(std::move(text))} {}

response_reader::response_reader(response_format format, bool is_separate, bool continues_invalid)
    : format_{std::move(format)}, is_separate_{is_separate}, continues_invalid_{continues_invalid},
      checks_{compiled(format_)} {
  auto schema = schema_of(format_);
  auto strict = strict_form(schema);
  if (!strict && format_.strict == strict_mode::on)
    refuse_options("agent_options::response: the schema cannot be strict: " +
                   to_strict_schema(format_.schema).error().text);
  if (format_.method == structured_method::tool_call) {
    is_tool_strict_ = strict.has_value();
    auto tool = tool_definition{schema.name, schema.description, schema.schema};
    if (strict)
      tool.parameters = *std::move(strict);
    tool_ = std::make_shared<const std::vector<tool_definition>>(1, std::move(tool));
  }
  schema_ = std::make_shared<const answer_schema>(std::move(schema));
}

void response_reader::prepare(model_call& call) const {
  if (tool_) {
    call.tools = tool_;
    call.parameters["tool_choice"] = schema_->name;
    call.parameters["parallel_tool_calls"] = false;
    if (is_tool_strict_)
      call.parameters["strict"] = true;
    return;
  }
  call.format = schema_;
  if (!format_.prompt.empty() || schema_->mode != answer_mode::json_object)
    return;
  auto text = call.system ? text_of(*call.system) + "\n\n" : std::string{};
  text += json_instruction + to_text(schema_->schema);
  call.system = std::make_shared<const message>(system_message(std::move(text)));
}

bool response_reader::is_response(const message& answer) const noexcept {
  return tool_ || is_separate_ ||
         (answer.tool_calls.empty() && (answer.invalid_tool_calls.empty() || !continues_invalid_));
}

result<json::value> response_reader::parse(const message& answer) const {
  if (auto why = providers::why_refused(answer); !why.empty())
    return invalid(std::move(why));
  if (auto why = providers::why_cut(answer.response_metadata); !why.empty())
    return invalid(std::move(why));
  if (!tool_) {
    const auto text = text_of(answer);
    auto parsed = parse_json(without_fence(text));
    if (!parsed || !parsed->is_object())
      return invalid(text.empty() ? (answer.tool_calls.empty() ? "the answer is empty"
                                                               : "the answer calls a tool")
                                  : fmt::format("the answer is not {}; it begins: {}",
                                                parsed ? "a JSON object" : "valid JSON",
                                                utf8_prefix(text, excerpt_size)));
    return *std::move(parsed);
  }
  for (const auto& call : answer.tool_calls)
    if (call.name == schema_->name)
      return json::value(call.args);
  if (!answer.invalid_tool_calls.empty())
    return invalid(fmt::format("the arguments of the call are not valid: {}",
                               utf8_prefix(answer.invalid_tool_calls.front().error, excerpt_size)));
  return invalid("the model did not call " + schema_->name);
}

result<json::value> response_reader::read(message& answer) const {
  auto parsed = parse(answer);
  if (!parsed)
    return parsed;
  remove_absent(*parsed, format_.schema);
  if (const auto faults = checks_.check(parsed->get_object()); !faults.empty()) {
    auto text = std::string{"the answer does not match the schema: "};
    for (const auto& fault : faults)
      text += fmt::format("{}{}{}{}", &fault == &faults.front() ? "" : "; ", fault.path,
                          fault.path.empty() ? "" : ": ", fault.text);
    return invalid(std::move(text));
  }
  if (tool_) {
    answer.tool_calls.clear();
    answer.invalid_tool_calls.clear();
    answer.additional_kwargs.erase("tool_calls");
    answer.blocks = {};
    answer.content = to_text(*parsed);
  }
  return parsed;
}

std::string response_reader::text_of_answer(const message& answer) const {
  if (tool_ && !answer.tool_calls.empty())
    return to_text(answer.tool_calls.front().args);
  if (tool_ && !answer.invalid_tool_calls.empty())
    return answer.invalid_tool_calls.front().args;
  auto text = text_of(answer);
  return text.empty() ? providers::refusal_of(answer) : text;
}

void response_reader::add_fault(model_call& call, const message& answer, const error& why) const {
  const auto was_cut = providers::why_refused(answer).empty() &&
                       !providers::why_cut(answer.response_metadata).empty();
  auto text = text_of_answer(answer);
  // The incomplete text of an answer that was cut can be very long and has no use.
  if (!text.empty() && !was_cut)
    call.messages.push_back(ai_message(std::move(text)));
  call.messages.push_back(
      human_message(fmt::format("Your answer cannot be used: {}. Answer again{} with one JSON "
                                "object that matches the schema, "
                                "and with nothing else.",
                                why.text, was_cut ? ", shorter," : "")));
  ++call.turn;
}

task<response_answer> ask_for_response(response_reader_ptr reader, model_call call, model_ask ask,
                                       std::shared_ptr<const agent_context> asked) {
  auto out = response_answer{};
  for (;;) {
    auto asking = ask(call);
    try {
      out.answer = co_await asking;
    } catch (const model_error& why) {
      if (out.answers == 0)
        throw;
      auto failed = why;
      failed.set_answers(std::move(out.usage), out.answers);
      throw failed; // NOLINT(misc-throw-by-value-catch-by-reference): has its answers
    }
    ++out.answers;
    if (out.answer.usage)
      add_token_usage{}(out.usage, token_usage{*out.answer.usage});
    if (!reader->is_response(out.answer))
      co_return out;
    auto read = reader->read(out.answer);
    if (read) {
      out.value = *std::move(read);
      out.has_value = true;
      co_return out;
    }
    if (asked && asked->observe)
      report_rejected(*asked, call.turn, reader->text_of_answer(out.answer), read.error().text);
    if (out.answers > reader->retries()) {
      auto text =
          fmt::format("the model's structured response: {}{}", read.error().text,
                      out.answers > 1 ? fmt::format(" (after {} answers)", out.answers) : "");
      auto failed = invalid_response{error{read.error().code, std::move(text)},
                                     reader->text_of_answer(out.answer)};
      failed.set_answers(std::move(out.usage), out.answers);
      throw failed; // NOLINT(misc-throw-by-value-catch-by-reference): has its answers
    }
    reader->add_fault(call, out.answer, read.error());
  }
}

} // namespace superstep::react
