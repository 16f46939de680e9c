// SPDX-License-Identifier: Apache-2.0
// Reads the output lines of a job for reports and comparisons.
#include "results/result_line.hpp"

#include "batch/element_json.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>

namespace superstep::results {

namespace {

namespace dom = simdjson::dom;

/// Returns the text of a member of an object or element; empty if there is none.
template <class From>
std::string_view text_at(const From& from, std::string_view name) noexcept {
  auto out = std::string_view{};
  if (from[name].get(out) != simdjson::SUCCESS)
    return {};
  return out;
}

template <class Number>
void read_number(dom::object from, std::string_view name, std::optional<Number>& into) noexcept {
  auto value = Number{};
  if (from.at_key(name).get(value) == simdjson::SUCCESS)
    into = value;
}

template <class Number>
void read_integer(dom::object from, std::string_view name, Number& into) noexcept {
  auto value = Number{};
  if (from.at_key(name).get(value) == simdjson::SUCCESS)
    into = value;
}

/// Returns the text of a message's content: a text, or a list of blocks.
std::string content_text(dom::element message) {
  auto text = std::string_view{};
  auto blocks = dom::array{};
  if (message["content"].get(text) == simdjson::SUCCESS)
    return std::string{text};
  auto out = std::string{};
  if (message["content"].get(blocks) == simdjson::SUCCESS)
    for (auto block : blocks) {
      if (block.get(text) == simdjson::SUCCESS) // a block may be a plain text
        out += text;
      else if (text_at(block, "type") == "text")
        out += text_at(block, "text");
    }
  return out;
}

/// Adds the tool calls of the last message of a row whose last super-step did not end: they have no
/// results.
void add_calls_without_result(dom::element last, result_line& into) {
  auto calls = dom::array{};
  if (last["tool_calls"].get(calls) == simdjson::SUCCESS)
    for (auto call : calls)
      into.tools.push_back({std::string{text_at(call, "name")}, false, false});
}

/// Whether a message ends the loop of an agent: it is of the model, and calls no tool.
bool is_final_answer(dom::element message) noexcept {
  auto calls = dom::array{};
  return (text_at(message, "type") == "ai" || text_at(message, "role") == "assistant") &&
         (message["tool_calls"].get(calls) != simdjson::SUCCESS || calls.size() == 0);
}

/// Reads a conversation. It shows that the row has succeeded if its last message is an answer: the
/// messages of a failed row end with its input or its tools.
/// @param has_open_step whether the row ended within a super-step, which may be that of the tools
void read_messages(dom::array messages, bool has_open_step, result_line& into) {
  into.has_answer = true;
  auto last = std::optional<dom::element>{};
  for (auto one : messages) {
    const auto type = text_at(one, "type");
    const auto role = text_at(one, "role");
    if (type == "ai" || role == "assistant")
      into.answer = content_text(one);
    else if (type == "human" || role == "user")
      into.question = content_text(one);
    else if (type == "tool" || role == "tool")
      into.tools.push_back({std::string{text_at(one, "name")}, text_at(one, "status") == "error"});
    last = one;
  }
  if (last && has_open_step)
    add_calls_without_result(*last, into);
  into.is_status_known = into.is_status_known || (last && is_final_answer(*last));
}

/// Whether a row ended within a super-step, because a node failed or because of its deadline.
bool has_open_step(dom::object line) noexcept {
  auto why = dom::object{};
  return line.at_key("error").get(why) == simdjson::SUCCESS &&
         (!text_at(why, "node").empty() || text_at(why, "kind") == "timed_out");
}

void read_usage(dom::object usage, result_line& into) noexcept {
  into.has_usage = true;
  read_integer(usage, "input_tokens", into.input_tokens);
  read_integer(usage, "output_tokens", into.output_tokens);
  read_integer(usage, "prompt_tokens", into.input_tokens);
  read_integer(usage, "completion_tokens", into.output_tokens);
  read_integer(usage, "cached", into.cached_answers);
  read_number(usage, "cost", into.cost); // of a batch request
}

/// Reads the members `usage.input_tokens` and `usage.output_tokens` of a line with selected fields.
/// One of them alone is not the usage of the row.
void read_usage_fields(dom::object line, result_line& into) noexcept {
  auto input = std::int64_t{0};
  auto output = std::int64_t{0};
  if (line.at_key("usage.input_tokens").get(input) != simdjson::SUCCESS ||
      line.at_key("usage.output_tokens").get(output) != simdjson::SUCCESS)
    return;
  into.has_usage = true;
  into.input_tokens = input;
  into.output_tokens = output;
}

/// Removes the usage of a row whose model calls have reported no tokens: it is not known.
void drop_unreported_usage(result_line& row) noexcept {
  const auto is_empty = row.input_tokens == 0 && row.output_tokens == 0 && row.cached_answers == 0;
  if (is_empty && row.model_calls != 0U) // a row without calls has no tokens
    row.has_usage = false;
}

/// Reads the members `error.code` and others of a line with selected fields.
void read_error_fields(dom::object line, result_line& into) {
  for (const auto* name : {"error.code", "error.kind", "error.message"}) {
    if (line.at_key(name).error() != simdjson::SUCCESS)
      continue;
    into.is_status_known = true;
    const auto text = text_at(line, name);
    if (text.empty())
      continue;
    into.status = result_status::error;
    if (name == std::string_view{"error.message"})
      into.error_message = text;
    else if (into.error_kind.empty())
      into.error_kind = text;
  }
}

/// Reads `error`: an object, or a text as vLLM writes it.
void read_error(dom::object line, result_line& into) {
  auto failed = dom::element{};
  read_error_fields(line, into);
  const auto has_error = line.at_key("error").get(failed) == simdjson::SUCCESS;
  const auto status = text_at(line, "status");
  into.is_status_known = into.is_status_known || has_error || !status.empty();
  if (status == "error")
    into.status = result_status::error;
  if (has_error && !failed.is_null())
    into.status = result_status::error;
  if (into.status == result_status::error && into.error_kind.empty())
    into.error_kind = "unknown";
  if (!has_error || failed.is_null())
    return;
  auto text = std::string_view{};
  if (failed.get(text) == simdjson::SUCCESS) {
    into.error_message = text;
  } else {
    into.error_kind = text_at(failed, "code"); // more precise than the kind
    if (into.error_kind.empty())
      into.error_kind = text_at(failed, "kind");
    into.error_message = text_at(failed, "message");
  }
  if (into.error_kind.empty())
    into.error_kind = "unknown";
}

/// Reads the answer of a batch request.
void read_response(dom::object response, result_line& into) {
  auto body = dom::object{};
  auto status = std::int64_t{0};
  constexpr auto first_failure = std::int64_t{400};
  const auto is_failed =
      response.at_key("status_code").get(status) == simdjson::SUCCESS && status >= first_failure;
  if (is_failed && into.status == result_status::ok) {
    into.status = result_status::error;
    into.error_kind = "http_" + std::to_string(status);
  }
  if (response.at_key("body").get(body) != simdjson::SUCCESS)
    return;
  auto why = dom::object{};
  if (is_failed && into.error_message.empty() && body.at_key("error").get(why) == simdjson::SUCCESS)
    into.error_message = text_at(why, "message");
  auto choices = dom::array{};
  if (body.at_key("choices").get(choices) == simdjson::SUCCESS && choices.size() > 0)
    if (auto message = choices.at(0)["message"]; message.error() == simdjson::SUCCESS) {
      into.answer = content_text(message.value_unsafe());
      into.has_answer = true;
    }
  auto usage = dom::object{};
  if (body.at_key("usage").get(usage) == simdjson::SUCCESS)
    read_usage(usage, into);
}

/// Returns the structured response of a native line or of a line with selected fields.
std::optional<dom::object> structured_response_of(dom::object line) noexcept {
  auto state = dom::object{};
  auto out = dom::object{};
  if (line.at_key("output").get(state) != simdjson::SUCCESS)
    state = line;
  if (state.at_key("structured_response").get(out) != simdjson::SUCCESS)
    return std::nullopt;
  return out;
}

constexpr auto response_prefix = std::string_view{"response."};

/// Returns the field of the output that --answer names: a member of the structured response, with
/// or without the prefix `response.`, or a member of the line.
std::optional<dom::element> field_at(dom::object line, std::optional<dom::object> structured,
                                     std::string_view path) {
  const auto member =
      path.starts_with(response_prefix) ? path.substr(response_prefix.size()) : path;
  auto found = std::optional<dom::element>{};
  if (structured)
    for (const auto one : {path, member})
      if (!found)
        found = detail::value_at(*structured, one);
  // In a line with selected fields, a member of the response has the prefix if a column has its
  // name.
  const auto with_prefix = std::string{response_prefix}.append(member);
  for (const auto one : {std::string_view{with_prefix}, path, member})
    if (!found)
      found = detail::value_at(line, one);
  return found;
}

/// Replaces the answer by a field of the output.
void select_answer(dom::object line, std::string_view path, result_line& into) {
  auto structured = structured_response_of(line);
  auto parser = dom::parser{}; // must outlive `found`
  auto in_text = dom::object{};
  // In the line of a batch request, the structured response is the text of the answer.
  if (line.at_key("response").error() == simdjson::SUCCESS &&
      parser.parse(into.answer).get(in_text) == simdjson::SUCCESS)
    structured = in_text;
  const auto found = field_at(line, structured, path);
  into.structured.clear();
  into.answer.clear();
  into.has_answer = found.has_value();
  auto text = std::string_view{};
  if (found && found->get(text) == simdjson::SUCCESS)
    into.answer = text;
  else if (found && !found->is_null())
    into.answer = simdjson::minify(*found);
}

/// Returns a JSON value as canonical text.
std::string canonical(dom::element value) {
  const auto text = simdjson::to_string(value);
  const auto parsed = parse_json(text);
  return parsed ? to_canonical_text(*parsed) : text;
}

} // namespace

std::string_view to_string(result_status status) noexcept {
  switch (status) {
  case result_status::ok:
    return "ok";
  case result_status::error:
    return "error";
  case result_status::cancelled:
    break;
  }
  return "cancelled";
}

result_line read_result_line(dom::object line, std::string_view answer_member) {
  auto out = result_line{};
  out.key = detail::key_of(line);
  read_error(line, out);
  if (text_at(line, "status") == "cancelled")
    out.status = result_status::cancelled;
  auto member = dom::object{};
  auto list = dom::array{};
  auto value = dom::element{};
  if (line.at_key("response").get(member) == simdjson::SUCCESS) {
    read_response(member, out);
    out.is_status_known = true;
  }
  if (line.at_key("messages").get(list) == simdjson::SUCCESS) // a line with selected fields
    read_messages(list, has_open_step(line), out);
  if (line.at_key("output").get(member) == simdjson::SUCCESS) {
    if (member.at_key("messages").get(list) == simdjson::SUCCESS)
      read_messages(list, has_open_step(line), out);
    if (member.at_key("structured_response").get(value) == simdjson::SUCCESS) {
      out.structured = canonical(value);
      out.has_answer = out.is_status_known = true;
    }
  }
  if (auto answer = std::string_view{}; line.at_key("answer").get(answer) == simdjson::SUCCESS) {
    out.answer = answer;
    out.has_answer = out.is_status_known = true; // only a row that has succeeded has an answer
  }
  if (line.at_key("usage").get(member) == simdjson::SUCCESS)
    read_usage(member, out);
  read_usage_fields(line, out);
  read_number(line, "cost", out.cost);
  read_number(line, "wall_ms", out.wall_ms);
  read_number(line, "barrier_wait_ms", out.barrier_wait_ms);
  read_number(line, "score", out.score);
  if (out.score && !(*out.score >= 0 && *out.score <= 1))
    out.score.reset(); // an input column of this name
  if (const auto method = text_at(line, "method"); out.score && !method.empty())
    out.scored_by = scored_by(method, text_at(line, "gold_field"), text_at(line, "judge"));
  read_number(line, "steps", out.steps);
  read_number(line, "model_calls", out.model_calls);
  read_number(line, "tool_calls", out.tool_calls);
  read_integer(line, "attempt", out.attempt);
  drop_unreported_usage(out);
  if (!answer_member.empty())
    select_answer(line, answer_member, out);
  return out;
}

std::string scored_by(std::string_view method, std::string_view gold, std::string_view judge) {
  auto out = std::string{method};
  if (!judge.empty())
    out += ' ' + std::string{judge};
  return out + ", column " + std::string{gold};
}

std::vector<std::string> field_names(dom::object line) {
  auto out = std::vector<std::string>{};
  for (const auto member : structured_response_of(line).value_or(line))
    out.emplace_back(member.key);
  return out;
}

const std::string& compared_text(const result_line& line) noexcept {
  return line.structured.empty() ? line.answer : line.structured;
}

result_reader::result_reader(detail::file from, std::string_view advice)
    : advice_{advice}, file_{std::make_unique<detail::file>(std::move(from))},
      lines_{std::make_unique<detail::written_lines>(*file_, 0)} {}

result<result_reader> result_reader::open(const std::string& path, std::string_view advice) {
  auto failed = std::error_code{};
  if (const auto found = std::filesystem::status(path, failed);
      std::filesystem::exists(found) && !std::filesystem::is_regular_file(found))
    return error{errc::invalid_argument, path + ": is not a regular file; " + std::string{advice}};
  auto opened = detail::file::open_regular(path, O_RDONLY);
  if (!opened)
    return opened.error();
  return result_reader{*std::move(opened), advice};
}

result<bool> result_reader::next() {
  using found = detail::written_lines::found;
  while (true) {
    ++number_;
    is_unended_ = false;
    const auto read = lines_->next();
    if (!read)
      return read.error();
    switch (*read) {
    case found::object:
      return true;
    case found::end:
      return false;
    case found::torn:
      // Files that a user has edited may have no line break at their end.
      is_unended_ = parser_->parse(lines_->text()).get(unended_) == simdjson::SUCCESS;
      if (is_unended_)
        return true;
      is_torn_ = is_torn_ || !lines_->is_blank();
      continue;
    case found::foreign:
      return error{errc::parse_failed, file_->path() + ':' + std::to_string(number_) +
                                           ": is not a JSON object; " + std::string{advice_}};
    }
  }
}

result<void> check_replaced(const std::string& path,
                            std::initializer_list<std::string_view> members) {
  if (!detail::exists(path))
    return {};
  auto failed = std::error_code{};
  if (!std::filesystem::is_regular_file(path, failed) && !failed)
    return error{errc::invalid_argument, path + ": cannot be overwritten, because it is not a "
                                                "regular file; use another output"};
  auto reader = result_reader::open(path);
  const auto first = reader ? reader->next() : result<bool>{reader.error()};
  if (!first && first.error().code != errc::parse_failed)
    return first.error();
  const auto is_ours = first && (!*first || std::ranges::all_of(members, [&](auto name) {
                         return reader->object().at_key(name).error() == simdjson::SUCCESS;
                       }));
  return is_ours ? result<void>{}
                 : error{errc::invalid_argument,
                         path + ": would be overwritten, but is not a file of an earlier call; "
                                "rename it, or use another output"};
}

result<result_line> read_result_at(const detail::file& from, std::uint64_t offset, std::size_t size,
                                   dom::parser& parser, std::string_view answer) {
  auto text = std::string{};
  if (auto read = from.read_at(offset, size, text); !read)
    return read.error();
  auto object = dom::object{};
  if (parser.parse(text).get(object) != simdjson::SUCCESS)
    return error{errc::parse_failed, from.path() + " was changed while it was read"};
  return read_result_line(object, answer);
}

} // namespace superstep::results
