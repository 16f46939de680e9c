// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input_row.hpp"
#include "key_digest.hpp"

#include <superstep/batch/batch_options.hpp>

#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Numbers of the rows of a job.
struct row_numbers {
  std::uint64_t all = 0;    ///< runs of the job: rows, each `repeat` times, and invalid lines
  std::uint64_t wanted = 0; ///< those of them that batch_options::limit allows
};

/// Selects the rows of the input that belong to a job: its shard, its sample, and the first of them
/// up to its limit. The selection depends only on the options and the rows, so every run of a job
/// has the same rows.
///
/// Usage: see() for each row of the input, finish(), then contains() for each row.
class row_selection {
public:
  explicit row_selection(const batch_options& options);

  /// Counts one row of the input.
  void see(const key_digest& row, bool is_bad);
  /// Returns the number of rows. Call it after the last call of see().
  [[nodiscard]] row_numbers finish();
  /// Whether a row belongs to the shard and to the sample. @pre finish() was called
  [[nodiscard]] bool contains(const key_digest& row) const noexcept;

private:
  /// A row that may belong to the sample.
  struct candidate {
    std::uint64_t weight; ///< a random number; the rows with the lowest numbers are the sample
    std::uint64_t position;
    bool is_bad;

    friend bool operator<(const candidate& a, const candidate& b) noexcept {
      return a.weight < b.weight;
    }
  };

  [[nodiscard]] bool is_in_shard(const key_digest& row) const noexcept;
  [[nodiscard]] std::uint64_t weight_of(const key_digest& row) const noexcept;
  void count(row_numbers& into, bool is_bad) noexcept;

  std::uint64_t shard_;
  std::uint64_t shards_;
  std::optional<std::uint64_t> sample_;
  std::uint64_t seed_;
  std::uint64_t repeat_;
  std::uint64_t limit_;
  std::priority_queue<candidate> candidates_; ///< the largest weight is on top
  std::uint64_t weight_max_ = UINT64_MAX;
  std::uint64_t position_ = 0; ///< number of rows in the shard
  std::uint64_t counted_ = 0;
  row_numbers numbers_;
};

/// The option --repeat of a job, and the seed of the first sample of each row.
struct row_repeats {
  std::uint32_t samples = 1; ///< runs of each row
  std::uint64_t seed = 1;    ///< of sample 1
};

/// Reads the result of repeat_text(). An empty text means that each row runs once.
[[nodiscard]] result<row_repeats> repeats_of(std::string_view text);

/// Turns a row into one of its samples, with an id and a seed of its own. A row that runs once
/// stays as it is.
/// @param sample from 1 to `of.samples`
[[nodiscard]] input_row sample_of(input_row row, std::uint32_t sample, const row_repeats& of);

/// Returns the texts of the options for the header of the journal; empty for the default. @{
[[nodiscard]] std::string shard_text(const batch_options& options);
[[nodiscard]] std::string sample_text(const batch_options& options);
[[nodiscard]] std::string repeat_text(const batch_options& options);
/// @}

} // namespace superstep::detail
