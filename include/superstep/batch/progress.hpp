// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>

namespace superstep {

/// The progress of a job. Counts are of the whole job, rates and times of this run.
struct batch_progress {
  std::uint64_t rows = 0;            ///< rows of the input
  std::uint64_t done = 0;            ///< finished rows, failed ones included
  std::uint64_t failed = 0;          ///< rows in the dead letters
  std::size_t in_flight = 0;         ///< rows that are running
  std::int64_t tokens = 0;           ///< tokens used, input and output
  double rows_per_second = 0;        ///< since the start of this run
  double elapsed_seconds = 0;        ///< since the start of this run
  std::optional<double> eta_seconds; ///< estimated rest; nullopt before the first row has finished
  std::chrono::nanoseconds p50{0};   ///< median duration of a row
  std::chrono::nanoseconds p95{0};   ///< 95th percentile of the duration of a row
  bool draining = false;             ///< whether the job is stopping
};

/// Receives the progress of a job. All members are called by the thread that called run_batch().
class progress_sink {
public:
  virtual ~progress_sink() = default;
  /// Returns the requested time between two calls of update().
  [[nodiscard]] virtual std::chrono::milliseconds interval() const noexcept = 0;
  /// Reports the current progress.
  virtual void update(const batch_progress& now) = 0;
  /// Reports something that the user should know, e.g. "resumed: 400 of 1319 rows are done".
  virtual void note(std::string_view text) = 0;
  /// The last call. Completes a line of output that is still open.
  virtual void finish(const batch_progress& now) = 0;
};

/// The form of the progress output.
enum class progress_mode : std::uint8_t {
  bar,   ///< one line that is rewritten every 200 ms
  plain, ///< a line every 5 s
  json,  ///< a JSON object per line, every second
  none,  ///< notes only
};

/// Parses `auto|bar|plain|json|none`; nullopt for other words. `auto` is bar on a terminal, else
/// plain.
[[nodiscard]] std::optional<progress_mode> parse_progress_mode(std::string_view word,
                                                               bool is_terminal);

/// Makes a sink that writes to `out`, which must outlive it. The command line passes standard
/// error.
[[nodiscard]] std::unique_ptr<progress_sink> make_progress_sink(progress_mode mode,
                                                                std::ostream& out);

} // namespace superstep
