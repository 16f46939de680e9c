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
/// What all handles of one channel_graph share. Its address tells the graph's handles from those
/// of other graphs; it lives as long as the graph and the program made of it.
struct channel_layout {
  slot_block blank{this};             ///< slot i belongs to channel i
  std::deque<std::string> node_names; ///< what the node constants of the graph view
};
} // namespace detail

/// Names a channel of one channel_graph. `T` is what is written, `Held` what is read: T itself, or
/// std::optional<T> where nothing may have been written yet.
template <class T, class Held = T>
class channel_handle {
public:
  using value_type = T;
  using held_type = Held;

  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] const detail::channel_layout* graph() const noexcept { return graph_; }

private:
  friend class channel_graph;
  channel_handle(const detail::channel_layout& graph, std::uint32_t index)
      : graph_{&graph}, index_{index} {}

  const detail::channel_layout* graph_;
  std::uint32_t index_;
};

/// A channel that is empty until its first write (and, when ephemeral, again later).
template <class T>
using optional_handle = channel_handle<T, std::optional<T>>;

/// A write that knows whose channel it is for.
struct channel_write {
  const detail::channel_layout* graph;
  write content;
};

/// `calls <<= 1`: writes a channel. With a reducer the value is folded in.
template <class T, class Held>
[[nodiscard]] channel_write operator<<=(channel_handle<T, Held> into, detail::written_as<T> v) {
  return {into.graph(), {into.index(), false, value{detail::unwrap<T>(std::move(v))}}};
}

/// Replaces the value of a channel that has a reducer, instead of folding into it.
template <class T, class Held>
[[nodiscard]] channel_write overwrite(channel_handle<T, Held> into, detail::written_as<T> v) {
  return {into.graph(), {into.index(), true, value{detail::unwrap<T>(std::move(v))}}};
}

/// The channels that a node reads, in the order in which its body takes them.
template <class... Handles>
struct reads {
  std::tuple<Handles...> handles;
  reads(Handles... h) : handles{h...} {}
};

namespace detail {
/// Unchecked, for the bodies of the graph that owns the handle.
template <class T, class Held>
[[nodiscard]] const Held& held_in(channel_handle<T, Held> from, const state_block& state) {
  return static_cast<const slot_block&>(state).at<Held>(from.index());
}
/// Throws graph_error{invalid_update}.
[[noreturn]] void throw_other_graph();
} // namespace detail

/// The value of a channel in a state of its graph's program. Valid as long as the state. Throws
/// graph_error if the state is of another graph.
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
/// The value in the result of a run (raw_result). Throws graph_error if the result has no state, or
/// one of another graph.
template <class T, class Held, class Result>
  requires requires(const Result& r) { static_cast<const state_block&>(*r.state); }
[[nodiscard]] const Held& get(channel_handle<T, Held> from, const Result& result) {
  if (!result.state)
    detail::throw_other_graph();
  return get(from, static_cast<const state_block&>(*result.state));
}

} // namespace superstep
