// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/sqlite.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// A checkpointer that stores threads in an SQLite database. Several processes may use one file.
/// docs/checkpoint-format.md describes the tables, and class checkpointer the inherited functions.
///
/// Each object has one writer thread for the checkpoints of all runs. The writer thread writes
/// everything that is queued in one transaction, so that many runs share one disk sync. A
/// checkpoint is one row, usually a delta to the previous checkpoint.
class sqlite_file_checkpointer final : public checkpointer {
public:
  /// Opens or creates the database, and starts the writer thread.
  /// @param path path of a file; SQLite's special names ("", ":memory:", "file:…") are errors
  /// @throws checkpoint_error if the path cannot be opened, the file is not a superstep database or
  ///   has a newer format, the key does not match, or the file has another owner
  explicit sqlite_file_checkpointer(std::string path, sqlite_checkpointer_options options = {});
  /// Writes the queue and stops the writer thread. Runs that still wait for a lease get the error
  /// checkpoint_errc::in_use.
  ~sqlite_file_checkpointer() override;

  std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                       const layout_ptr& as) override;
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                     const layout_ptr& as) override;
  std::string head(const thread_key&) override;
  void put(const thread_key&, checkpoint_ptr) override;
  void put_now(const thread_key&, checkpoint_ptr) override;
  void put_task(const thread_key&, const checkpoint& parent, task_record) override;
  std::optional<effect_record> find_effect(std::string_view thread_id,
                                           std::string_view key) override;
  void put_effect(std::string_view thread_id, std::string_view key,
                  std::optional<effect_record> record) override;
  void delete_thread(std::string_view thread_id) override;
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override;
  bool when_saved(const thread_key&, std::function<void()> done) override;
  void check(const thread_key&) override;
  std::string export_thread(std::string_view thread_id) override;
  void import_thread(std::string_view thread_id, std::string_view bytes) override;
  void take(const std::string& thread_id, busy_policy,
            std::function<void(result<lease_ptr>)> done) override;

  std::vector<thread_summary> threads(std::string_view after, std::size_t limit) override;
  std::optional<json::object> show(const thread_key&, std::string_view id) override;
  std::vector<json::object> history(const thread_key&, const checkpoint_query&) override;
  std::size_t prune(const prune_options&) override;

  /// Statistics of this object since it was opened.
  struct counts {
    std::uint64_t transactions = 0;
    std::uint64_t rows = 0;
  };
  /// Returns the number of transactions and rows written so far.
  [[nodiscard]] counts written() const noexcept;

private:
  class impl;
  std::shared_ptr<impl> impl_;
};

} // namespace superstep
