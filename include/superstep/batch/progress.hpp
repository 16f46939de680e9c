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

/// Where a job stands. Counts are of the whole job, rates of this run.
struct batch_progress {
  std::uint64_t rows = 0;
  std::uint64_t done = 0; ///< ok and failed
  std::uint64_t failed = 0;
  std::size_t in_flight = 0;
  std::int64_t tokens = 0;
  double rows_per_second = 0;
  double elapsed_seconds = 0;
  std::optional<double> eta_seconds; ///< unknown before the first row has ended
  std::chrono::nanoseconds p50{0};   ///< of a row
  std::chrono::nanoseconds p95{0};
  bool draining = false;
};

/// Is told now and then how the job stands; called by the thread that called run_batch() only.
class progress_sink {
public:
  virtual ~progress_sink() = default;
  /// How often update() is wanted.
  [[nodiscard]] virtual std::chrono::milliseconds interval() const noexcept = 0;
  virtual void update(const batch_progress& now) = 0;
  /// Something the user should read although the job goes on: "resumed: 400 of 1319 rows are done".
  virtual void note(std::string_view text) = 0;
  /// The last call; ends a line that is still open.
  virtual void finish(const batch_progress& now) = 0;
};

enum class progress_mode : std::uint8_t {
  bar,   ///< one line that rewrites itself, every 200 ms
  plain, ///< a line every 5 s
  json,  ///< a JSON object per line, every second
  none,  ///< notes only
};

/// `auto|bar|plain|json|none`; auto is bar on a terminal, else plain. Empty for any other word.
[[nodiscard]] std::optional<progress_mode> parse_progress_mode(std::string_view word,
                                                               bool is_terminal);

/// Writes to `out`, which outlives the sink: standard error in the command line.
[[nodiscard]] std::unique_ptr<progress_sink> make_progress_sink(progress_mode mode,
                                                                std::ostream& out);

} // namespace superstep
