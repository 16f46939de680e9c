// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/interop/actor_client.hpp>

#include <boost/unordered/unordered_flat_map.hpp>
#include <caf/monitorable_actor.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace superstep::detail {

/// Answers a request that a port does not handle.
void refuse(const caf::mailbox_element& message);

/// The response to a request, or the reason why there is none.
struct reply {
  caf::message content;
  caf::error reason;                ///< exit reason or error of the actor
  std::optional<actor_errc> failed; ///< not set if there is a response
};

/// The CAF actor that sends the requests of an actor_client and receives the responses. It has no
/// mailbox: the thread that delivers a response passes it to the completer of its request, which
/// resumes the coroutine on its own executor. Thus a response needs no turn of CAF's scheduler.
///
/// One port serves all requests of its client and monitors the target once, so that neither a
/// request nor its end depends on the number of other requests.
class reply_port final : public caf::monitorable_actor {
public:
  reply_port(caf::actor_config& config, caf::strong_actor_ptr target);

  /// Monitors the target. Separate from the constructor, because a target that has ended answers at
  /// once.
  void watch();
  /// Returns the number of a new request, which is never 0.
  [[nodiscard]] std::uint64_t next_number() noexcept {
    return last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  /// Sends a request. `done` receives the reply, possibly before this function returns.
  void ask(std::uint64_t number, caf::message request, const completer<reply>& done);
  /// Drops a request, whose reply is not needed any more.
  void forget(std::uint64_t number);
  /// Stops monitoring the target, and fails the open requests.
  void end();
  [[nodiscard]] bool is_alive() const;
  /// Returns the words for the target in an error text.
  [[nodiscard]] std::string target_in_text() const;
  [[nodiscard]] std::string text_of(const caf::error& e) const;

  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) override;
  const char* name() const override { return "superstep.client"; }
  void on_destroy() override;

private:
  void answer(std::uint64_t number, reply r);
  void fail_all(const caf::error& reason);

  caf::strong_actor_ptr target_;
  mutable std::mutex requests_mutex_;
  boost::unordered_flat_map<std::uint64_t, completer<reply>> open_;
  std::atomic<std::uint64_t> last_number_{0};
  bool is_down_ = false;
  caf::error down_reason_;
};

} // namespace superstep::detail
