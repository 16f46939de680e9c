// SPDX-License-Identifier: Apache-2.0
// Checkpointers of recorded cases, which can simulate the death of a process.
#include "graph_cases/case_checkpointer.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <unistd.h>

namespace superstep::graph_cases {

namespace {

/// Forwards all calls to a checkpointer that can be opened again.
class forwarding_checkpointer : public case_checkpointer {
public:
  std::optional<saved_checkpoint> load(const thread_key& key, std::string_view id,
                                       const layout_ptr& as) override {
    return to_->load(key, id, as);
  }
  std::vector<saved_checkpoint> list(const thread_key& key, const checkpoint_query& query,
                                     const layout_ptr& as) override {
    return to_->list(key, query, as);
  }
  std::string head(const thread_key& key) override { return to_->head(key); }
  void put(const thread_key& key, checkpoint_ptr point) override {
    check_alive();
    to_->put(key, std::move(point));
    note_saved(key);
  }
  void put_now(const thread_key& key, checkpoint_ptr point) override {
    check_alive();
    to_->put_now(key, std::move(point));
    note_saved(key);
  }
  void put_task(const thread_key& key, const checkpoint& of, task_record record) override {
    check_alive();
    to_->put_task(key, of, std::move(record));
  }
  void delete_thread(std::string_view thread_id) override { to_->delete_thread(thread_id); }
  std::size_t delete_runs(const std::vector<std::string>& run_ids) override {
    return to_->delete_runs(run_ids);
  }
  bool when_saved(const thread_key& key, std::function<void()> done) override {
    return to_->when_saved(key, std::move(done));
  }
  void check(const thread_key& key) override { to_->check(key); }
  std::string export_thread(std::string_view thread_id) override {
    return to_->export_thread(thread_id);
  }
  void import_thread(std::string_view thread_id, std::string_view bytes) override {
    to_->import_thread(thread_id, bytes);
  }

  void take(const std::string& thread_id, busy_policy choice,
            std::function<void(result<lease_ptr>)> done) override {
    to_->take(thread_id, choice, std::move(done));
  }

protected:
  std::shared_ptr<superstep::checkpointer> to_;
};

class kept_in_memory final : public forwarding_checkpointer {
public:
  kept_in_memory() { to_ = memory_checkpointer(); }
  void reopen() override {}
};

class kept_in_file final : public forwarding_checkpointer {
public:
  kept_in_file() : path_{fresh_path()} { open(); }
  ~kept_in_file() override {
    to_.reset();
    std::filesystem::remove(path_);
    std::filesystem::remove(path_.string() + "-lease");
  }
  void reopen() override {
    to_.reset();
    open();
  }

private:
  static std::filesystem::path fresh_path() {
    static auto number = std::atomic{0};
    return std::filesystem::temp_directory_path() /
           ("superstep-case-" + std::to_string(::getpid()) + '-' + std::to_string(++number));
  }
  void open() {
    auto options = sqlite_checkpointer_options{};
    options.survives_power_loss = false;
    to_ = sqlite_checkpointer(path_.string(), options);
  }

  std::filesystem::path path_;
};

} // namespace

void case_checkpointer::note_saved(const thread_key& key) {
  if (left_ == 0 || !key.ns.empty() || --left_ > 0)
    return;
  is_dead_ = true;
  check_alive();
}

void case_checkpointer::check_alive() const {
  if (is_dead_)
    throw checkpoint_error{checkpoint_errc::failed, "the process was killed"};
}

std::shared_ptr<case_checkpointer> case_checkpointer::make() {
  const auto* kind = std::getenv("SUPERSTEP_CHECKPOINTER");
  if (kind != nullptr && std::string_view{kind} == "sqlite")
    return std::make_shared<kept_in_file>();
  return std::make_shared<kept_in_memory>();
}

} // namespace superstep::graph_cases
