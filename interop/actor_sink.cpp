// SPDX-License-Identifier: Apache-2.0
// Sends the events of a run to a CAF actor, with flow control by responses.
#include "reply_port.hpp"

#include <superstep/interop/graph_actor.hpp>

#include <caf/actor_config.hpp>
#include <caf/default_attachable.hpp>
#include <caf/make_actor.hpp>
#include <caf/monitorable_actor.hpp>
#include <caf/sec.hpp>
#include <caf/system_messages.hpp>

#include <mutex>
#include <utility>

namespace superstep {

namespace {

/// The CAF actor that sends the events of one run to their reader and counts the responses. Like
/// detail::reply_port, it has no mailbox and handles a message on the thread that delivers it.
class event_port final : public caf::monitorable_actor {
public:
  event_port(caf::actor_config& config, caf::strong_actor_ptr reader, std::size_t open_max)
      : caf::monitorable_actor{config}, reader_{std::move(reader)}, open_max_{open_max} {}

  void watch() {
    auto* const observed = reader_->get();
    observed->attach(caf::default_attachable::make_monitor(observed->address(), address()));
  }
  void send(caf::message event) {
    auto number = std::uint64_t{0};
    {
      const auto lock = std::scoped_lock{count_mutex_};
      if (is_down_)
        return;
      ++open_;
      number = ++last_number_;
    }
    reader_->enqueue(caf::strong_actor_ptr{ctrl()}, caf::make_message_id(number), std::move(event),
                     nullptr);
  }
  [[nodiscard]] bool is_full() {
    const auto lock = std::scoped_lock{count_mutex_};
    const auto full = !is_down_ && open_ >= open_max_;
    is_awaited_ = is_awaited_ || full; // another run of the same stream may be paused
    return full;
  }
  void set_room(std::function<void()> room) {
    {
      const auto lock = std::scoped_lock{count_mutex_};
      room_ = room;
    }
    room(); // the reader may have caught up before; a run that is not paused ignores the call
  }
  void end() {
    reader_->get()->detach(
        caf::default_attachable::observe_token{address(), caf::default_attachable::monitor});
    cleanup(make_error(caf::exit_reason::normal), nullptr);
  }

  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    const auto is_end = what->content().match_elements<caf::down_msg>();
    if (!is_end && !what->mid.is_response()) {
      if (what->mid.is_request())
        detail::refuse(*what);
      return;
    }
    auto room = std::function<void()>{};
    {
      const auto lock = std::scoped_lock{count_mutex_};
      is_down_ = is_down_ || is_end;
      if (!is_end && open_ > 0) // a reader may answer an event twice
        --open_;
      if (is_awaited_ && (is_down_ || open_ <= open_max_ / 2)) {
        is_awaited_ = false;
        room = room_;
      }
    }
    if (room)
      room();
  }
  const char* name() const override { return "superstep.events"; }
  void on_destroy() override {
    cleanup(make_error(caf::exit_reason::unreachable), nullptr);
    caf::monitorable_actor::on_destroy();
  }

private:
  caf::strong_actor_ptr reader_;
  std::size_t open_max_;
  std::mutex count_mutex_;
  std::size_t open_ = 0; ///< number of events without a response
  std::uint64_t last_number_ = 0;
  bool is_down_ = false;
  bool is_awaited_ = false; ///< the run is paused until the reader has caught up
  std::function<void()> room_;
};

/// Passes the events of a run to its port.
class actor_sink final : public detail::event_sink {
public:
  actor_sink(const caf::actor& reader, std::size_t open_max,
             std::function<caf::message(detail::run_event&&)> message_of)
      : message_of_{std::move(message_of)} {
    auto& system = reader->home_system();
    auto config = caf::actor_config{};
    port_ = caf::make_actor<event_port, caf::strong_actor_ptr>(
        system.next_actor_id(), system.node(), &system, config,
        caf::actor_cast<caf::strong_actor_ptr>(reader), open_max);
    port().watch();
  }
  actor_sink(const actor_sink&) = delete;
  actor_sink& operator=(const actor_sink&) = delete;
  ~actor_sink() override { port().end(); }

  void push(detail::run_event event) override { port().send(message_of_(std::move(event))); }
  [[nodiscard]] bool is_full() const override { return port().is_full(); }
  void on_room(std::function<void()> room) override { port().set_room(std::move(room)); }

private:
  [[nodiscard]] event_port& port() const noexcept {
    return *static_cast<event_port*>(port_->get());
  }

  caf::strong_actor_ptr port_;
  std::function<caf::message(detail::run_event&&)> message_of_;
};

} // namespace

std::shared_ptr<detail::event_sink>
detail::make_actor_sink(const caf::actor& reader, std::size_t buffer_max,
                        std::function<caf::message(run_event&&)> message_of) {
  return std::make_shared<actor_sink>(reader, std::max<std::size_t>(buffer_max, 1),
                                      std::move(message_of));
}

} // namespace superstep
