// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_codec.hpp"
#include "sqlite_file_checkpointer.hpp"
#include "sqlite_lease_manager.hpp"
#include "sqlite_reader.hpp"
#include "sqlite_writer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The implementation of an sqlite_file_checkpointer: the cache of thread states, and the reader
/// and writer of the database. Functions may be called from any operating-system thread. The
/// writer's mutex protects the cache, and `read_mutex_` the reader. No thread holds both at the
/// same time, so that a slow read does not block writes.
class sqlite_file_checkpointer::impl {
public:
  impl(const std::string& path, const sqlite_checkpointer_options& options)
      : options_{options}, writer_{detail::sqlite_writer::start(path, options)},
        leases_{path, writer_},
        reader_{path, options.busy_timeout, detail::row_cipher{options.encryption_key}} {}
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
  void forget_branch_bases(std::string_view thread_id);
  [[nodiscard]] lease_ptr pin(const std::string& thread_id, lease_ptr own);
  [[nodiscard]] detail::sqlite_writer& writer() noexcept { return *writer_; }
  [[nodiscard]] detail::sqlite_lease_manager& leases() noexcept { return leases_; }
  template <class Read>
  auto reading(Read read) {
    const auto lock = std::scoped_lock{read_mutex_};
    return read(reader_);
  }

private:
  using lock_type = std::unique_lock<std::mutex>;

  [[nodiscard]] detail::thread_state_ptr& state_of(std::string_view thread_id);
  [[nodiscard]] detail::namespace_head_ptr namespace_of(detail::thread_state& thread,
                                                        const thread_key& key);
  void drop_failed_state(const thread_key& key);
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

  const sqlite_checkpointer_options options_;
  std::shared_ptr<detail::sqlite_writer> writer_;
  detail::sqlite_lease_manager leases_;
  std::mutex read_mutex_;
  detail::sqlite_reader reader_;
  std::map<std::string, detail::thread_state_ptr, std::less<>> threads_; // by thread id
  std::uint64_t uses_ = 0; // counts accesses, to find the least recently used states
};

} // namespace superstep
