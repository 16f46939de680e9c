// SPDX-License-Identifier: Apache-2.0
// The line format of recordings: writing, reading, and the hash that identifies a request.
#include "models/journal_format.hpp"

#include "messages/openai_json.hpp"
#include "models/hash.hpp"
#include "models/http/faults.hpp"
#include "models/mask_secrets.hpp"
#include "models/providers/json_parts.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <array>

namespace superstep::models {

namespace {

using namespace providers;

// Names of model_errc's values in their order; the first value is 1.
constexpr auto names = std::array<std::string_view, 12>{
    "bad_request",     "unauthorized", "not_found",         "rate_limited",
    "quota_exhausted", "server_error", "unreachable",       "timed_out",
    "bad_answer",      "missing_turn", "bad_configuration", "invalid_response"};

error bad_line(std::string why) {
  return {model_errc::bad_configuration, std::move(why)};
}

/// Returns a time in milliseconds. The writer uses doubles, but integers are also accepted.
double number_in(const json::object& o, std::string_view key) {
  const auto* value = o.if_contains(key);
  if (value == nullptr)
    return 0;
  return value->is_double() ? value->get_double() : static_cast<double>(count_in(o, key));
}

/// Only model errors have names in recordings, so other errors are recorded as server_error.
json::object error_form(const error& e) {
  const auto is_ours = e.code.category() == make_error_code(model_errc::bad_answer).category();
  const auto kind = is_ours ? static_cast<model_errc>(e.code.value()) : model_errc::server_error;
  auto out = json::object{{"kind", name_of(kind)}, {"text", e.text}};
  if (e.http_status != 0)
    out["http_status"] = e.http_status;
  return out;
}

/// Reads the list of pieces, each with its time: `[milliseconds, piece]`.
result<> read_chunks(journal_entry& into, const json::array& from) {
  for (const auto& element : from) {
    const auto* pair = element.if_array();
    if (pair == nullptr || pair->size() != 2 || !pair->front().is_number())
      return bad_line("chunks: each item must be a pair [milliseconds, chunk]");
    auto piece = chunk_from_json(pair->back());
    if (!piece)
      return std::move(piece).error();
    // chunk_from_json() parses the calls. The recorded piece had only those that were written.
    const auto& written = pair->back().get_object();
    if (!written.contains("tool_calls"))
      piece->part.tool_calls.clear();
    if (!written.contains("invalid_tool_calls"))
      piece->part.invalid_tool_calls.clear();
    into.chunks.emplace_back(pair->front().to_number<double>(), *std::move(piece));
  }
  return {};
}

} // namespace

std::string_view name_of(model_errc code) noexcept {
  return names[static_cast<std::size_t>(code) - 1];
}

std::optional<model_errc> errc_named(std::string_view name) noexcept {
  for (auto i = std::size_t{0}; i < names.size(); ++i)
    if (names[i] == name)
      return static_cast<model_errc>(i + 1);
  return std::nullopt;
}

std::string hash_of(const model_request& request) {
  // The chat-completions form contains only what a model reads: neither ids nor metadata of
  // messages.
  auto text = std::string{};
  if (request.system)
    append_openai(text, *request.system);
  auto sum = hash(text);
  for (const auto& m : request.messages) {
    text.clear();
    append_openai(text, m);
    sum = hash(text, sum);
  }
  if (request.tools)
    for (const auto& tool : *request.tools)
      sum = hash(tool.name, sum);
  if (request.format)
    sum = hash(to_canonical_text(request.format->schema), sum);
  if (request.format && request.format->mode == answer_mode::json_object)
    sum = hash("json_object", sum);
  return fmt::format("{:016x}",
                     hash(to_canonical_text(json::value(request.parameters.get())), sum));
}

std::string to_line(const journal_entry& entry, const std::vector<std::string>& secrets) {
  auto out = json::object{
      {"run", entry.run}, {"turn", entry.turn}, {"question", entry.question}, {"ms", entry.ms}};
  if (entry.attempt > 1)
    out["attempt"] = entry.attempt;
  if (!entry.chunks.empty()) {
    auto& chunks = out["chunks"].emplace_array();
    for (const auto& [time, piece] : entry.chunks)
      chunks.push_back(json::value(json::array{time, to_json(piece)}));
    auto pieces = std::vector<json::value*>{};
    // The pieces are masked together, because a secret may be split over two pieces.
    for (auto& timed : chunks)
      pieces.push_back(&timed.as_array().back());
    mask_secrets(pieces, secrets);
  }
  if (entry.answer)
    out["message"] = to_json(*entry.answer);
  else
    out["error"] = error_form(entry.answer.error());
  return without_secrets(to_text(out), secrets);
}

result<journal_entry> read_line(std::string_view line) {
  const auto parsed = parse_json(line);
  if (!parsed)
    return bad_line(parsed.error().text);
  const auto* from = parsed->if_object();
  if (from == nullptr || !from->contains("run") || !from->contains("question"))
    return bad_line("is not a recorded call: it must be an object with run, turn, question, and "
                    "message or error");
  auto out = journal_entry{};
  out.run = text_in(*from, "run");
  out.turn = static_cast<std::uint32_t>(count_in(*from, "turn"));
  out.attempt = static_cast<std::uint32_t>(std::max<std::int64_t>(1, count_in(*from, "attempt")));
  out.question = text_in(*from, "question");
  out.ms = number_in(*from, "ms");
  if (const auto* chunks = array_in(*from, "chunks"))
    if (auto read = read_chunks(out, *chunks); !read)
      return std::move(read).error();
  if (const auto* answer = from->if_contains("message")) {
    auto m = message_from_json(*answer);
    if (!m)
      return std::move(m).error();
    out.answer = *std::move(m);
    return out;
  }
  const auto* fault = object_in(*from, "error");
  const auto kind = fault ? errc_named(text_in(*fault, "kind")) : std::nullopt;
  if (!kind)
    return bad_line("must have `message`, or `error` with the `kind` of a model error");
  auto failed = error{*kind, std::string{text_in(*fault, "text")}};
  failed.http_status = static_cast<int>(count_in(*fault, "http_status"));
  out.answer = std::move(failed);
  return out;
}

} // namespace superstep::models
