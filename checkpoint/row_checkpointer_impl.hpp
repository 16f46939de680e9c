// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_backend.hpp"
#include "checkpoint_codec.hpp"
#include "row_checkpointer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The implementation of an row_checkpointer: the cache of thread states, and the reader
/// and writer of the database. Functions may be called from any operating-system thread. The
/// writer's mutex protects the cache, and `read_mutex_` the reader. No thread holds both at the
/// same time, so that a slow read does not block writes.
class row_checkpointer::impl {
public:
  impl(std::unique_ptr<detail::checkpoint_backend> on, const row_checkpointer_options& options)
      : options_{options}, on_{std::move(on)},
        writer_{detail::write_queue::start(on_->make_sink(), options)},
        leases_{on_->make_leases(writer_)}, reader_{on_->make_reader()} {}
  ~impl() { writer_->stop(); }

  std::optional<saved_checkpoint> load(const thread_key& key, std::string_view id,
                                       const layout_ptr& as);
  std::vector<saved_checkpoint> list(const thread_key& key, const checkpoint_query& query,
                                     const layout_ptr& as);
  std::string head(const thread_key& key);
  void put(const thread_key& key, checkpoint_ptr point, bool now);
  void put_task(const thread_key& key, const checkpoint& parent, task_record&& record);
  bool when_saved(const thread_key& key, std::function<void()> done);
  void check(const thread_key& key);
  void put_effect(std::string_view thread_id, detail::effect_write&& effect);
  void wait_for_effect(std::string_view thread_id, std::string_view key);
  void wait_for_writes(std::string_view thread_id);
  void wait_for_all_writes();
  void forget(std::string_view thread_id);
  void fail_run_of_deleted(std::string_view thread_id);
  std::size_t prune(const prune_options& what);
  /// Calls `what` in a transaction of its own, on the writer thread. It also gets a reader with
  /// another connection.
  void maintain(const std::function<void(detail::database&, detail::row_reader&)>& what);
  [[nodiscard]] lease_ptr pin(const std::string& thread_id, lease_ptr own);
  [[nodiscard]] detail::write_queue& writer() noexcept { return *writer_; }
  [[nodiscard]] detail::lease_manager& leases() noexcept { return *leases_; }
  template <class Read>
  auto reading(Read read) {
    const auto lock = std::scoped_lock{read_mutex_};
    return read(*reader_);
  }

private:
  using lock_type = std::unique_lock<std::mutex>;

  [[nodiscard]] detail::thread_state_ptr& state_of(std::string_view thread_id);
  [[nodiscard]] detail::namespace_head_ptr namespace_of(detail::thread_state& thread,
                                                        const thread_key& key);
  void drop_failed_state(const thread_key& key);
  void forget_branch_bases(const std::set<std::string>& pruned);
  [[nodiscard]] static bool is_idle(const detail::thread_state_ptr& thread);
  void evict();
  void evict(detail::thread_state& thread);
  [[nodiscard]] bool is_current(lock_type&, const detail::thread_state_ptr&,
                                detail::namespace_head&);
  static void adopt_newest(const detail::thread_state& thread, detail::namespace_head& head,
                           detail::loaded_checkpoint newest);
  [[nodiscard]] static const detail::loaded_checkpoint* base_for(const detail::namespace_head&,
                                                                 const checkpoint&);
  void write(detail::pending_write&, const checkpoint&,
             const detail::loaded_checkpoint* base) const;

  const row_checkpointer_options options_;
  std::unique_ptr<detail::checkpoint_backend> on_;
  std::shared_ptr<detail::write_queue> writer_;
  std::unique_ptr<detail::lease_manager> leases_;
  std::mutex read_mutex_;
  std::unique_ptr<detail::row_reader> reader_;
  std::map<std::string, detail::thread_state_ptr, std::less<>> threads_; // by thread id
  std::uint64_t next_eviction_ = 0; // the earliest number of `uses_` at which evict() is called
  std::uint64_t uses_ = 0;          // counts accesses, to find the least recently used states
};

} // namespace superstep
