// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sqlite_db.hpp"
#include "write_queue.hpp"

#include <superstep/checkpoint/sqlite.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace superstep::detail {

/// Writes checkpoints to a file of SQLite.
class sqlite_sink final : public row_sink {
public:
  /// Opens or creates the file. @throws checkpoint_error
  sqlite_sink(const std::string& path, const sqlite_checkpointer_options& options);

  void write(std::span<pending_write>) override;
  [[nodiscard]] bool try_write_now(std::span<pending_write>) noexcept override;
  void run(const std::function<void(database&)>&) override;
  [[nodiscard]] const std::string& name() const noexcept override { return db_->name(); }

private:
  [[nodiscard]] std::optional<error> try_to_write(std::span<pending_write>);
  void write_batch(std::span<pending_write>);
  void check_heads(std::span<pending_write>);
  void insert(const pending_write&);
  void insert_checkpoint(const pending_write&);
  void check_base(const pending_write&);
  void insert_tasks(const pending_write&);
  void insert_effect(const pending_write&);
  [[nodiscard]] std::int64_t thread_no(namespace_head&);
  [[nodiscard]] std::string head_of(std::int64_t thread_no);
  [[nodiscard]] std::int64_t layout_no(const std::shared_ptr<const std::string>&);
  void invalidate_numbers();

  const sqlite_checkpointer_options options_;
  std::unique_ptr<sqlite_database> db_;
  statement find_thread_;
  statement add_thread_;
  statement find_layout_;
  statement layout_;
  statement add_layout_;
  statement add_checkpoint_;
  statement has_checkpoint_;
  statement add_task_;
  statement begin_effect_;
  statement end_effect_;
  statement forget_effect_;
  statement forget_effects_;
  statement find_head_;
  statement begin_;
  statement commit_;
  statement version_;
  std::map<std::string, std::int64_t, std::less<>> layouts_; ///< row numbers of layouts by text
  /// Incremented when another connection has committed, or our transaction was rolled back. In a
  /// new epoch, namespace_head::written must be verified again.
  std::uint64_t epoch_ = 0;
  std::int64_t data_version_ = -1;      ///< PRAGMA data_version in the current transaction
  std::int64_t last_data_version_ = -1; ///< in our last committed transaction; -1 if unknown
};

} // namespace superstep::detail
