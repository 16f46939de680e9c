// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/saver.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace superstep {

namespace detail {
class thread_desk;
} // namespace detail

/// Keeps threads for as long as it lives. Values are shared with the runs that made them, not
/// copied.
class memory_saver final : public saver {
public:
  memory_saver();
  ~memory_saver() override;
  bool needs_stored_forms() const noexcept override { return false; }
  std::optional<saved_checkpoint> load(const thread_key&, std::string_view id,
                                       const layout_ptr& as) override;
  std::vector<saved_checkpoint> list(const thread_key&, const checkpoint_query&,
                                     const layout_ptr& as) override;
  std::string head(const thread_key&) override;
  void put(const thread_key&, checkpoint_ptr) override;
  void put_task(const thread_key&, const checkpoint& of, task_record) override;
  std::optional<effect_note> find_effect(std::string_view thread_id, std::string_view key) override;
  void put_effect(std::string_view thread_id, std::string_view key,
                  std::optional<effect_note> note) override;
  void delete_thread(std::string_view thread_id) override;
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override;
  std::string export_thread(std::string_view thread_id) override;
  void import_thread(std::string_view thread_id, std::string_view bytes) override;
  void take(const std::string& thread_id, when_in_use,
            std::function<void(result<lease_ptr>)> done) override;

private:
  struct raw_point; // an imported one, which no layout has read yet
  struct entry {
    saved_checkpoint typed; ///< of a raw one: what was told of its tasks since
    std::shared_ptr<const raw_point> raw;
    record_index index{}; ///< of typed.tasks
  };
  using line = std::map<std::string, entry, std::less<>>; // by id

  [[nodiscard]] static saved_checkpoint read(const entry&, const layout_ptr& as, const thread_key&);

  std::shared_ptr<detail::thread_desk> desk_;
  std::mutex mutex_;
  std::map<thread_key, line> threads_;
  std::map<std::string, std::map<std::string, effect_note, std::less<>>, std::less<>> effects_;
};

/// A compile_options::checkpointer that keeps threads for as long as it lives.
[[nodiscard]] inline std::shared_ptr<saver> memory_checkpointer() {
  return std::make_shared<memory_saver>();
}

} // namespace superstep
