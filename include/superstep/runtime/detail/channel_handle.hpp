// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/assert.hpp>
#include <superstep/channels/detail/slots.hpp>
#include <superstep/runtime/detail/exact.hpp>

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace superstep {

class channel_graph;

namespace detail {
/// The data that all handles of one channel_graph refer to. Its address identifies the graph. It
/// lives as long as the graph or the program compiled from it.
struct channel_layout {
  slot_block blank{this};             ///< slot i belongs to channel i
  std::deque<std::string> node_names; ///< the texts that the node constants of the graph refer to
};
} // namespace detail

/// Identifies a channel of one channel_graph. `T` is the type that is written. `Held` is the type
/// that is read: T itself, or std::optional<T> if the channel may be empty.
template <class T, class Held = T>
class channel_handle {
public:
  using value_type = T;
  using held_type = Held;

  /// Returns the number of the channel in its graph.
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  /// Returns an address that identifies the graph of the channel.
  [[nodiscard]] const detail::channel_layout* graph() const noexcept { return graph_; }

private:
  friend class channel_graph;
  channel_handle(const detail::channel_layout& graph, std::uint32_t index)
      : graph_{&graph}, index_{index} {}

  const detail::channel_layout* graph_;
  std::uint32_t index_;
};

/// The handle of a channel that may be empty, for example before its first write.
template <class T>
using optional_handle = channel_handle<T, std::optional<T>>;

/// A write to a channel, together with the graph of the channel.
struct channel_write {
  const detail::channel_layout* graph;
  write content;
};

/// Returns a write to a channel: `calls <<= 1`. If the channel has a reducer, the reducer combines
/// the value with the old one.
template <class T, class Held>
[[nodiscard]] channel_write operator<<=(channel_handle<T, Held> into, detail::written_as<T> v) {
  return {into.graph(), {into.index(), false, value{detail::unwrap<T>(std::move(v))}}};
}

/// Returns a write that replaces the value of a channel without calling its reducer.
template <class T, class Held>
[[nodiscard]] channel_write overwrite(channel_handle<T, Held> into, detail::written_as<T> v) {
  return {into.graph(), {into.index(), true, value{detail::unwrap<T>(std::move(v))}}};
}

/// The channels that a node reads, in the order of the parameters of its body.
template <class... Handles>
struct reads {
  std::tuple<Handles...> handles;
  /// Lists handles: `reads{log, last}`.
  reads(Handles... h) : handles{h...} {}
};

namespace detail {
/// Returns the value of a channel. Does not check that the state belongs to the graph of the
/// handle.
template <class T, class Held>
[[nodiscard]] const Held& held_in(channel_handle<T, Held> from, const state_block& state) {
  return static_cast<const slot_block&>(state).at<Held>(from.index());
}
/// Throws graph_error{invalid_update}: the handle belongs to another graph.
[[noreturn]] void throw_other_graph();
} // namespace detail

/// Returns the value of a channel in a state of its graph. Valid as long as the state. Throws
/// graph_error{invalid_update} if the state belongs to another graph.
template <class T, class Held>
[[nodiscard]] const Held& get(channel_handle<T, Held> from, const state_block& state) {
  const auto* slots = dynamic_cast<const slot_block*>(&state);
  const auto* held = slots != nullptr && slots->owner() == from.graph()
                         ? slots->get_if<Held>(from.index())
                         : nullptr;
  if (held == nullptr)
    detail::throw_other_graph();
  return *held;
}
/// Returns the value of a channel in the result of a run. Valid as long as the result. Throws
/// graph_error{invalid_update} if the result has no state, or the state of another graph.
template <class T, class Held, class Result>
  requires requires(const Result& r) { static_cast<const state_block&>(*r.state); }
[[nodiscard]] const Held& get(channel_handle<T, Held> from, const Result& result) {
  if (!result.state)
    detail::throw_other_graph();
  return get(from, static_cast<const state_block&>(*result.state));
}

} // namespace superstep
