// SPDX-License-Identifier: Apache-2.0
// The summary of a job, as text for the terminal and as JSON for the summary file.
#include "base/error_words.hpp"
#include "base/visible_text.hpp"
#include "usd_text.hpp"
#include "written_line.hpp"

#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace superstep {
namespace {

double in_ms(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string times_text(std::string_view name, const histogram& times) {
  if (times.count() == 0)
    return {};
  return fmt::format("  {} p50 {:.1f} ms p95 {:.1f} ms", name, in_ms(times.percentile(0.5)),
                     in_ms(times.percentile(0.95)));
}

json::value times_json(const histogram& times) {
  if (times.count() == 0)
    return nullptr;
  auto out = json::object{};
  out["count"] = times.count();
  out["p50"] = in_ms(times.percentile(0.5));
  out["p95"] = in_ms(times.percentile(0.95));
  return out;
}

std::string_view status_of(const batch_summary& summary) noexcept {
  switch (summary.code) {
  case exit_code::ok:
    break;
  case exit_code::failed:
    return "failed";
  case exit_code::dead_rows:
    return "dead_rows";
  case exit_code::drained:
    return "drained";
  case exit_code::shortage:
    return "shortage";
  }
  return summary.left() > 0 ? "limited" : "ok"; // --limit left rows for the next run
}

/// Returns a line with the reasons of failed rows and how to run them again; empty if no row has
/// failed.
std::string failures_text(const batch_summary& s) {
  constexpr auto shown_max = std::size_t{5};
  if (s.failed == 0)
    return {};
  auto reasons =
      std::vector<std::pair<std::string, std::uint64_t>>{s.errors.begin(), s.errors.end()};
  std::ranges::stable_sort(reasons, std::ranges::greater{}, [](const auto& r) { return r.second; });
  auto known = s.bad_lines;
  for (const auto& reason : reasons)
    known += reason.second;
  const auto elsewhere = s.failed > known ? s.failed - known : 0;
  const auto has_retried = elsewhere > 0 || std::ranges::any_of(reasons, [](const auto& reason) {
                             // Errors of kinds that are not retried have their kind as code.
                             return detail::is_kind_retried(reason.first);
                           });
  auto others = std::uint64_t{0};
  for (; reasons.size() > shown_max; reasons.pop_back())
    others += reasons.back().second;
  for (auto& more : {std::pair<std::string, std::uint64_t>{"others", others},
                     std::pair<std::string, std::uint64_t>{"invalid lines", s.bad_lines},
                     std::pair<std::string, std::uint64_t>{"in other runs", elsewhere}})
    if (more.second > 0)
      reasons.push_back(more);
  auto text = fmt::format("\nfailed: {}", s.failed);
  for (const auto& reason : reasons)
    text += fmt::format("{}{} {}", &reason == reasons.data() ? " (" : ", ", reason.first,
                        reason.second);
  text += ')';
  if (has_retried && s.is_resumable)
    text += "; run them again with " + s.retry;
  return text;
}

} // namespace

std::string to_text(const batch_summary& s) {
  if (s.already_finished)
    return fmt::format(
        "nothing to do: {} done ({} ok, {} failed{}); output in {}",
        s.rows == 1 ? "the only row is" : fmt::format("all {} rows are", s.rows), s.ok, s.failed,
        s.failed > s.bad_lines ? "; " + s.retry + " runs failed rows again" : "", s.output);
  if (s.rows == 0 && s.job_id.empty() && s.stop.cause == stop_cause::request)
    return std::string{"stopped on request before the job began"} +
           (s.is_resumable ? "; rerun to resume" : "");
  auto text = fmt::format("{}: {} ok, {} failed", counted(s.rows, "row"), s.ok, s.failed);
  if (s.rows_with_failed_calls > 0)
    text += fmt::format(", {} with failed tool calls", s.rows_with_failed_calls);
  if (s.bad_lines > 0)
    text += fmt::format(" ({})", counted(s.bad_lines, "invalid line"));
  if (s.left() > 0)
    text += fmt::format(", {} left", s.left());
  if (s.resumed > 0)
    text += fmt::format(", {} done before this run", s.resumed);
  if (s.other > 0)
    text += fmt::format(" ({} of an earlier input)", s.other);
  text += fmt::format("\n{}, {}, {}, {} ({} in, {} out)\n", counted(s.steps, "step"),
                      counted(s.model_calls, "model call"), counted(s.tool_calls, "tool call"),
                      counted(static_cast<std::uint64_t>(s.total_tokens), "token"), s.input_tokens,
                      s.output_tokens);
  if (s.cached_answers > 0)
    text.insert(text.size() - 1, ", " + counted(s.cached_answers, "cached answer"));
  if (s.cost) {
    text.insert(text.size() - 1, ", " + detail::usd_text(*s.cost));
    if (s.rows_unpriced > 0)
      text.insert(text.size() - 1, fmt::format(" without {}", counted(s.rows_unpriced, "row")));
  }
  text += fmt::format("{:.2f} s, {:.1f} rows/s", s.seconds, s.rows_per_second());
  text += times_text("row", s.row_times) + times_text("tool", s.tool_times) +
          times_text("barrier wait", s.barrier_waits);
  if (s.refused > 0)
    text += fmt::format("\n{} ran for nothing, because another process had taken over",
                        counted(s.refused, "row"));
  text += failures_text(s);
  constexpr auto error_bytes_max = std::size_t{300};
  const auto is_incomplete = s.failed > 0 || s.stop.cause == stop_cause::request;
  if (is_incomplete && !s.last_error.empty())
    text += "\nlast error: " + one_line(s.last_error, error_bytes_max);
  text += "\noutput in " + s.output;
  if (s.failed > 0 && !s.dead.empty())
    text += ", failed rows in " + s.dead;
  if (s.stop.cause == stop_cause::request)
    text += s.is_resumable ? "\nstopped on request; rerun to resume" : "\nstopped on request";
  else if (s.code == exit_code::drained)
    text += (s.stop.is_at_end ? "\nexit code 3, because " : "\nstopped: ") + s.stop.text;
  if (s.code == exit_code::drained && !s.is_resumable)
    text += "\na job that writes to standard output cannot be resumed: a rerun runs all its rows";
  return text;
}

json::object to_json(const batch_summary& s) {
  auto rows = json::object{};
  rows["total"] = s.rows;
  rows["ok"] = s.ok;
  rows["failed"] = s.failed;
  rows["bad_lines"] = s.bad_lines;
  rows["with_failed_tool_calls"] = s.rows_with_failed_calls;
  rows["left"] = s.left();
  rows["done_before"] = s.resumed;
  auto usage = json::object{};
  usage["input_tokens"] = s.input_tokens;
  usage["output_tokens"] = s.output_tokens;
  usage["total_tokens"] = s.total_tokens;
  if (s.cached_answers > 0)
    usage["cached"] = s.cached_answers;
  auto times = json::object{};
  times["row"] = times_json(s.row_times);
  times["tool"] = times_json(s.tool_times);
  times["barrier_wait"] = times_json(s.barrier_waits);
  auto out = json::object{};
  out["job_id"] = s.job_id;
  out["status"] = json::string_view{status_of(s).data(), status_of(s).size()};
  out["exit_code"] = static_cast<int>(s.code);
  auto stop = json::object{};
  stop["cause"] = json::string_view{to_text(s.stop.cause).data(), to_text(s.stop.cause).size()};
  stop["text"] = s.stop.text;
  out["stop"] =
      s.stop.cause == stop_cause::none ? json::value(nullptr) : json::value(std::move(stop));
  out["rows"] = std::move(rows);
  auto errors = json::object{};
  for (const auto& [code, count] : s.errors)
    errors[code] = count;
  out["errors"] = std::move(errors);
  out["last_error"] = s.last_error.empty() ? json::value(nullptr) : json::value(s.last_error);
  out["steps"] = s.steps;
  out["model_calls"] = s.model_calls;
  out["tool_calls"] = s.tool_calls;
  out["usage"] = std::move(usage);
  out["cost"] = s.cost ? json::value(*s.cost) : json::value(nullptr);
  out["rows_without_cost"] = s.rows_unpriced;
  out["seconds"] = s.seconds;
  out["rows_this_run"] = s.rows_this_run;
  out["rows_per_second"] = s.rows_per_second();
  out["times_ms"] = std::move(times);
  return out;
}

} // namespace superstep
