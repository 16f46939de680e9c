// SPDX-License-Identifier: Apache-2.0
// Writes the lines of out.jsonl and out.dead.jsonl in the formats of docs/batch-files.md.
#include "output_line.hpp"

#include "json_text.hpp"
#include "written_line.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <utility>

namespace superstep::detail {
namespace {

std::string_view name_of(row_status status) noexcept {
  switch (status) {
  case row_status::ok:
    return "ok";
  case row_status::error:
    return "error";
  case row_status::cancelled:
    break;
  }
  return "cancelled";
}

void append_text_member(std::string& out, std::string_view name, std::string_view text) {
  append_member(out, name);
  append_quoted(out, text);
}

template <std::integral Number>
void append_number_member(std::string& out, std::string_view name, Number number) {
  append_member(out, name);
  append_number(out, number);
}

/// Appends a duration in milliseconds, with three decimal places unless it is whole.
void append_milliseconds_member(std::string& out, std::string_view name,
                                std::chrono::nanoseconds duration) {
  constexpr auto per_ms = std::int64_t{1'000};
  const auto micros = duration / std::chrono::microseconds{1};
  append_number_member(out, name, micros / per_ms);
  if (micros % per_ms != 0)
    out += '.' + std::to_string(per_ms + micros % per_ms).substr(1);
}

std::string_view code_of(const row_error& why) noexcept {
  return why.code.empty() ? why.kind : why.code;
}

/// @param column the JSON text of the column `error` of the row; empty if it has none
void append_error(std::string& out, const row_error& why, std::uint64_t line = 0,
                  std::string_view key = {}, std::string_view column = {}) {
  out += '{';
  append_text_member(out, "kind", why.kind);
  append_text_member(out, "code", code_of(why));
  append_text_member(out, "message", why.message);
  if (why.http_status != 0)
    append_number_member(out, "http_status", why.http_status);
  if (!why.node.empty())
    append_text_member(out, "node", why.node);
  if (why.step != 0)
    append_number_member(out, "step", why.step);
  if (why.attempts != 0)
    append_number_member(out, "attempts", why.attempts);
  if (!why.answer.empty())
    append_text_member(out, "answer", why.answer);
  if (line != 0)
    append_number_member(out, "line", line);
  if (!key.empty())
    append_text_member(out, "id", key);
  if (!column.empty()) {
    append_member(out, "column");
    out += column;
  }
  out += '}';
}

/// Appends the columns of the input line that only the user needs.
void append_columns(std::string& out, const row_origin& row) {
  if (row.columns.empty())
    return;
  append_member(out, "columns");
  out += row.columns;
}

void append_state(std::string& out, const row_outcome& outcome) {
  out += "{\"messages\":[";
  auto is_first = true;
  for (const auto& said : outcome.messages) {
    if (!is_first)
      out += ',';
    is_first = false;
    append_json(out, said);
  }
  out += ']';
  for (const auto& [name, value] : outcome.state) {
    out += ',';
    append_quoted(out, name);
    out += ':';
    append_text(out, value);
  }
  out += '}';
}

/// Appends the number of answers from the answer cache, if there are any.
void append_cached(std::string& out, const token_usage& usage) {
  if (const auto count = cached_answers(usage); count > 0)
    append_number_member(out, "cached", count);
}

void append_native(std::string& out, const row_origin& row, const row_outcome& outcome,
                   std::chrono::nanoseconds wall, const job_identity& job) {
  out += '{';
  append_text_member(out, row.key_name, row.key);
  append_text_member(out, "status", name_of(outcome.status));
  append_member(out, "output");
  append_state(out, outcome);
  append_columns(out, row);
  append_member(out, "error");
  if (outcome.error)
    append_error(out, *outcome.error);
  else
    out += "null";
  append_member(out, "usage");
  out += '{';
  append_number_member(out, "input_tokens", outcome.usage.input_tokens);
  append_number_member(out, "output_tokens", outcome.usage.output_tokens);
  append_number_member(out, "total_tokens", outcome.usage.total_tokens);
  append_cached(out, outcome.usage);
  out += '}';
  append_member(out, "cost");
  if (outcome.cost)
    append_usd(out, *outcome.cost);
  else
    out += "null";
  append_number_member(out, "steps", outcome.steps);
  append_number_member(out, "model_calls", outcome.model_calls);
  append_number_member(out, "tool_calls", outcome.tool_calls);
  append_milliseconds_member(out, "wall_ms", wall);
  append_milliseconds_member(out, "barrier_wait_ms", outcome.barrier_wait);
  append_number_member(out, "attempt", row.attempt);
  append_text_member(out, "job_id", job.job_id);
  out += "}\n";
}

/// Returns the last AI message; null if there is none.
const message* last_answer(const message_list& messages) {
  for (auto i = messages.size(); i-- > 0;)
    if (messages[i].type == message_type::ai)
      return &messages[i];
  return nullptr;
}

void append_chat_calls(std::string& out, const std::vector<tool_call>& calls) {
  out += '[';
  for (const auto& call : calls) {
    if (&call != calls.data())
      out += ',';
    out += '{';
    append_text_member(out, "id", call.id);
    append_text_member(out, "type", "function");
    append_member(out, "function");
    out += '{';
    append_text_member(out, "name", call.name);
    append_text_member(out, "arguments", to_text(call.args));
    out += "}}";
  }
  out += ']';
}

std::string_view finish_reason(const message& answer) noexcept {
  if (const auto* said = answer.response_metadata.if_contains("finish_reason"))
    if (const auto* text = said->if_string())
      return {text->data(), text->size()};
  return answer.tool_calls.empty() ? "stop" : "tool_calls";
}

void append_choice(std::string& out, const message& answer) {
  out += "{\"index\":0,\"message\":{\"role\":\"assistant\"";
  append_text_member(out, "content", text_of(answer));
  if (!answer.tool_calls.empty()) {
    append_member(out, "tool_calls");
    append_chat_calls(out, answer.tool_calls);
  }
  out += '}';
  append_text_member(out, "finish_reason", finish_reason(answer));
  out += '}';
}

void append_completion(std::string& out, const row_origin& row, const row_outcome& outcome,
                       const job_identity& job) {
  out += '{';
  append_text_member(out, "id", "chatcmpl-" + row.key);
  append_text_member(out, "object", "chat.completion");
  append_number_member(out, "created", job.created);
  append_text_member(out, "model", outcome.model);
  append_member(out, "choices");
  out += '[';
  if (const auto* answer = last_answer(outcome.messages))
    append_choice(out, *answer);
  out += ']';
  append_member(out, "usage");
  out += '{';
  append_number_member(out, "prompt_tokens", outcome.usage.input_tokens);
  append_number_member(out, "completion_tokens", outcome.usage.output_tokens);
  append_number_member(out, "total_tokens", outcome.usage.total_tokens);
  append_cached(out, outcome.usage);
  if (outcome.cost) {
    append_member(out, "cost");
    append_usd(out, *outcome.cost);
  }
  out += "}}";
}

/// Appends the members `response` and `error` of a failed row. As in OpenAI's files, an error that
/// the model server reported with an HTTP status is in the response, and any other error is not.
void append_openai_error(std::string& out, const row_origin& row, const row_error& why) {
  append_member(out, "response");
  if (why.http_status == 0) {
    out += "null";
    append_member(out, "error");
    out += '{';
    append_text_member(out, "code", code_of(why));
    append_text_member(out, "message", why.message);
    out += '}';
    return;
  }
  out += '{';
  append_number_member(out, "status_code", why.http_status);
  append_text_member(out, "request_id", "req_" + row.key);
  append_member(out, "body");
  out += "{\"error\":{";
  append_text_member(out, "message", why.message);
  append_text_member(out, "type", why.kind);
  append_member(out, "param");
  out += "null";
  append_text_member(out, "code", code_of(why));
  out += "}}}";
  append_member(out, "error");
  out += "null";
}

// OpenAI's ids are random. These ids are derived from the key, so that a repeated row produces the
// same ids.
void append_openai(std::string& out, const row_origin& row, const row_outcome& outcome,
                   const job_identity& job) {
  out += '{';
  append_text_member(out, "id", "batch_req_" + row.key);
  append_text_member(out, "custom_id", row.key);
  if (outcome.error) {
    append_openai_error(out, row, *outcome.error);
    append_columns(out, row);
    out += "}\n";
    return;
  }
  append_member(out, "response");
  out += "{\"status_code\":200";
  append_text_member(out, "request_id", "req_" + row.key);
  append_member(out, "body");
  append_completion(out, row, outcome, job);
  out += '}';
  append_member(out, "error");
  out += "null";
  append_columns(out, row);
  out += "}\n";
}

/// The beginning of a dead letter.
struct letter_start {
  std::string text;   ///< a JSON object without its closing brace and without `error`
  std::string column; ///< the JSON text of the line's column `error`; empty if it has none
};

/// Returns the members of an input line that may have a member `error`, or is that of a sample,
/// which needs its own key. The text of any other line is used as it is.
letter_start letter_of_members(const row_origin& row, simdjson::dom::object line) {
  auto out = letter_start{.text = "{", .column = {}};
  const auto begin = [&](std::string_view name) {
    out.text += out.text.size() > 1 ? "," : "";
    append_quoted(out.text, name);
    out.text += ':';
  };
  auto needs_key = row.sample != 0;
  for (auto [name, value] : line) {
    auto column = simdjson::dom::element{};
    if (needs_key && name == row.id_member) {
      begin(name);
      append_quoted(out.text, row.key);
      needs_key = false;
    } else if (name != "error") {
      begin(name);
      out.text += simdjson::minify(value);
    } else if (!is_row_error(value)) {
      out.column = simdjson::minify(value);
    } else if (value["column"].get(column) == simdjson::SUCCESS) { // a dead letter of such a line
      out.column = simdjson::minify(column);
    }
  }
  if (needs_key) {
    begin(row.id_member);
    append_quoted(out.text, row.key);
  }
  return out;
}

} // namespace

void describe(row_origin& origin, input_row& row) {
  origin.shape = row.shape;
  origin.key = row.request.key;
  origin.key_name = row.key_name;
  origin.has_error = row.has_error;
  origin.is_numbered = row.is_numbered;
  origin.id_member = row.id_member;
  origin.columns = std::move(row.columns);
}

std::uint64_t cached_answers(const token_usage& usage) noexcept {
  const auto* count = usage.input_details.if_contains("cached_answers");
  return count != nullptr && count->is_int64() ? static_cast<std::uint64_t>(count->get_int64()) : 0;
}

void append_output_line(std::string& out, const row_origin& row, const row_outcome& outcome,
                        std::chrono::nanoseconds wall, const job_identity& job) {
  if (row.shape == row_shape::openai)
    append_openai(out, row, outcome, job);
  else
    append_native(out, row, outcome, wall, job);
}

void append_dead_line(std::string& out, const row_origin& row, std::string_view input_line,
                      const row_error& why) {
  // The line was parsed as an object, so its last brace closes the object: append members there.
  auto letter =
      letter_start{.text = std::string{input_line.substr(0, input_line.rfind('}'))}, .column = {}};
  if (const auto last = letter.text.find_last_not_of(" \t\r\n"); letter.text[last] == '{')
    letter.text.resize(last + 1); // append_member() finds out whether a member needs a comma
  auto parser = simdjson::dom::parser{};
  auto object = simdjson::dom::object{};
  if (row.has_error || row.sample != 0)
    if (parser.parse(input_line.data(), input_line.size()).get(object) == simdjson::SUCCESS)
      letter = letter_of_members(row, object);
  auto& text = letter.text;
  if (row.is_numbered && row.sample == 0) // the line number differs in the file of dead letters
    append_text_member(text, row.key_name, row.key);
  out += text;
  // Other readers of the letter find its key in the members that key_of() knows, if it is there.
  text += '}';
  const auto is_key_found =
      parser.parse(text).get(object) == simdjson::SUCCESS && key_of(object) == row.key;
  const auto needs_key = row.has_foreign_key || (!is_key_found && !row.key.empty());
  append_member(out, "error");
  append_error(out, why, row.line, needs_key ? std::string_view{row.key} : std::string_view{},
               letter.column);
  out += "}\n";
}

void append_bad_line(std::string& out, std::uint64_t line, std::string_view text,
                     const error& why) {
  constexpr auto text_bytes_max = std::size_t{4096};
  auto why_of_letter = row_error{};
  why_of_letter.kind = bad_line_kind;
  why_of_letter.message = why.text;
  out += '{';
  append_text_member(out, "text", text.substr(0, text_bytes_max));
  append_member(out, "error");
  append_error(out, why_of_letter, line);
  out += "}\n";
}

} // namespace superstep::detail
