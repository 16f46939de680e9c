// SPDX-License-Identifier: Apache-2.0
// Statistics of the rows of an output file, and their forms as text and JSON. report_html.cpp
// writes the HTML form.
#include "results/report.hpp"

#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "base/visible_text.hpp"
#include "batch/usd_text.hpp"
#include "results/html_page.hpp"
#include "results/job_file.hpp"
#include "results/score_table.hpp"

#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fcntl.h>

namespace superstep::results {

namespace {

/// The name that counts classes of errors and tools beyond report_options::names_max.
constexpr auto other_names = "(others)";

constexpr auto example_bytes_max = std::size_t{300}; // of the error of a row

/// Limit of the summary file, which has a few hundred bytes.
constexpr auto summary_bytes_max = std::size_t{1} << 20U;

/// Orders a heap so that its front is the fastest row.
bool is_slower(const reported_row& a, const reported_row& b) noexcept {
  return a.wall_ms > b.wall_ms || (a.wall_ms == b.wall_ms && a.key < b.key);
}

std::uint64_t tokens_of(const result_line& row) noexcept {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(row.input_tokens + row.output_tokens, 0));
}

void add_known(std::optional<std::uint64_t>& sum,
               const std::optional<std::uint64_t>& more) noexcept {
  if (more)
    sum = sum.value_or(0) + *more;
}

/// Returns a number and its noun, such as `2 steps`; `-` if it is not known.
std::string known_count(const std::optional<std::uint64_t>& number, std::string_view noun) {
  return number ? counted(*number, noun) : fmt::format("- {}s", noun);
}

reported_row shorten(const result_line& row, std::size_t text_bytes) {
  auto out = reported_row{};
  out.key = row.key;
  out.status = row.status;
  out.status_text = row.status_text();
  out.wall_ms = row.wall_ms.value_or(0);
  out.steps = row.steps;
  out.model_calls = row.model_calls;
  out.tool_calls = row.tool_calls;
  if (row.has_usage)
    out.tokens = tokens_of(row);
  out.text = shortened(row.status == result_status::ok ? compared_text(row) : row.error_message,
                       text_bytes);
  return out;
}

/// Converts a number of milliseconds from an output line.
std::chrono::nanoseconds from_ms(double value) noexcept {
  constexpr auto hours_max = 1e6; // far beyond the duration of any job
  constexpr auto ms_max = hours_max * 3.6e6;
  return std::chrono::microseconds{std::llround(std::clamp(value, 0.0, ms_max) * 1'000)};
}

json::object read_summary(const std::string& output) {
  const auto opened = detail::file::open_regular(job_file_of(output, ".summary.json"), O_RDONLY);
  auto text = std::string{};
  if (!opened || !opened->read_at(0, summary_bytes_max, text))
    return {};
  auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? std::move(parsed->as_object()) : json::object{};
}

std::string line_of(const reported_row& row) {
  constexpr auto text_bytes = std::size_t{60};
  return fmt::format("  {:>9.0f} ms  {}  {}, {}, {}, {}  {}\n", row.wall_ms, row.key,
                     row.status_text, known_count(row.steps, "step"),
                     known_count(row.tool_calls, "tool call"), known_count(row.tokens, "token"),
                     one_line(row.text, text_bytes));
}

json::value to_json(const std::optional<std::uint64_t>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

json::value to_json(const distribution& values) {
  if (values.count() == 0)
    return nullptr;
  auto out = json::object{};
  out["count"] = values.count();
  out["min"] = values.min();
  out["p50"] = values.percentile(0.5);
  out["p95"] = values.percentile(0.95);
  out["p99"] = values.percentile(0.99);
  out["max"] = values.max();
  out["mean"] = values.mean();
  return out;
}

/// Returns the values in milliseconds, as in the summary of the job.
json::value to_json(const histogram& times) {
  auto out = to_json(times.in_microseconds());
  if (auto* const members = out.if_object())
    for (auto& [name, value] : *members)
      if (name != "count")
        value = value.to_number<double>() / 1'000;
  return out;
}

std::string percentiles(const distribution& values) {
  return fmt::format("p50 {}, p95 {}, p99 {}, max {}, mean {:.1f}", values.percentile(0.5),
                     values.percentile(0.95), values.percentile(0.99), values.max(), values.mean());
}

std::string percentiles(const histogram& times) {
  const auto& values = times.in_microseconds();
  const auto ms = [](auto micros) { return static_cast<double>(micros) / 1'000; };
  return fmt::format("p50 {:.1f} ms, p95 {:.1f} ms, p99 {:.1f} ms, max {:.1f} ms, mean {:.1f} ms",
                     ms(values.percentile(0.5)), ms(values.percentile(0.95)),
                     ms(values.percentile(0.99)), ms(values.max()), ms(values.mean()));
}

} // namespace

result<report> report::of_file(const std::string& path, report_options options) {
  auto reader = result_reader::open(path);
  if (!reader)
    return reader.error();
  const auto scores = score_table::beside(path);
  if (!scores)
    return scores.error();
  auto out = report{options};
  out.path = path;
  auto has_id = false;
  const auto read = reader->for_each([&]() -> result<void> {
    auto row = read_result_line(reader->object());
    has_id = has_id || !row.key.empty();
    scores->set_score(row);
    out.add(row);
    return {};
  });
  if (!read)
    return read.error();
  if (out.rows() > 0 && !has_id)
    return error{errc::parse_failed, path + ": no line has an id; specify an output file of "
                                            "superstep run, not another file of the job"};
  out.is_torn = reader->is_torn();
  out.set_summary(read_summary(path));
  return out;
}

template <class T>
T& report::counter(std::map<std::string, T>& all, const std::string& name) const {
  const auto is_known = all.size() < options_.names_max || all.contains(name);
  return all[is_known ? name : std::string{other_names}];
}

void report::add(const result_line& row) {
  auto& count = !row.is_status_known                 ? unknown
                : row.status == result_status::ok    ? ok
                : row.status == result_status::error ? failed
                                                     : cancelled;
  ++count;
  input_tokens += row.input_tokens;
  output_tokens += row.output_tokens;
  cached_answers += row.cached_answers;
  add_known(model_calls, row.model_calls);
  add_known(tool_calls, row.tool_calls);
  if (row.has_usage)
    tokens.add(tokens_of(row));
  if (row.steps)
    steps.add(*row.steps);
  if (row.cost) {
    cost += *row.cost;
    ++rows_priced;
  }
  if (row.score) {
    if (rows_scored == 0)
      scored_by = row.scored_by;
    else if (scored_by != row.scored_by)
      scored_by = "(several methods)";
    scores.add(row.key, *row.score);
    ++rows_scored;
  }
  if (row.barrier_wait_ms)
    barrier.add(from_ms(*row.barrier_wait_ms));
  for (const auto& used : row.tools) {
    auto& tool = counter(tools, used.tool);
    ++tool.calls;
    tool.failed += used.is_failed ? 1U : 0U;
    tool.without_result += used.has_result ? 0U : 1U;
  }
  if (row.status == result_status::error) {
    auto& same = counter(errors, row.error_kind);
    ++same.rows;
    if (same.examples.size() < options_.examples_max)
      same.examples.push_back(shorten(row, options_.text_bytes));
  }
  if (!row.wall_ms)
    return;
  latency.add(from_ms(*row.wall_ms));
  if (options_.slowest_max == 0 ||
      (slowest_.size() == options_.slowest_max && *row.wall_ms <= slowest_.front().wall_ms))
    return;
  if (slowest_.size() == options_.slowest_max) {
    std::ranges::pop_heap(slowest_, is_slower);
    slowest_.pop_back();
  }
  slowest_.push_back(shorten(row, options_.text_bytes));
  std::ranges::push_heap(slowest_, is_slower);
}

std::vector<reported_row> report::slowest() const {
  auto out = slowest_;
  std::ranges::sort(out, is_slower);
  return out;
}

std::string counted_scores(std::uint64_t rows, std::uint64_t repeated) {
  const auto text = counted(rows, "row") + " scored";
  return repeated == 0 ? text : text + ", repetitions of " + counted(repeated, "row");
}

std::string known(const std::optional<std::uint64_t>& number) {
  return number ? grouped(*number) : "-";
}

std::string to_text(const report& r) {
  auto out =
      fmt::format("{}: {}, {} ok, {} failed", r.path, counted(r.rows(), "row"), r.ok, r.failed);
  if (r.cancelled > 0)
    out += fmt::format(", {} cancelled", r.cancelled);
  if (r.unknown > 0)
    out += fmt::format(", {} of unknown status (write the outputs with status in --fields)",
                       r.unknown);
  if (r.is_torn)
    out += "; the last line is incomplete and not counted";
  out += '\n';
  if (r.rows_scored > 0) {
    const auto score = r.score();
    out += fmt::format("score         {:.1f} % (95 % confidence: {:.1f} to {:.1f} %), {}{}{}\n",
                       100 * score.value, 100 * score.low, 100 * score.high,
                       counted_scores(r.rows_scored, r.scores.repeated_rows()),
                       r.scored_by.empty() ? "" : " by ", r.scored_by);
  }
  if (r.latency.count() > 0)
    out += "latency       " + percentiles(r.latency) + '\n';
  if (r.barrier.in_microseconds().max() > 0)
    out += "barrier wait  " + percentiles(r.barrier) + '\n';
  out += r.tokens.count() == 0
             ? std::string{"tokens        -\n"}
             : fmt::format("tokens        {} per row; {} in, {} out{}\n", percentiles(r.tokens),
                           r.input_tokens, r.output_tokens,
                           r.tokens.count() == r.rows()
                               ? std::string{}
                               : ", known for " + counted(r.tokens.count(), "row"));
  out += fmt::format(
      "calls         {}{}, {}\n", known_count(r.model_calls, "model call"),
      r.cached_answers > 0 ? fmt::format(" ({} answered from the cache)", r.cached_answers) : "",
      known_count(r.tool_calls, "tool call"));
  if (r.rows_priced > 0)
    out += fmt::format("cost          {}, {}\n", detail::usd_text(r.cost),
                       r.rows_priced == r.rows()
                           ? detail::usd_text(r.cost / static_cast<double>(r.rows())) + " per row"
                           : "known for " + counted(r.rows_priced, "row"));
  if (!r.errors.empty())
    out += "errors\n";
  for (const auto& [kind, same] : r.errors) {
    out += fmt::format("  {:>9}  {}\n", same.rows, kind);
    for (const auto& row : same.examples)
      out += fmt::format("             {}: {}\n", row.key, one_line(row.text, example_bytes_max));
  }
  if (!r.tools.empty())
    out += "tools\n";
  for (const auto& [name, tool] : r.tools)
    out += fmt::format(
        "  {:>9}  {}{}{}\n", tool.calls, name.empty() ? "(no name)" : name,
        tool.failed > 0 ? fmt::format(", {} failed", tool.failed) : "",
        tool.without_result > 0 ? fmt::format(", {} without a result", tool.without_result) : "");
  if (const auto rows = r.slowest(); !rows.empty()) {
    out += "slowest rows\n";
    for (const auto& row : rows)
      out += line_of(row);
  }
  out.pop_back();
  return visible_text(out);
}

json::object to_json(const report& r) {
  auto out = json::object{};
  out["rows"] = {{"total", r.rows()},
                 {"ok", r.ok},
                 {"failed", r.failed},
                 {"cancelled", r.cancelled},
                 {"unknown", r.unknown}};
  out["usage"] = nullptr;
  if (r.tokens.count() > 0)
    out["usage"] = {{"input_tokens", r.input_tokens},
                    {"output_tokens", r.output_tokens},
                    {"cached", r.cached_answers}};
  out["model_calls"] = to_json(r.model_calls);
  out["tool_calls"] = to_json(r.tool_calls);
  // Costs are multiples of a billionth of a dollar. Their sum has rounding errors.
  constexpr auto per_dollar = 1e9;
  out["cost"] = r.rows_priced > 0 ? json::value(std::round(r.cost * per_dollar) / per_dollar)
                                  : json::value(nullptr);
  if (r.rows_scored > 0) {
    const auto score = r.score();
    out["score"] = {{"rows", r.rows_scored},
                    {"mean", score.value},
                    {"low", score.low},
                    {"high", score.high},
                    {"by", r.scored_by.empty() ? json::value(nullptr) : json::value(r.scored_by)}};
  } else {
    out["score"] = nullptr;
  }
  out["latency_ms"] = to_json(r.latency);
  out["barrier_wait_ms"] = to_json(r.barrier);
  out["tokens"] = to_json(r.tokens);
  out["steps"] = to_json(r.steps);
  auto& errors = out["errors"].emplace_object();
  for (const auto& [kind, same] : r.errors)
    errors[kind] = same.rows;
  auto& tools = out["tools"].emplace_object();
  for (const auto& [name, tool] : r.tools)
    tools[name] = {
        {"calls", tool.calls}, {"failed", tool.failed}, {"without_result", tool.without_result}};
  auto& slowest = out["slowest"].emplace_array();
  for (const auto& row : r.slowest())
    slowest.push_back({{"id", row.key},
                       {"status", row.status_text},
                       {"wall_ms", row.wall_ms},
                       {"steps", to_json(row.steps)},
                       {"tokens", to_json(row.tokens)}});
  return out;
}

} // namespace superstep::results
