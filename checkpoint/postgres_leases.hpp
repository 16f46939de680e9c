// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease_manager.hpp"
#include "lease_queue.hpp"
#include "postgres/pg_connection.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace superstep::detail {

/// The leases that this process has in a PostgreSQL database. A lease is a row with a number that
/// grows with each grant, its fence, and a time of the server until which it is valid. A thread of
/// this object renews the leases. A process that is killed keeps its leases until that time.
///
/// A lease that was lost is noticed at the next renewal. Each write also compares the holder, so a
/// process that has lost a thread cannot write to it before that.
/// @par Threads
/// All members may be called from any thread.
/// @par Lifetime
/// Shared by the checkpointer and the leases that it has granted.
class postgres_leases : public std::enable_shared_from_this<postgres_leases> {
public:
  using callback = std::function<void(result<lease_ptr>)>;

  /// @param lease_time validity of a lease without renewal
  /// @param reconnect how long a request tries to reach the server
  /// @param is_cancelled see pg_connection
  postgres_leases(pg_address address, std::chrono::milliseconds lease_time,
                  std::chrono::milliseconds reconnect, std::function<bool()> is_cancelled);
  postgres_leases(const postgres_leases&) = delete;
  postgres_leases& operator=(const postgres_leases&) = delete;
  ~postgres_leases() = default;
  /// Starts the thread. @throws checkpoint_error
  void start();
  /// Releases the leases that are not in use, and ends the thread. Waiting runs get the error
  /// checkpoint_errc::in_use.
  void stop() noexcept;

  /// Acquires a thread for a run that has the lease among the runs of this process.
  /// @param done called before take() returns, unless the run has to wait
  void take(const std::string& thread_id, busy_policy choice, lease_ptr own, callback done);
  /// Returns the fence of the lease on a thread; 0 if this process does not have one.
  [[nodiscard]] std::int64_t fence_of(std::string_view thread_id);
  /// Returns the number of this process in the table of leases.
  [[nodiscard]] std::int64_t holder() const noexcept { return holder_; }

private:
  class lease;
  /// A lease of this process. It stays in the map for a moment after its last use, so that the next
  /// run of the process need not ask the server.
  struct held_lease {
    std::int64_t fence = 0;
    std::size_t uses = 0;
    std::shared_ptr<std::atomic<bool>> is_lost = std::make_shared<std::atomic<bool>>(false);
  };
  struct waiting_run {
    std::string thread_id;
    lease_ptr own;
    callback done;
    std::chrono::steady_clock::time_point since;
  };
  using grants = std::map<std::string, std::int64_t>;         // fences by thread id
  using failures = std::map<std::string, error, std::less<>>; // by thread id
  using lock_type = std::unique_lock<std::mutex>;

  held_lease& add(const std::string& thread_id, std::int64_t fence);
  template <class Give>
  static void move_ready(std::vector<waiting_run>& runs,
                         std::vector<std::pair<waiting_run, lease_ptr>>& ready, Give give);
  [[nodiscard]] lease_ptr use(const std::string& thread_id, held_lease& held, lease_ptr own);
  [[nodiscard]] lease_ptr use_if_held(const std::string& thread_id, const lease_ptr& own);
  void release(const std::string& thread_id, std::int64_t fence) noexcept;
  [[nodiscard]] result<grants> ask(const std::vector<std::string>& threads, bool takes_over);
  [[nodiscard]] grants ask_for_each(const std::vector<std::string>& threads, failures& failed);
  [[nodiscard]] result<lease_ptr> take_now(const std::string& thread_id, bool takes_over,
                                           lease_ptr own);
  void work();
  void poll(lock_type&);
  void renew(lock_type&);
  void give_back(lock_type&);
  [[nodiscard]] std::chrono::steady_clock::time_point next_look() const;

  const std::int64_t holder_; ///< identifies this process in the table
  const std::chrono::milliseconds lease_time_;
  const std::chrono::milliseconds reconnect_;
  std::mutex connection_mutex_; ///< protects the connection; locked before `mutex_`, if both are
  pg_connection connection_;

  std::mutex mutex_; ///< protects the members below
  std::condition_variable changed_;
  std::map<std::string, held_lease, std::less<>> held_; // by thread id
  std::vector<waiting_run> waiting_;
  std::chrono::steady_clock::time_point renewed_;
  bool has_unused_ = false; ///< whether a lease in `held_` has no use
  bool is_stopping_ = false;
  std::thread thread_;
};

/// Grants the leases of a postgres_leases to the runs of this process, one after another.
class postgres_lease_manager final : public lease_manager {
public:
  explicit postgres_lease_manager(std::shared_ptr<postgres_leases> leases)
      : leases_{std::move(leases)} {}
  ~postgres_lease_manager() override { leases_->stop(); }
  void take(const std::string& thread_id, busy_policy choice,
            std::function<void(result<lease_ptr>)> done) override;
  [[nodiscard]] bool releases_after_writes() const noexcept override { return true; }

private:
  std::shared_ptr<lease_queue> queue_ = std::make_shared<lease_queue>();
  std::shared_ptr<postgres_leases> leases_;
};

} // namespace superstep::detail
