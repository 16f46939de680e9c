// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::detail {

/// Returns the error of a run that tries to start an effect although another run has already
/// recorded the start of this effect.
[[nodiscard]] checkpoint_error effect_already_started(std::string_view thread_id);

/// Returns the error of a run that has lost the lease on its thread: another run has taken the
/// thread over, or the thread was deleted.
[[nodiscard]] error thread_taken_over(std::string_view thread_id);

/// Returns the error of a run whose thread was deleted meanwhile.
[[nodiscard]] error thread_deleted(std::string_view thread_id);

/// Grants leases on the threads of one checkpointer to the runs of this process. Each thread has
/// one holder at a time, and waiting runs get the lease in the order of their requests. Leases
/// share ownership of the queue. All members may be called from any operating-system thread.
class lease_queue : public std::enable_shared_from_this<lease_queue> {
public:
  using callback = std::function<void(result<lease_ptr>)>;
  /// Requests a lease; see checkpointer::take(). `done` is called before take() returns, or later
  /// by the operating-system thread on which the current holder releases its lease.
  void take(const std::string& thread_id, busy_policy, callback done);
  /// Marks the lease on a thread as lost, because the thread was deleted. Other runs still wait
  /// until the run returns it.
  void revoke(std::string_view thread_id);

private:
  class lease;
  /// The runs that hold or want one thread.
  struct line {
    /// Null if the holder has returned its lease, or while the lease is passed on.
    lease* holder = nullptr;
    /// The number of leases that were taken over and not returned yet. Their runs still use the
    /// thread.
    std::size_t former_holders = 0;
    std::deque<callback> waiting; ///< callbacks of the waiting runs, oldest first
  };
  [[nodiscard]] lease_ptr grant(line&, const std::string& thread_id);
  void release(const lease&);

  std::mutex mutex_;
  std::map<std::string, line, std::less<>> lines_;
};

/// Acquires the leases of several threads without waiting.
/// @param from a lease_queue or lease_manager
/// @throws checkpoint_error{in_use} if a run or an edit holds one of the threads; leases acquired
///   so far are released
template <class From, class Names>
std::vector<lease_ptr> acquire_all(From& from, const Names& threads) {
  auto out = std::vector<lease_ptr>{};
  for (const auto& thread_id : threads) {
    auto got = result<lease_ptr>{lease_ptr{}};
    from.take(thread_id, busy_policy::refuse, // with `refuse`, take() calls back before it returns
              [&got](result<lease_ptr> lent) { got = std::move(lent); });
    if (!got)
      throw checkpoint_error{got.error().code, got.error().text};
    out.push_back(std::move(*got));
  }
  return out;
}

} // namespace superstep::detail
