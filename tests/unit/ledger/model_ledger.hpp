// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ledger/ledger_db.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace superstep::testing {

/// A job of a ledger in memory, with the behaviour of the functions in ledger/schema.cpp. The
/// simulation uses it as database, and a test compares it with a real server. Times are those of
/// the server, since any fixed start.
class model_ledger {
public:
  using time = std::chrono::nanoseconds;

  /// A row of the table `chunks`.
  struct chunk {
    std::uint64_t bound = 0;
    std::uint32_t fence = 0;
    int state = 0; ///< 0: open, 1: leased, 2: done
    std::string worker{};
    time until{0};
    std::uint64_t next = 0;
    detail::chunk_sums sums{};

    bool operator==(const chunk&) const = default;
  };

  model_ledger(std::uint64_t rows, std::uint64_t chunk_rows, time lease);

  void set_state(detail::shared_job_state state) { state_ = state; }

  detail::lease_answer lease(const std::string& worker, std::uint32_t count, bool may_split,
                             std::uint32_t starting, time now);
  [[nodiscard]] std::vector<std::uint64_t>
  read(const std::vector<detail::leased_chunk>& chunks) const;
  /// @param rows is_dead of each row decides its status; lines are ignored
  detail::commit_answer commit(const std::string& worker, const detail::commit_request& request,
                               time now);
  detail::resolve_answer resolve(const std::string& worker,
                                 const std::vector<detail::leased_chunk>& chunks, time now);
  void release(const std::string& worker, const std::vector<detail::leased_chunk>& chunks);
  detail::beat_answer beat(const std::string& worker, bool with_counts, time now);

  /// Restarts the server after a crash: statements without synchronous commit are lost if no
  /// commit followed them. `kept` of them survive.
  void crash(std::size_t kept);
  /// Number of statements that a crash could undo.
  [[nodiscard]] std::size_t unsynced() const noexcept { return undo_.size(); }

  [[nodiscard]] const std::map<std::uint64_t, chunk>& chunks() const noexcept { return chunks_; }
  /// The status of each row: 0 not stored, 1 ok, 2 failed.
  [[nodiscard]] const std::vector<std::uint8_t>& outputs() const noexcept { return outputs_; }
  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }
  /// The sums over all rows that are stored.
  [[nodiscard]] const detail::spent_sums& spent() const noexcept { return spent_; }
  [[nodiscard]] bool is_finished() const noexcept { return done_chunks_ == chunks_.size(); }

private:
  struct undo {
    std::uint64_t first;
    bool is_new; ///< whether the statement created the chunk
    chunk before;
  };

  detail::shared_job_state state_of() const;
  std::uint32_t see(const std::string& worker, time now);
  detail::leased_chunk take(std::uint64_t first, const std::string& worker, std::uint32_t starting,
                            time now);
  bool split(const std::string& worker, std::uint32_t starting, time now,
             detail::lease_answer& into);
  void change(std::uint64_t first, chunk& from, chunk to);
  void note(std::uint64_t first);
  [[nodiscard]] detail::spent_sums spent_by_others(const std::string& worker) const;

  std::map<std::uint64_t, chunk> chunks_;
  std::map<std::uint64_t, chunk*> open_;
  std::map<std::uint64_t, chunk*> leased_;
  std::size_t done_chunks_ = 0;
  std::vector<std::uint8_t> outputs_;
  std::uint64_t stored_ = 0;
  detail::spent_sums spent_;
  std::map<std::string, detail::spent_sums> spent_by_; ///< the parts of the workers in it
  std::map<std::string, time> seen_;
  time lease_;
  detail::shared_job_state state_ = detail::shared_job_state::open;
  std::vector<std::vector<undo>> undo_; ///< for each statement since the last commit
};

} // namespace superstep::testing
