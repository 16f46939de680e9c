// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/checkpoint.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Which checkpoints of a thread are wanted; newest first.
struct checkpoint_query {
  std::string before; ///< only ids less than this one; empty: all
  std::optional<checkpoint_source> source;
  std::optional<std::int64_t> step;
  std::size_t limit = 0; ///< 0: all
};

/// Keeps the checkpoints of threads.
///
/// A checkpoint is put once and never changed; what becomes known of the tasks that follow it is
/// added under its id. put() of a checkpoint and the task records before it belong together: a
/// saver on disk commits them in one transaction, in the order in which they were given.
/// @par Threads
/// All members may be called from any thread. One thread id is written by one run at a time.
class saver {
public:
  saver() = default;
  saver(const saver&) = delete;
  saver& operator=(const saver&) = delete;
  virtual ~saver() = default;

  /// A checkpoint by id, the newest without one; nothing when there is none.
  [[nodiscard]] virtual std::optional<saved_checkpoint> load(const thread_key&,
                                                             std::string_view id) = 0;
  [[nodiscard]] virtual std::vector<saved_checkpoint> list(const thread_key&,
                                                           const checkpoint_query&) = 0;
  /// The id of the newest checkpoint; empty when there is none.
  [[nodiscard]] virtual std::string head(const thread_key&) = 0;
  virtual void put(const thread_key&, checkpoint_ptr) = 0;
  virtual void put_task(const thread_key&, std::string_view checkpoint_id, task_record) = 0;
  /// Forgets a thread and its subgraphs.
  virtual void delete_thread(std::string_view thread_id) = 0;
};

} // namespace superstep
