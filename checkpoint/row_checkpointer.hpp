// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpointer.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

namespace detail {
class checkpoint_backend;
}

/// Options of a row_checkpointer; see sqlite_checkpointer_options.
struct row_checkpointer_options {
  std::chrono::milliseconds task_flush_delay{10};
  std::size_t queue_bytes_max = 16U << 20U;
  std::size_t batch_rows_max = 4'096;
  std::size_t threads_max = 10'000;
};

/// A checkpointer that stores threads as rows in the tables of a database. Several processes may
/// use one database. docs/checkpoint-format.md describes the tables, and class checkpointer the
/// inherited functions.
///
/// Each object has one writer thread for the checkpoints of all runs. The writer thread writes
/// everything that is queued in one transaction, so that many runs share one disk sync. A
/// checkpoint is one row, usually a delta to the previous checkpoint.
class row_checkpointer final : public checkpointer {
public:
  /// Starts the writer thread.
  /// @throws checkpoint_error if the database cannot be opened
  /// @throws std::invalid_argument for options out of range
  row_checkpointer(std::unique_ptr<detail::checkpoint_backend> on,
                   const row_checkpointer_options& options);
  /// Writes the queue and stops the writer thread. Runs that still wait for a lease get the error
  /// checkpoint_errc::in_use.
  ~row_checkpointer() override;

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
  /// Returns export_thread(), truncated by cut_thread(). Checkpoints after `at` may be damaged.
  /// @param at id of a checkpoint of the outermost graph; empty for the complete thread
  [[nodiscard]] std::string export_until(std::string_view thread_id, std::string_view at);
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
