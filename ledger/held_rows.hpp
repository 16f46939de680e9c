// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger_db.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace superstep::detail {

/// A time since any fixed start. The worker compares times only with each other.
using ledger_time = std::chrono::nanoseconds;

/// A row whose end is settled: either stored, or refused because the chunk is another worker's.
struct settled_row {
  std::uint64_t row;
  bool is_stored;
};

/// A commit to run: `parts` without sums, and the rows of each part. The driver adds the sums and
/// the lines.
struct commit_action {
  std::vector<chunk_part> parts;
  std::vector<std::vector<std::uint64_t>> rows;
};

/// The state of a row of a chunk that a worker holds.
enum class row_state : std::uint8_t {
  settled,    ///< stored, or not known yet
  ready,      ///< may start
  running,    ///< take() returned it
  ended,      ///< its line is to be stored
  committing, ///< a commit with its line runs
};

/// A chunk that a worker holds, and the states of its rows.
class worker_chunk {
public:
  explicit worker_chunk(std::uint64_t first) noexcept : first_{first}, cursor_{first} {}

  std::uint32_t fence = 0;
  bool is_read = false; ///< whether it is known which rows are left
  ledger_time until{0}; ///< end of the lease by this worker's clock; never too late

  [[nodiscard]] std::uint64_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint64_t bound() const noexcept { return first_ + rows_.size(); }
  [[nodiscard]] leased_chunk lease() const { return {first_, bound(), fence}; }
  /// @pre first() <= row < bound()
  [[nodiscard]] row_state state(std::uint64_t row) const { return rows_[index(row)]; }
  void set(std::uint64_t row, row_state to);
  [[nodiscard]] std::uint32_t count(row_state of) const noexcept {
    return counts_[static_cast<std::size_t>(of)];
  }
  /// Returns the number of rows that are not settled.
  [[nodiscard]] std::size_t open() const noexcept {
    return rows_.size() - count(row_state::settled);
  }
  /// Returns the number of rows that may start, as far as the worker knows.
  [[nodiscard]] std::size_t startable() const noexcept {
    return is_read ? count(row_state::ready) : rows_.size();
  }
  /// Sets the next row that is ready to `running`, and returns it. @pre there is one
  [[nodiscard]] std::uint64_t start_row();
  /// Changes the bound. Added rows are settled.
  void resize(std::uint64_t bound);

private:
  [[nodiscard]] std::size_t index(std::uint64_t row) const noexcept {
    SUPERSTEP_ASSERT(row >= first_ && row < bound());
    return row - first_;
  }

  std::uint64_t first_;
  std::uint64_t cursor_;                  // no row before it is ready
  std::vector<row_state> rows_;           // from the chunk's first row
  std::array<std::uint32_t, 5> counts_{}; // rows by their states
};

/// The chunks of rows that one worker of a shared job holds, and the rows that it runs. It decides
/// nothing: ledger_worker reports what was leased, stored or lost.
///
/// Not synchronised.
class held_rows {
public:
  using chunk_map = std::map<std::uint64_t, worker_chunk>; ///< by the first rows

  [[nodiscard]] const chunk_map& chunks() const noexcept { return chunks_; }
  /// Returns the chunks with their fences.
  [[nodiscard]] std::vector<leased_chunk> leases() const;
  /// Returns the chunks of which it is not known which rows are left.
  [[nodiscard]] std::vector<leased_chunk> unread() const;
  /// Number of rows that take() returned and that have not ended.
  [[nodiscard]] std::size_t running() const noexcept { return running_; }
  /// Number of rows that have ended and are not settled.
  [[nodiscard]] std::size_t unsettled() const noexcept { return ended_; }
  /// Number of rows that ran for nothing, because their chunk was lost or split.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }

  /// Whether take() would return a row.
  [[nodiscard]] bool has_ready(ledger_time now) const;
  /// Takes the next row to run; nullopt if there is none at present.
  [[nodiscard]] std::optional<std::uint64_t> take(ledger_time now);
  /// Reports that a row that take() returned has ended and its line is to be stored.
  void ended(std::uint64_t row);
  /// Reports that no row runs any more. Those that have not ended are ready again.
  void abandon_running();
  /// Returns the rows that were settled since the last call.
  [[nodiscard]] std::vector<settled_row> take_settled() { return std::exchange(settled_, {}); }

  /// Adds a chunk whose rows are not known yet, or updates one that the worker holds.
  void adopt(const leased_chunk& lease, ledger_time until);
  /// Stores which rows of the unread chunks are left.
  /// @param rows the rows of these chunks that are not stored, sorted
  void fill(std::span<const std::uint64_t> rows);
  /// Returns a commit that renews all leases and contains at most `room` rows that have ended.
  /// @param starting number of rows that will start before the next commit. No other worker takes
  /// them over, because it would run them a second time.
  [[nodiscard]] commit_action begin_commit(std::size_t room, std::size_t starting);
  /// Settles the rows of a part of a commit if they are stored; otherwise they have ended again.
  void end_commit(std::uint64_t first, std::span<const std::uint64_t> rows, bool is_stored);
  void renew(std::uint64_t first, ledger_time until);
  /// Removes the rows of a chunk from `bound` on, which are another worker's now.
  void cut(std::uint64_t first, std::uint64_t bound);
  /// Removes a chunk whose rows are all settled; does nothing for others.
  void remove_if_settled(std::uint64_t first);
  /// Sets the state of a chunk that the worker still holds after the outcome of a statement was
  /// unknown, or adds it if the answer to its lease was lost.
  void resolve(const held_chunk& as, ledger_time until);
  /// Removes the chunks that are not among `held`, because other workers have leased them.
  void lose_others(std::span<const held_chunk> held);
  /// Removes the chunks without a word about their rows, which no worker runs.
  void clear();

private:
  [[nodiscard]] chunk_map::iterator find(std::uint64_t row);
  [[nodiscard]] worker_chunk& at(std::uint64_t first);
  void fill(worker_chunk& into, std::span<const std::uint64_t> rows);
  void drop(std::uint64_t row, row_state was);
  void settle(std::uint64_t row, bool is_stored);

  chunk_map chunks_;
  std::set<std::uint64_t> orphans_; // rows that run although their chunk is another worker's
  std::vector<settled_row> settled_;
  std::size_t running_ = 0;
  std::size_t ended_ = 0;
  std::uint64_t refused_ = 0;
};

} // namespace superstep::detail
