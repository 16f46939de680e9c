// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/wake_up.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace superstep::cli {

/// Passes remarks about retries of model calls to the thread of the conversation, which displays
/// them. Any thread may add a remark.
class retry_notes {
public:
  explicit retry_notes(std::shared_ptr<const wake_up> bell) : bell_{std::move(bell)} {}

  void add(std::string text) {
    constexpr auto notes_max = std::size_t{100}; // further remarks are dropped
    {
      const auto lock = std::scoped_lock{mutex_};
      if (held_.size() < notes_max)
        held_.push_back(std::move(text));
    }
    bell_->call();
  }
  [[nodiscard]] std::vector<std::string> take() {
    const auto lock = std::scoped_lock{mutex_};
    return std::exchange(held_, {});
  }

private:
  std::shared_ptr<const wake_up> bell_; // shared, because a run may outlive its conversation
  std::mutex mutex_;
  std::vector<std::string> held_;
};

} // namespace superstep::cli
