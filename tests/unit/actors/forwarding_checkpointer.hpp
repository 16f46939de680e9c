// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/memory_checkpointer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace testing {

/// Passes all calls on to a checkpointer in memory. Tests derive from it, and change single
/// functions.
class forwarding_checkpointer : public superstep::checkpointer {
public:
  std::optional<superstep::saved_checkpoint> load(const superstep::thread_key& key,
                                                  std::string_view id,
                                                  const superstep::layout_ptr& as) override {
    return inner_->load(key, id, as);
  }
  std::vector<superstep::saved_checkpoint> list(const superstep::thread_key& key,
                                                const superstep::checkpoint_query& query,
                                                const superstep::layout_ptr& as) override {
    return inner_->list(key, query, as);
  }
  std::string head(const superstep::thread_key& key) override { return inner_->head(key); }
  void put(const superstep::thread_key& key, superstep::checkpoint_ptr point) override {
    inner_->put(key, std::move(point));
  }
  void put_task(const superstep::thread_key& key, const superstep::checkpoint& parent,
                superstep::task_record record) override {
    inner_->put_task(key, parent, std::move(record));
  }
  void delete_thread(std::string_view id) override { inner_->delete_thread(id); }
  std::size_t delete_runs(const std::vector<std::string>& ids) override {
    return inner_->delete_runs(ids);
  }
  bool when_saved(const superstep::thread_key& key, std::function<void()> done) override {
    return inner_->when_saved(key, std::move(done));
  }
  void check(const superstep::thread_key& key) override { inner_->check(key); }
  std::string export_thread(std::string_view id) override { return inner_->export_thread(id); }
  void import_thread(std::string_view id, std::string_view bytes) override {
    inner_->import_thread(id, bytes);
  }
  void take(const std::string& id, superstep::busy_policy how,
            std::function<void(superstep::result<superstep::lease_ptr>)> done) override {
    inner_->take(id, how, std::move(done));
  }

private:
  std::shared_ptr<superstep::checkpointer> inner_ = superstep::memory_checkpointer();
};

} // namespace testing
