// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkpoint_codec.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::vector<thread_summary> threads(std::string_view after, std::size_t limit) override;
  std::optional<json::object> show(const thread_key&, std::string_view id) override;
  std::vector<json::object> history(const thread_key&, const checkpoint_query&) override;
  std::size_t prune(const prune_options&) override;

private:
  using clock = std::chrono::system_clock;
  struct imported_checkpoint;
  /// A checkpoint with the records of the tasks that follow it.
  struct entry {
    saved_checkpoint typed; ///< without a value while `raw` is set
    /// The checkpoint as it was imported; null once a graph has loaded it.
    std::shared_ptr<const imported_checkpoint> raw;
    clock::time_point made = clock::now();
    record_index index{}; ///< finds records in `typed.tasks`

    [[nodiscard]] detail::checkpoint_header header() const;
    [[nodiscard]] const json::object* metadata() const;
    /// Whether the checkpoint meets the conditions of a query, except `before`.
    [[nodiscard]] bool meets(const checkpoint_query&) const;
    /// Converts the checkpoint and its records to a layout.
    [[nodiscard]] saved_checkpoint read(const layout_ptr& as, const thread_key&) const;
    /// Converts the checkpoint and its records to a layout permanently.
    void convert_to(const layout_ptr& as, const thread_key&);
    /// Returns the checkpoint in the form of history().
    [[nodiscard]] json::object describe(const thread_key&) const;
  };
  using entries = std::map<std::string, entry, std::less<>>;
  /// The checkpoints of one thread and namespace, by id.
  struct ns_points {
    clock::time_point created = clock::now();
    entries points;

    /// Returns the selected checkpoints, newest first.
    [[nodiscard]] std::vector<const entry*> select(const checkpoint_query&) const;
  };
  /// The namespaces of a thread follow each other: that of the graph itself, then those of its
  /// subgraphs.
  using thread_map = std::map<thread_key, ns_points>;

  /// Returns a namespace; null if it has no checkpoints.
  [[nodiscard]] ns_points* find(const thread_key&);
  /// Returns a checkpoint, or null. An empty id means the newest.
  [[nodiscard]] entry* find(const thread_key&, std::string_view id);
  [[nodiscard]] static bool is_empty(const thread_map::value_type&);
  [[nodiscard]] static entries::iterator first_needed(entries& subgraph, const entries& outermost);
  /// Returns the position behind the last namespace of the thread of `from`.
  [[nodiscard]] thread_map::iterator end_of_thread(thread_map::iterator from);
  [[nodiscard]] bool is_orphan(const thread_key&) const;
  /// Moves the deleted checkpoints to `gone`.
  void prune_thread(thread_map::iterator from, thread_map::iterator to, const prune_options&,
                    std::vector<entries>& gone);
  [[nodiscard]] static std::size_t total_size(const std::vector<entries>&);

  std::shared_ptr<detail::lease_queue> queue_;
  std::mutex mutex_;
  thread_map threads_;
  /// Effect records by thread id and key.
  std::map<std::string, std::map<std::string, effect_record, std::less<>>, std::less<>> effects_;
};

} // namespace superstep
