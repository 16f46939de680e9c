// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace superstep::detail {

/// Returns the error for a run that starts an effect whose start another run has recorded.
[[nodiscard]] checkpoint_error effect_already_started(std::string_view thread_id);

/// Grants the threads of one checkpointer to the runs of this process, one run at a time and in the
/// order of their requests. All members may be called from any thread. Leases share ownership of
/// the queue.
class lease_queue : public std::enable_shared_from_this<lease_queue> {
public:
  using callback = std::function<void(result<lease_ptr>)>;
  /// Requests a lease; see checkpointer::take(). `done` is called before this returns, or by the
  /// thread that returns the lease.
  void take(const std::string& thread_id, busy_policy, callback done);

private:
  class lease;
  struct line {
    lease* holder = nullptr;      // null only while the lease passes to the next run
    std::deque<callback> waiting; // one per run
  };
  [[nodiscard]] lease_ptr grant(line&, const std::string& thread_id);
  void release(const lease&);

  std::mutex mutex_;
  std::map<std::string, line> lines_;
};

/// Acquires the leases of all these threads without waiting.
/// @param from a lease_queue or sqlite_lease_manager
/// @throws checkpoint_error{in_use} if a run holds one of them; those already acquired are returned
template <class From, class Names>
std::vector<lease_ptr> acquire_all(From& from, const Names& threads) {
  auto out = std::vector<lease_ptr>{};
  for (const auto& thread_id : threads) {
    auto got = result<lease_ptr>{lease_ptr{}};
    from.take(thread_id, busy_policy::refuse, // `refuse` calls back before take() returns
              [&got](result<lease_ptr> lent) { got = std::move(lent); });
    if (!got)
      throw checkpoint_error{got.error().code, got.error().text};
    out.push_back(std::move(*got));
  }
  return out;
}

} // namespace superstep::detail
