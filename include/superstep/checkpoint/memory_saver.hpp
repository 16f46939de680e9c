// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <functional>
#include <map>
#include <mutex>

namespace superstep {

/// Keeps threads for as long as it lives. Values are shared with the runs that made them, not
/// copied.
class memory_saver final : public saver {
public:
  std::optional<saved_checkpoint> load(const thread_key&, std::string_view id) override;
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&) override;
  std::string head(const thread_key&) override;
  void put(const thread_key&, checkpoint_ptr) override;
  void put_task(const thread_key&, std::string_view checkpoint_id, task_record) override;
  void delete_thread(std::string_view thread_id) override;

private:
  using line = std::map<std::string, saved_checkpoint, std::less<>>; // by id

  std::mutex mutex_;
  std::map<thread_key, line> threads_;
};

} // namespace superstep
