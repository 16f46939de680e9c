// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// The state of a job in a ledger that several processes share.
enum class shared_job_state : std::uint8_t {
  loading,   ///< its rows are being loaded; no row may run
  open,      ///< rows may run
  paused,    ///< no further row may start until the job is resumed
  cancelled, ///< no further row may start
  finished,  ///< all rows have ended
};

/// A chunk that a worker holds: the rows from `first` up to `bound`, without `bound`. `first`
/// identifies the chunk in its job. `fence` is a number that grows with each lease of the chunk, so
/// that the ledger refuses a worker that has lost it.
struct leased_chunk {
  std::uint64_t first = 0;
  std::uint64_t bound = 0;
  std::uint32_t fence = 0;

  bool operator==(const leased_chunk&) const = default;
};

/// Sums over rows: those that succeeded, those that failed, steps, model calls, tool calls, input,
/// output and all tokens, failed tool calls, cost, rows without a price, cached answers, and rows
/// with failed tool calls. The table `chunks` has a column for each (schema.cpp).
using chunk_sums = std::array<std::int64_t, 13>;

/// The part of a commit that concerns one chunk. A part without rows only renews the lease.
struct chunk_part {
  std::uint64_t first = 0;
  std::uint32_t fence = 0;
  std::uint64_t next = 0; ///< the first row that the worker does not start before its next commit
  chunk_sums sums{};      ///< of the rows of this part
};

/// A row that has ended.
struct row_end {
  std::uint64_t row = 0;
  std::size_t part = 0; ///< index of the row's chunk in commit_request::parts
  bool is_dead = false;
  bool is_final = false;         ///< whether a failed row is not to run again with --retry-dead
  bool is_in_part = false;       ///< whether `line` is a place in a part file
  bool is_unpriced = false;      ///< whether the cost of the row is not known
  bool has_failed_calls = false; ///< whether a tool call of the row has failed
  std::string_view line{};       ///< the output line, or its place in a part file
  std::string_view dead{};       ///< the dead letter; empty unless the row failed
};

struct commit_request {
  std::vector<chunk_part> parts;
  std::vector<row_end> rows;
};

/// The answer about one part of a commit.
struct part_answer {
  /// The outcome of a part.
  enum class verdict : std::uint8_t {
    stored,  ///< the rows are stored and the lease is renewed
    resized, ///< nothing was stored, because a row is not below the new bound of the chunk
    lost,    ///< nothing was stored, because another worker has leased the chunk
  };
  verdict what = verdict::stored;
  std::uint64_t bound = 0; ///< the present bound of the chunk; 0 if it is lost

  bool operator==(const part_answer&) const = default;
};

/// Sums over the rows of a job that other workers have stored, also earlier ones. The answers below
/// contain them only for a worker that stops at a budget, and with the counts of beat(), because
/// they cost the server some time.
struct spent_sums {
  std::int64_t cost = 0;   ///< in billionths of a US dollar
  std::int64_t tokens = 0; ///< input and output

  bool operator==(const spent_sums&) const = default;
};

struct commit_answer {
  shared_job_state job = shared_job_state::open;
  std::vector<part_answer> parts; ///< in the order of the request
  std::optional<spent_sums> spent{};
};

struct lease_answer {
  shared_job_state job = shared_job_state::open;
  std::uint32_t members = 1; ///< workers of the job that were seen lately, with this one
  std::vector<leased_chunk> chunks;
  std::optional<spent_sums> spent{};
};

/// A chunk that a worker holds, with the rows in it that are stored already.
struct held_chunk {
  leased_chunk chunk;
  std::vector<std::uint64_t> stored; ///< sorted
};

struct resolve_answer {
  shared_job_state job = shared_job_state::open;
  std::vector<held_chunk> chunks;
  std::optional<spent_sums> spent{};
};

struct beat_answer {
  shared_job_state job = shared_job_state::open;
  std::uint32_t members = 1;
  std::uint64_t done = 0; ///< rows of the job that have ended; 0 if it was not asked for
  std::uint64_t dead = 0; ///< failed ones among them
  std::optional<spent_sums> spent{};
};

/// A line of the input of a job.
struct input_text {
  std::uint64_t row = 0;  ///< number of the row in its job, from 0
  std::uint64_t line = 0; ///< number of its line in the input file
  std::string text;
  /// Number of the row's attempt, from 1. Attempts that a killed worker has made do not count.
  std::uint32_t attempt = 1;
};

/// The statements with which a worker takes part in a job. Each is one transaction. An error with
/// errc::io_failed means that the connection was lost or the server is not available, and that the
/// outcome of the statement is not known; resolve() then settles it. Other errors are final.
class ledger_db {
public:
  virtual ~ledger_db() = default;
  /// Leases up to `count` chunks: first chunks that no worker holds or whose lease has expired. If
  /// there is none and `may_split` is set, the upper half of the rows of another worker that it has
  /// not started becomes a chunk of this worker.
  /// @param starting rows of each chunk that the worker starts at once, so that they are not split
  [[nodiscard]] virtual result<lease_answer> lease(std::uint32_t count, bool may_split,
                                                   std::uint32_t starting) = 0;
  /// Returns the rows of chunks that are not stored, sorted.
  [[nodiscard]] virtual result<std::vector<input_text>>
  read(const std::vector<leased_chunk>& chunks) = 0;
  /// Renews the leases of chunks, checks their fences and stores rows, all or nothing per part.
  [[nodiscard]] virtual result<commit_answer> commit(const commit_request& request) = 0;
  /// Takes the chunks that the worker holds under new fences, so that an earlier statement that
  /// still runs has no effect any more, and returns what is stored in them. Also returns those of
  /// `chunks` whose last rows this worker has stored.
  [[nodiscard]] virtual result<resolve_answer> resolve(const std::vector<leased_chunk>& chunks) = 0;
  /// Gives chunks back, so that other workers need not wait for the end of their leases.
  [[nodiscard]] virtual result<void> release(const std::vector<leased_chunk>& chunks) = 0;
  /// Reports that the worker is alive, and opens chunks whose leases have expired.
  /// @param with_counts whether to count the rows that have ended, and what they have used
  [[nodiscard]] virtual result<beat_answer> beat(bool with_counts) = 0;
};

} // namespace superstep::detail
