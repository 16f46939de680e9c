// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/wake_up.hpp"

#include <superstep/actors/detail/event_stream.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace superstep::cli {

/// The events of one run, for a thread that also waits for other things. (A thread that reads an
/// event_stream can only wait for events.)
class chat_events final : public detail::event_sink {
public:
  explicit chat_events(std::shared_ptr<const wake_up> bell) : bell_{std::move(bell)} {}

  void push(detail::run_event event) override;
  [[nodiscard]] bool is_full() const override;
  void on_room(std::function<void()> tell) override;
  void close(detail::raw_result ended);

  struct taken {
    std::vector<detail::run_event> events{};
    std::optional<detail::raw_result> ended{}; ///< set with the last events of the run
  };
  [[nodiscard]] taken take();

private:
  static constexpr std::size_t events_max = 1'024;

  std::shared_ptr<const wake_up> bell_; // shared, because a run may outlive its conversation
  mutable std::mutex mutex_;
  mutable bool was_full_ = false;
  taken held_;
  std::function<void()> tell_;
};

} // namespace superstep::cli
