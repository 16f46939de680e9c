// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "forwarding_checkpointer.hpp"
#include "graphs.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace testing {

/// A checkpointer whose checkpoints become durable when the test calls save(), on the thread of the
/// test.
class late_checkpointer final : public forwarding_checkpointer {
public:
  bool when_saved(const superstep::thread_key&, std::function<void()> done) override {
    {
      const auto lock = std::scoped_lock{mutex_};
      if (saves_at_once_)
        return false;
      waiting_.push_back(std::move(done));
    }
    changed_.notify_all();
    return true;
  }
  /// Waits until at least n results wait for save().
  void await_waiting(std::size_t n) {
    auto lock = std::unique_lock{mutex_};
    changed_.wait(lock, [&] { return waiting_.size() >= n; });
  }
  /// Reports everything as saved. Returns the number of results that have waited.
  std::size_t save() {
    auto saved = std::vector<std::function<void()>>{};
    {
      const auto lock = std::scoped_lock{mutex_};
      saved.swap(waiting_);
    }
    for (const auto& done : saved)
      done();
    return saved.size();
  }
  /// From now on, everything is saved at once.
  void save_at_once() {
    const auto lock = std::scoped_lock{mutex_};
    saves_at_once_ = true;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> waiting_;
  bool saves_at_once_ = false;
};

} // namespace testing
