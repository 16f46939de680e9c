// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commit_pace.hpp"
#include "held_rows.hpp"
#include "ledger_db.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <variant>
#include <vector>

namespace superstep::detail {

/// Limits and times of a worker. The defaults are those of `superstep run --ledger`.
struct ledger_worker_options {
  std::chrono::milliseconds lease{60'000};    ///< duration of a lease
  std::chrono::milliseconds interval_min{20}; ///< shortest time between two commits
  std::chrono::milliseconds idle_poll{500};   ///< time between two leases without a chunk
  std::chrono::milliseconds ahead{30'000};    ///< the work that a worker holds, by row times
  std::chrono::milliseconds backoff_min{100}; ///< first pause after a lost connection
  std::chrono::milliseconds backoff_max{5'000};
  std::chrono::milliseconds reconnect_timeout{600'000}; ///< a worker without its server gives up
  std::uint32_t chunks_max = 16; ///< chunks that a worker holds or leases at a time
  std::size_t rows_max = 4'096;  ///< rows of a commit
  std::size_t concurrency = 64;  ///< rows that run at a time
  std::uint64_t seed = 1;        ///< for the jitter of pauses
};

/// The next action of the driver of a ledger_worker. Each but `pause` and `stop` is one call of
/// ledger_db. @{
struct lease_action {
  std::uint32_t count;
  bool may_split;
  std::uint32_t starting;
};
struct read_action {
  std::vector<leased_chunk> chunks;
};
struct resolve_action {
  std::vector<leased_chunk> chunks; ///< those that the worker held
};
struct release_action {
  std::vector<leased_chunk> chunks;
};
struct beat_action {
  bool with_counts;
};
/// A wait until `until`, unless an event comes first.
struct pause_action {
  ledger_time until;
};
/// The worker has ended; nothing follows.
struct stop_action {};
using ledger_action = std::variant<lease_action, read_action, commit_action, resolve_action,
                                   release_action, beat_action, pause_action, stop_action>;
/// @}

/// The state machine of one worker of a shared job: decides what to lease and when, when to commit,
/// and what to do after a lost connection. It has no thread, no clock and no connection: the driver
/// passes the time and the answers of a ledger_db. A driver calls next(), does what it returns and
/// reports the answer, one statement at a time, while rows start and end in between.
///
/// Not synchronised.
class ledger_worker {
public:
  explicit ledger_worker(const ledger_worker_options& options);

  // --- rows ---

  /// Takes the next row to run; nullopt if there is none at present.
  [[nodiscard]] std::optional<std::uint64_t> take(ledger_time now);
  /// Whether take() would return a row.
  [[nodiscard]] bool has_row(ledger_time now) const;
  /// Whether no row is left to start at present: the worker holds none, and it can lease none.
  [[nodiscard]] bool is_out_of_rows() const;
  /// Reports that a row that take() returned has ended and its line is to be stored.
  void ended(std::uint64_t row) { rows_.ended(row); }
  /// Reports that the driver waits until all rows that have ended are settled. Until then, commits
  /// do not wait for their time.
  void await_commit() noexcept { is_commit_awaited_ = true; }
  /// Specifies whether the driver has sums to store that belong to no row that has ended. They are
  /// then committed at once, also without a row, while the worker holds a chunk.
  void set_extra_sums(bool are_waiting) noexcept { are_sums_waiting_ = are_waiting; }
  /// Reports that no row runs any more: those that take() returned and that have not ended were
  /// given up, for example cancelled. They run again when another worker gets their chunks.
  void abandon_running() { rows_.abandon_running(); }
  /// Returns the rows that were settled since the last call.
  [[nodiscard]] std::vector<settled_row> take_settled() { return rows_.take_settled(); }
  /// No further row starts. When all rows that run have ended and are settled, the worker releases
  /// its chunks and stops.
  void drain() noexcept { is_draining_ = true; }
  /// Allows the worker to lease chunks before it has run out of rows, or forbids it because those
  /// that it holds take too much memory. Allowed at the start.
  void allow_ahead(bool is_allowed) noexcept { may_lease_ahead_ = is_allowed; }

  // --- statements ---

  /// Returns what to do now. For a statement, the worker is busy until its answer is reported.
  [[nodiscard]] ledger_action next(ledger_time now);
  void leased(const lease_answer& answer, ledger_time now);
  /// @param rows the rows of the chunks that are not stored, sorted
  void read(std::span<const std::uint64_t> rows, ledger_time now);
  void committed(const commit_answer& answer, ledger_time now);
  void resolved(const resolve_answer& answer, ledger_time now);
  void released();
  void beaten(const beat_answer& answer, ledger_time now);
  /// Reports that the outcome of the statement is not known.
  void failed(ledger_time now);

  // --- facts ---

  [[nodiscard]] shared_job_state job() const noexcept { return job_; }
  /// Whether the server was away for so long that the worker gave up. It then stops without
  /// settling its rows.
  [[nodiscard]] bool has_given_up() const noexcept { return has_given_up_; }
  /// Whether the connection was lost and is not available again.
  [[nodiscard]] bool is_waiting_for_server() const noexcept { return lost_at_.has_value(); }
  /// Returns the time between two commits that the load of the server allows.
  [[nodiscard]] std::chrono::nanoseconds commit_interval() const noexcept;
  /// The chunks and rows that the worker holds.
  [[nodiscard]] const held_rows& rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint32_t members() const noexcept { return members_; }

private:
  /// `connecting`: the outcome of the last statement, or the state of this worker's chunks, is not
  /// known. `idle`: no statement runs. `busy`: one runs. `stopped`: the end.
  enum class phase : std::uint8_t { connecting, idle, busy, stopped };

  void become(phase next);
  ledger_action begin(ledger_action action, ledger_time now);
  [[nodiscard]] ledger_action next_of_connecting(ledger_time now);
  [[nodiscard]] ledger_action next_of_idle(ledger_time now);
  [[nodiscard]] ledger_action give_up();
  [[nodiscard]] pause_action wait() const;
  [[nodiscard]] std::uint32_t wanted_chunks() const;
  [[nodiscard]] std::size_t starting_rows() const;
  [[nodiscard]] std::uint32_t free_slots() const;
  [[nodiscard]] bool is_commit_due(ledger_time now) const;
  [[nodiscard]] ledger_time renewal_due() const;
  [[nodiscard]] bool may_start() const noexcept;
  [[nodiscard]] bool must_end() const noexcept;
  void end_statement(shared_job_state job);
  [[nodiscard]] bool counts_rows() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds beat_interval() const noexcept;
  [[nodiscard]] std::chrono::nanoseconds jittered(std::chrono::nanoseconds pause);

  ledger_worker_options options_;
  std::mt19937_64 random_;
  phase phase_ = phase::connecting;
  shared_job_state job_ = shared_job_state::open;
  bool is_draining_ = false;
  bool has_given_up_ = false;
  bool may_lease_ahead_ = true;
  bool is_commit_awaited_ = false;
  bool are_sums_waiting_ = false;
  bool found_no_chunk_ = false; ///< whether the last lease was empty
  bool must_resolve_ = false;   ///< whether a commit was refused, so the leases are not known
  held_rows rows_;
  commit_pace pace_;
  commit_action committing_; ///< the commit that runs
  std::uint32_t members_ = 1;
  ledger_time begun_{0};       ///< start of the statement that runs
  ledger_time next_commit_{0}; ///< earliest time of the next commit
  ledger_time next_lease_{0};  ///< earliest time of the next lease after one without a chunk
  ledger_time next_beat_{0};
  ledger_time next_connect_{0};
  std::optional<ledger_time> lost_at_; ///< when the connection was lost
  std::chrono::nanoseconds backoff_{0};
  std::size_t rows_per_chunk_ = 1; ///< size of the last chunk leased
};

} // namespace superstep::detail
