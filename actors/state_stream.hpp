// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/runtime/graph.hpp>

#include <optional>
#include <type_traits>
#include <utility>

namespace superstep {

/// An event of a run of a typed graph.
template <class State>
struct state_event : detail::run_event {
  /// The state, in an event of mode `values` or `checkpoints`; null in events of other modes.
  /// `values<Child>()` returns the state of a subgraph, and null if the event belongs to a graph
  /// with another state type. The pointer is valid as long as the event.
  template <class Of = State>
  [[nodiscard]] const Of* values() const& noexcept {
    return state_if<Of>(state.get());
  }
  template <class Of = State>
  const Of* values() const&& = delete; // the pointer would dangle
  /// The value that the task wrote to a field, in an event of mode `updates`, or of mode `tasks` at
  /// the end of a task: `wrote<&State::field>()`. Null if the task did not write the field, in
  /// other events, and in events of graphs with another state type. The pointer is valid as long as
  /// the event.
  template <auto Member>
  [[nodiscard]] const typename detail::field<Member>::type* wrote() const& noexcept {
    using of = typename detail::field<Member>::state;
    const auto is_of =
        table ? table->state_type() == typeid(struct_block<of>) : std::is_same_v<of, State>;
    return is_of ? written<Member>(writes) : nullptr;
  }
  template <auto Member>
  const typename detail::field<Member>::type* wrote() const&& = delete;
};

/// The events of one run of a typed graph; see event_stream.
template <class State>
class state_stream : public detail::event_stream {
public:
  explicit state_stream(detail::event_stream events) : detail::event_stream{std::move(events)} {}

  /// Waits for the next event; see event_stream::next().
  [[nodiscard]] std::optional<state_event<State>> next() {
    return typed(detail::event_stream::next());
  }
  /// Waits for the next event without blocking the thread; see event_stream::receive().
  [[nodiscard]] task<std::optional<state_event<State>>> receive() {
    auto waiting = detail::event_stream::receive();
    auto event = co_await waiting;
    co_return typed(std::move(event));
  }

private:
  static std::optional<state_event<State>> typed(std::optional<detail::run_event> event) {
    if (!event)
      return std::nullopt;
    return state_event<State>{std::move(*event)};
  }
};

} // namespace superstep
