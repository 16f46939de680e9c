// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/result_line.hpp"
#include "results/score_groups.hpp"

#include <superstep/base/distribution.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::results {

/// A row in a list of a report. Texts are shortened.
struct reported_row {
  std::string key;
  result_status status = result_status::ok;
  std::string_view status_text; ///< see result_line::status_text()
  double wall_ms = 0;
  std::optional<std::uint64_t> steps;
  std::optional<std::uint64_t> model_calls;
  std::optional<std::uint64_t> tool_calls;
  std::optional<std::uint64_t> tokens;
  std::string text; ///< the answer, or the error's message
};

/// The numbers of one class of errors.
struct error_class {
  std::uint64_t rows = 0;
  std::vector<reported_row> examples; ///< the first rows
};

/// The numbers of one tool.
struct tool_numbers {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t without_result = 0; ///< calls whose results were discarded, because a step failed
};

/// Options of a report.
struct report_options {
  std::size_t slowest_max = 20; ///< rows in the list of the slowest rows
  std::size_t examples_max = 5; ///< rows per class of errors
  std::size_t names_max = 200;  ///< classes of errors and tools; the others are counted together
  std::size_t text_bytes = 300; ///< bytes of an answer or message in a list
};

/// Statistics of the rows of an output file, in constant memory.
class report {
public:
  report() = default;
  explicit report(report_options options) : options_{options} {}

  /// Reads an output file to its end, and the summary beside it if there is one.
  [[nodiscard]] static result<report> of_file(const std::string& path, report_options options = {});
  /// Adds a row.
  void add(const result_line& row);
  /// Sets the content of the job's summary file.
  void set_summary(json::object summary) { summary_ = std::move(summary); }

  std::string path;              ///< the file
  bool is_torn = false;          ///< whether the file ends with an incomplete line
  std::uint64_t ok = 0;          ///< rows that succeeded
  std::uint64_t failed = 0;      ///< rows that failed
  std::uint64_t cancelled = 0;   ///< rows that were cancelled
  std::uint64_t unknown = 0;     ///< rows whose lines do not show how the rows ended
  std::int64_t input_tokens = 0; ///< of the rows whose lines have a usage, as `tokens`
  std::int64_t output_tokens = 0;
  std::uint64_t cached_answers = 0;         ///< answers that came from the answer cache
  std::optional<std::uint64_t> model_calls; ///< not set: no line has the number
  std::optional<std::uint64_t> tool_calls;
  double cost = 0;               ///< sum of the known costs
  std::uint64_t rows_priced = 0; ///< rows with a cost
  std::uint64_t rows_scored = 0; ///< rows with a score
  score_groups scores;           ///< the scores by the rows of the input
  std::string scored_by;         ///< how the scores were made; empty if it is not known
  histogram latency;             ///< durations of rows
  distribution tokens;           ///< tokens of rows, input and output
  distribution steps;            ///< super-steps of rows
  histogram barrier;             ///< times that a row's tool calls waited for others
  std::map<std::string, error_class> errors;
  std::map<std::string, tool_numbers> tools;

  /// Returns the mean score with its confidence interval.
  [[nodiscard]] rate score() const noexcept { return scores.interval(); }
  [[nodiscard]] std::uint64_t rows() const noexcept { return ok + failed + cancelled + unknown; }
  /// The slowest rows, the slowest first.
  [[nodiscard]] std::vector<reported_row> slowest() const;
  /// The job's summary file; empty if it is missing.
  [[nodiscard]] const json::object& summary() const noexcept { return summary_; }

private:
  template <class T>
  [[nodiscard]] T& counter(std::map<std::string, T>& all, const std::string& name) const;

  report_options options_;
  std::vector<reported_row> slowest_; // a heap with the fastest row at the front
  json::object summary_;
};

/// Converts a duration to milliseconds.
[[nodiscard]] inline double in_ms(std::chrono::nanoseconds duration) noexcept {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// Returns the number of scored rows as text.
/// @param repeated see score_groups::repeated_rows()
[[nodiscard]] std::string counted_scores(std::uint64_t rows, std::uint64_t repeated);

/// Returns a number as text; `-` if it is not known.
[[nodiscard]] std::string known(const std::optional<std::uint64_t>& number);

/// Returns the report as text for a terminal, without a trailing newline.
[[nodiscard]] std::string to_text(const report&);
/// Returns the report as JSON; docs/reports.md describes its members.
[[nodiscard]] json::object to_json(const report&);
/// Returns the report as one HTML file that loads nothing else.
[[nodiscard]] std::string to_html(const report&);

} // namespace superstep::results
