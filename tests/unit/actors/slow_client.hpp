// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/actor_system.hpp"

#include <caf/actor_config.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/make_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/monitorable_actor.hpp>

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>

namespace testing {

/// A CAF actor that sends requests, for tests that keep another actor busy: its first response
/// blocks the thread that sends it until the test continues it.
class slow_client {
public:
  slow_client()
      : handle_{caf::make_actor<sender, caf::strong_actor_ptr>(
            system_->next_actor_id(), system_->node(), system_.get(), no_options_)},
        sender_{*static_cast<sender*>(handle_->get())} {}

  [[nodiscard]] caf::actor_system& system() noexcept { return *system_; }
  void send_request(const caf::strong_actor_ptr& to) {
    to->enqueue(handle_, caf::make_message_id(++requests_), caf::make_message(1), nullptr);
  }
  /// Waits until the receiver of the first request responds, which it does until go_on().
  void await_first_response() { sender_.inside.get_future().wait(); }
  /// The error in the first response. @pre await_first_response() has returned
  [[nodiscard]] const caf::error& first_error() const { return sender_.first_error; }
  void go_on() { sender_.continues.set_value(); }
  void await_second_response() { sender_.second.get_future().wait(); }

private:
  struct sender final : caf::monitorable_actor {
    explicit sender(caf::actor_config& config) : caf::monitorable_actor{config} {}
    using caf::monitorable_actor::enqueue;
    void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
      const auto number = ++responses;
      if (number == 1) {
        if (what->content().match_elements<caf::error>())
          first_error = what->content().get_as<caf::error>(0);
        inside.set_value();
        continues.get_future().wait();
      } else if (number == 2) {
        second.set_value();
      }
    }
    const char* name() const override { return "slow_client"; }

    std::atomic<int> responses{0};
    caf::error first_error;
    std::promise<void> inside;
    std::promise<void> continues;
    std::promise<void> second;
  };

  caf::actor_system_config config_;
  caf::actor_config no_options_;
  std::unique_ptr<caf::actor_system> system_ = superstep::make_actor_system(config_);
  caf::strong_actor_ptr handle_;
  sender& sender_;
  std::uint64_t requests_ = 0;
};

} // namespace testing
