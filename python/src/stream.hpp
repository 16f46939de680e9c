// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/engine_access.hpp"
#include "results.hpp"

#include <superstep/actors/stream.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace superstep::python {

/// Reads the names of stream modes, e.g. "updates". Throws nb::value_error for an unknown name. The
/// caller holds the GIL.
[[nodiscard]] stream_mode read_stream_modes(const std::vector<std::string>& names);

/// Returns the Python form of a piece of a message, or of a message, that a body has streamed; None
/// for other objects. The caller holds the GIL.
[[nodiscard]] nb::object streamed_message(const message_event& e);

/// Returns the event of an interrupt: {"__interrupt__": […]}. The caller holds the GIL.
[[nodiscard]] nb::dict interrupts_object(const std::vector<interrupt>& interrupts);

/// Returns an event of `values`: a state, a new dict that the function may change, and the
/// interrupts of an event that has them. The caller holds the GIL.
[[nodiscard]] nb::object values_object(nb::object state,
                                       const std::optional<std::vector<interrupt>>& interrupts);

/// Returns an event of `updates`: {node: update}, marked as in LangGraph if the node has not run.
/// The caller holds the GIL.
/// @param is_cached see update_event::is_cached
[[nodiscard]] nb::dict update_object(std::string_view node, nb::handle update, bool is_cached);

/// Puts the events of a run into a result_queue, and pauses the run while Python does not read
/// them.
class queue_sink final : public detail::event_sink {
public:
  /// Makes the Python object of an event.
  using maker = std::function<nb::object(detail::run_event)>;
  static constexpr std::size_t unread_max = 1'024; ///< events at which the run pauses

  queue_sink(delivery to, maker make) : to_{std::move(to)}, make_{std::move(make)} {}
  void push(detail::run_event e) override;
  bool is_full() const override { return room_->is_full(); }
  void on_room(std::function<void()> go_on) override;

private:
  /// Counts the unread events. Shared with the events, which may outlive the sink.
  ///
  /// The lane sets was_full before it reads the count, and the reader changes the count before it
  /// reads was_full. So at least one of the two sees the other's change, and a paused run is always
  /// continued.
  struct room {
    [[nodiscard]] bool is_full();
    void one_read();
    void continue_run();
    std::atomic<std::size_t> unread{0};
    std::atomic<bool> was_full{false};
    std::mutex mutex;
    std::function<void()> go_on;
  };

  delivery to_;
  maker make_;
  std::shared_ptr<room> room_ = std::make_shared<room>();
};

} // namespace superstep::python
