// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/never.hpp>
#include <superstep/runtime/compiled_graph.hpp>
#include <superstep/runtime/detail/run_input.hpp>
#include <superstep/runtime/detail/typed_body.hpp>
#include <superstep/runtime/update.hpp>

#include <concepts>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>

// The inputs of runs, and how they become writes.
namespace superstep {

namespace detail {

/// Returns writes to every field of a state: the input of a run without a thread, or on a new
/// thread.
template <class State>
[[nodiscard]] state_input input_writes(State input) {
  auto all = state_input{};
  all.writes.reserve(boost::mp11::mp_size<detail::fields_of<State>>::value);
  auto index = std::uint32_t{0};
  boost::mp11::mp_for_each<detail::fields_of<State>>([&](auto d) {
    all.writes.push_back({index++, false, value{std::move(input.*d.pointer)}});
  });
  return all;
}
/// Returns the writes of an update: the input of a run, or the values of a state_edit.
template <class State>
[[nodiscard]] write_list input_writes(update<State> input) {
  return {std::make_move_iterator(input.writes().begin()),
          std::make_move_iterator(input.writes().end())};
}
/// Returns the writes of a projection.
template <class State, projection_of<State> Part>
[[nodiscard]] write_list input_writes(Part input) {
  check_fields<Part>();
  auto writes = write_list{};
  writes.reserve(boost::mp11::mp_size<detail::fields_of<Part>>::value);
  boost::mp11::mp_for_each<detail::fields_of<Part>>([&](auto d) {
    writes.push_back(
        {detail::place_in<State, decltype(d)>(), false, value{std::move(input.*d.pointer)}});
  });
  return writes;
}

/// An input that is converted to messages, if the state has the field `messages`: text, a message,
/// or a list of messages. The messages component defines messages_input() for its list type.
template <class Input, class State>
concept messages_for = described<State> && requires(State state, Input input) {
  state.messages;
  {
    messages_input(std::type_identity<decltype(state.messages)>{}, std::move(input))
  } -> std::same_as<decltype(state.messages)>;
};

/// Converts between a described struct and its channels, which are its fields.
template <class State>
struct state_adapter {
  using block = struct_block<State>;
  using default_input = State;
  using update_type = update<State>;
  static constexpr bool has_whole_input = true; ///< whether a State as input writes every channel

  /// Returns the struct: moved if this is the only reference to the block, else copied.
  [[nodiscard]] static State take(state_ptr& from) {
    auto& state = static_cast<block&>(*from).state;
    return from->use_count() == 1 ? State(std::move(state)) : State(std::as_const(state));
  }
  /// Returns a reference to the struct in the block.
  [[nodiscard]] static const State& read(const state_block& from) noexcept {
    return static_cast<const block&>(from).state;
  }

  // Turn the input of a run into writes.
  [[nodiscard]] static state_input input(State whole) { return input_writes(std::move(whole)); }
  [[nodiscard]] static write_list input(update<State> some) {
    return input_writes(std::move(some));
  }
  template <projection_of<State> Part>
  [[nodiscard]] static write_list input(Part some) {
    return input_writes<State>(std::move(some));
  }
  template <messages_for<State> Messages>
  [[nodiscard]] static write_list input(Messages some) {
    using list = decltype(State::messages);
    return input_writes(
        update{set<&State::messages>(messages_input(std::type_identity<list>{}, std::move(some)))});
  }

  // Turn the values of a state edit into writes.
  [[nodiscard]] static write_list edit(update<State> some) { return input_writes(std::move(some)); }
  template <projection_of<State> Part>
  [[nodiscard]] static write_list edit(Part some) {
    return input_writes<State>(std::move(some));
  }

  /// Adds the writes, nodes and Sends of a command to an output.
  static void add_command(command<State>&& c, const program& table, node_output& out) {
    into_output(std::move(c), table, out);
  }
};

template <class Input, class State>
concept plain_input_of =
    requires(const state_adapter<State>& adapter, Input input) { adapter.input(std::move(input)); };

/// Returns the input of a run that resumes a thread.
[[nodiscard]] run_input resume_input(const resume& r);
/// Returns the input of a run that a command starts.
[[nodiscard]] run_input command_input(node_output&& output, const optional_box<resume>& r);

} // namespace detail

/// An input that a run of a graph over State accepts: resume, a command, an update<State>, a
/// projection, or a whole State (on a new thread only). If the state has the field `messages`, also
/// a text, a message or a list of messages. A graph over json::object accepts JSON objects, a graph
/// over channel_values accepts channel_writes.
template <class Input, class State>
concept run_input_of = std::same_as<Input, resume> || std::same_as<Input, command<State>> ||
                       detail::plain_input_of<Input, State>;

namespace detail {

/// Fails to compile, with a sentence that states which inputs a run accepts.
template <class Input>
void explain_input() {
  static_assert(never<Input>,
                "the graph does not accept this input: pass a State, update{set<&State::field>"
                "(value), ...}, a described struct with some of the State's fields, of the same "
                "types, a command<State> or a resume; text and messages need a field "
                "`message_list messages` of the State");
}

/// Converts the input that a caller passes to the form that the engine runs. Throws graph_error if
/// the input names an unknown node, or a channel of another graph.
template <class State, run_input_of<State> Input>
[[nodiscard]] run_input input_for(const compiled_graph<State>& graph, Input input) {
  if constexpr (std::same_as<Input, resume>) {
    return resume_input(input);
  } else if constexpr (std::same_as<Input, command<State>>) {
    const auto resumed = std::exchange(input.resume, {});
    auto output = node_output{};
    adapter_of(graph).add_command(std::move(input), *program_of(graph), output);
    return command_input(std::move(output), resumed);
  } else {
    return adapter_of(graph).input(std::move(input));
  }
}

/// The type that a braced list is converted to as the input of a graph over State.
template <class State>
using default_input = typename state_adapter<State>::default_input;

} // namespace detail
} // namespace superstep
