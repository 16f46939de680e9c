// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace superstep {

namespace detail {
class lease_queue;
} // namespace detail

/// The checkpointer that memory_checkpointer() returns. It shares channel values with the runs that
/// made them, so their types need no stored form (stored_form.hpp). Class checkpointer documents
/// each function.
class in_memory_checkpointer final : public checkpointer {
public:
  in_memory_checkpointer();
  ~in_memory_checkpointer() override;
  bool needs_stored_forms() const noexcept override { return false; }
  std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                       const layout_ptr& as) override;
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                     const layout_ptr& as) override;
  std::string head(const thread_key&) override;
  void put(const thread_key&, checkpoint_ptr) override;
  void put_task(const thread_key&, const checkpoint& parent, task_record) override;
  std::optional<effect_record> find_effect(std::string_view thread_id,
                                           std::string_view key) override;
  void put_effect(std::string_view thread_id, std::string_view key,
                  std::optional<effect_record> record) override;
  void delete_thread(std::string_view thread_id) override;
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override;
  std::string export_thread(std::string_view thread_id) override;
  void import_thread(std::string_view thread_id, std::string_view bytes) override;
  void take(const std::string& thread_id, busy_policy,
            std::function<void(result<lease_ptr>)> done) override;

private:
  struct imported_checkpoint;
  struct entry {
    /// The checkpoint. While `raw` is set, it has only the task records added after the import.
    saved_checkpoint typed;
    /// The checkpoint as it was imported, until the first load(); then null.
    std::shared_ptr<const imported_checkpoint> raw;
    record_index index{}; ///< finds records in `typed.tasks`
  };
  /// The checkpoints of one thread and namespace, by id.
  using line = std::map<std::string, entry, std::less<>>;

  [[nodiscard]] static saved_checkpoint read(const entry&, const layout_ptr& as, const thread_key&);

  std::shared_ptr<detail::lease_queue> queue_;
  std::mutex mutex_;
  std::map<thread_key, line> threads_;
  /// Effect records by thread id and key.
  std::map<std::string, std::map<std::string, effect_record, std::less<>>, std::less<>> effects_;
};

} // namespace superstep
