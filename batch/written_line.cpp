// SPDX-License-Identifier: Apache-2.0
// Reads lines of the output and of the dead letters, to recover the files of an interrupted job or
// to rebuild its journal.
#include "written_line.hpp"

#include "input_file.hpp"
#include "output_line.hpp"

#include <algorithm>
#include <cmath>
#include <new>

namespace superstep::detail {
namespace {

namespace dom = simdjson::dom;

// The limit is high, because an output line contains a whole conversation.
constexpr auto written_line_bytes_max = std::size_t{1} << 30U;

template <class Number>
void read_count(dom::object from, std::string_view name, Number& into) noexcept {
  auto value = Number{};
  if (from.at_key(name).get(value) == simdjson::SUCCESS)
    into = value;
}

/// Reads the member `cost`, in US dollars.
void read_cost(dom::object from, row_counts& into) noexcept {
  auto dollars = 0.0;
  if (from.at_key("cost").get(dollars) != simdjson::SUCCESS || !(std::abs(dollars) < 1e9))
    return;
  into.cost = std::llround(dollars * 1e9);
  into.rows_unpriced = 0;
}

/// Whether a text consists of zeros. After a power failure, some file systems leave zeros where
/// data was not written yet.
bool is_zeros(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](char c) { return c == '\0'; });
}

/// Counts the failed tool calls in the row's messages.
std::uint64_t failed_calls_in(dom::object line) noexcept {
  auto messages = dom::array{};
  auto out = std::uint64_t{0};
  if (line["output"]["messages"].get(messages) != simdjson::SUCCESS)
    return out;
  for (auto said : messages) {
    auto type = std::string_view{};
    auto status = std::string_view{};
    if (said["type"].get(type) == simdjson::SUCCESS && type == "tool" &&
        said["status"].get(status) == simdjson::SUCCESS && status == "error")
      ++out;
  }
  return out;
}

} // namespace

written_lines::written_lines(const file& from, std::uint64_t begin)
    : lines_{from, written_line_bytes_max, {.offset = begin}}, begin_{begin}, end_{begin} {}

result<written_lines::found> written_lines::next() {
  auto line = lines_.next();
  if (!line)
    return line.error();
  if (!*line)
    return found::end;
  text_ = (*line)->offset == 0 ? without_byte_order_mark((*line)->text) : (*line)->text;
  begin_ = (*line)->offset + ((*line)->text.size() - text_.size());
  end_ = (*line)->offset + (*line)->size + ((*line)->is_complete ? 1 : 0);
  if (is_blank() || is_zeros(text_) || (!(*line)->is_complete && text_.starts_with('{')))
    return found::torn;
  if (!(*line)->is_complete || (*line)->is_too_long)
    return found::foreign;
  const auto is_object = parser_.parse(text_.data(), text_.size()).get(object_);
  if (is_object == simdjson::MEMALLOC)
    throw std::bad_alloc{}; // the line may be valid; there was too little memory to parse it
  return is_object == simdjson::SUCCESS ? found::object : found::foreign;
}

std::string_view key_of(dom::object line) noexcept {
  auto key = std::string_view{};
  if (line["error"]["id"].get(key) ==
      simdjson::SUCCESS) // a dead letter with another name of its key
    return key;
  if (line.at_key("custom_id").get(key) != simdjson::SUCCESS &&
      line.at_key("id").get(key) != simdjson::SUCCESS)
    return {};
  return key;
}

bool is_row_error(dom::element value) noexcept {
  return value["kind"].is_string() && value["code"].is_string();
}

row_counts counts_of(dom::object line) noexcept {
  auto counts = row_counts{};
  counts.rows_unpriced = 1; // until the line states a cost
  read_count(line, "steps", counts.steps);
  read_count(line, "model_calls", counts.model_calls);
  read_count(line, "tool_calls", counts.tool_calls);
  counts.failed_tool_calls = failed_calls_in(line);
  auto usage = dom::object{};
  if (line.at_key("usage").get(usage) == simdjson::SUCCESS) {
    read_count(usage, "input_tokens", counts.input_tokens);
    read_count(usage, "output_tokens", counts.output_tokens);
    read_count(usage, "total_tokens", counts.total_tokens);
    read_count(usage, "cached", counts.cached_answers);
    read_cost(line, counts);
  } else if (line["response"]["body"]["usage"].get(usage) == simdjson::SUCCESS) {
    read_count(usage, "cached", counts.cached_answers);
    read_cost(usage, counts);
    read_count(usage, "prompt_tokens", counts.input_tokens);
    read_count(usage, "completion_tokens", counts.output_tokens);
    read_count(usage, "total_tokens", counts.total_tokens);
  }
  return counts;
}

// A failed row has an error object; in files of vLLM, the error may also be a text. A batch request
// that the server answered with an HTTP error has no `error`, but another status than 200.
bool has_failed(dom::object line) noexcept {
  auto failure = dom::element{};
  if (line.at_key("error").get(failure) == simdjson::SUCCESS && !failure.is_null())
    return true;
  auto status = std::int64_t{0};
  return line["response"]["status_code"].get(status) == simdjson::SUCCESS && status != 200;
}

std::uint64_t bad_line_of(dom::object letter) noexcept {
  auto kind = std::string_view{};
  auto line = std::uint64_t{0};
  const auto is_bad = letter["error"]["kind"].get(kind) == simdjson::SUCCESS &&
                      (kind == bad_line_kind || kind == duplicate_key_kind);
  return is_bad && letter["error"]["line"].get(line) == simdjson::SUCCESS ? line : 0;
}

bool is_kind_retried(std::string_view kind) noexcept {
  return kind != bad_line_kind && kind != duplicate_key_kind && kind != "invalid_input" &&
         kind != "recursion_limit";
}

bool may_succeed_again(dom::object letter) noexcept {
  auto kind = std::string_view{};
  return letter["error"]["kind"].get(kind) == simdjson::SUCCESS && is_kind_retried(kind);
}

} // namespace superstep::detail
