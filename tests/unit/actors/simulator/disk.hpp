// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/actors/simulator/world.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep::simulation {

/// The delays and failures of a simulated checkpointer.
struct disk_faults {
  microseconds save_max{0};  ///< longest time until a write is durable
  microseconds lease_max{0}; ///< longest time until a lease is granted
  std::size_t fails_at = 0;  ///< number of the write that fails; 0: none
  bool fails_late = false;   ///< the failure is reported by check(), not by the write
};

/// A checkpointer that answers late, fails, and can be copied as it was at an earlier moment. Also
/// counts the leases of each thread.
class disk final : public checkpointer {
public:
  explicit disk(disk_faults faults);
  ~disk() override;

  bool needs_stored_forms() const noexcept override { return false; }
  std::optional<saved_checkpoint> load(const thread_key& key, std::string_view id,
                                       const layout_ptr& as) override;
  std::vector<saved_checkpoint> list(const thread_key& key, const checkpoint_query& query,
                                     const layout_ptr& as) override;
  std::string head(const thread_key& key) override;
  void put(const thread_key& key, checkpoint_ptr point) override;
  void put_task(const thread_key& key, const checkpoint& parent, task_record record) override;
  void delete_thread(std::string_view thread_id) override;
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override;
  bool when_saved(const thread_key& key, std::function<void()> done) override;
  void check(const thread_key& key) override;
  std::string export_thread(std::string_view thread_id) override;
  void import_thread(std::string_view thread_id, std::string_view bytes) override;
  void take(const std::string& thread_id, busy_policy policy,
            std::function<void(result<lease_ptr>)> done) override;

  /// The number of writes so far.
  [[nodiscard]] std::size_t writes() const noexcept { return journal_.size(); }
  /// Returns a checkpointer with the first `count` writes, as a crash leaves it.
  [[nodiscard]] std::shared_ptr<disk> after_crash(std::size_t count) const;
  /// The number of leases that exist.
  [[nodiscard]] std::size_t leases() const noexcept { return *leases_; }
  /// The text of the first rule about leases that was broken; empty if there is none.
  [[nodiscard]] const std::string& broken() const noexcept { return *broken_; }
  /// Stops all faults and delays.
  void heal() noexcept { faults_ = {}; }
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_; }

private:
  struct entry {
    thread_key key;
    checkpoint_ptr point;  ///< set for a checkpoint
    checkpoint_ptr parent; ///< set for a record of a task
    task_record record;
  };
  class counted_lease;

  void write(const thread_key& key, entry e);
  void fail_if_due(const thread_key& key);

  disk_faults faults_;
  std::shared_ptr<checkpointer> inner_ = memory_checkpointer();
  std::vector<entry> journal_;
  std::map<std::pair<thread_key, std::string>, checkpoint_ptr> points_;
  std::map<std::string, std::string> failed_; ///< error text by thread id
  std::shared_ptr<std::size_t> leases_ = std::make_shared<std::size_t>(0);
  std::shared_ptr<std::map<std::string, const thread_lease*>> holders_ =
      std::make_shared<std::map<std::string, const thread_lease*>>();
  std::shared_ptr<std::string> broken_ = std::make_shared<std::string>();
  std::size_t attempts_ = 0;
  bool has_failed_ = false;
};

} // namespace superstep::simulation
