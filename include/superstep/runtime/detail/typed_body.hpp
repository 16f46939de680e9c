// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/never.hpp>
#include <superstep/runtime/detail/named_fields.hpp>
#include <superstep/runtime/detail/owns_runtime.hpp>
#include <superstep/runtime/update.hpp>

#include <concepts>
#include <string>
#include <type_traits>
#include <utility>

namespace superstep::detail {

// A body takes its input and, in any combination and order, `const run_config&` and `runtime`. A
// coroutine takes the runtime by value, because a reference would dangle after its first
// suspension. Bodies of a channel_graph take several inputs: one for each channel that the node
// reads.

template <class F, class... In>
concept body_arguments =
    owns_its_runtime<F> && (std::invocable<const F&, const In&...> ||
                            std::invocable<const F&, const In&..., const run_config&> ||
                            std::invocable<const F&, const In&..., runtime> ||
                            std::invocable<const F&, const In&..., const run_config&, runtime> ||
                            std::invocable<const F&, const In&..., runtime, const run_config&>);

template <class F, class... In>
decltype(auto) call_body(const F& f, const body_input& given, const In&... in) {
  if constexpr (std::invocable<const F&, const In&...>)
    return f(in...);
  else if constexpr (std::invocable<const F&, const In&..., const run_config&>)
    return f(in..., **given.config);
  else if constexpr (std::invocable<const F&, const In&..., runtime>)
    return f(in..., given.make_runtime());
  else if constexpr (std::invocable<const F&, const In&..., const run_config&, runtime>)
    return f(in..., **given.config, given.make_runtime());
  else
    return f(in..., given.make_runtime(), **given.config);
}

template <class F, class... In>
using body_result = decltype(call_body(std::declval<const F&>(), std::declval<const body_input&>(),
                                       std::declval<const In&>()...));

template <class R>
inline constexpr bool is_parent_command = false;
template <class Parent>
inline constexpr bool is_parent_command<parent_command<Parent>> = true;

template <class R, class State>
inline constexpr bool is_assignment_in = false;
template <auto Member, class State>
inline constexpr bool is_assignment_in<assignment<Member>, State> =
    std::same_as<typename field<Member>::state, State>;

template <class R, class State>
concept node_result =
    std::is_void_v<R> || std::same_as<R, update<State>> || std::same_as<R, command<State>> ||
    is_assignment_in<R, State> || is_parent_command<R>;

/// Throws graph_error{invalid_update}: a node returned a command with `resume`.
[[noreturn]] void throw_resumes();

template <class F, class In, class State>
concept typed_body = body_arguments<F, In> && node_result<awaited_t<body_result<F, In>>, State>;

/// Fails to compile, with a sentence that states why F is not a typed_body.
template <class F, class In, class State>
void explain_body() {
  if constexpr (!owns_its_runtime<F>)
    static_assert(never<F>, "a coroutine takes runtime by value, not as const runtime&: a "
                            "reference would dangle after the first co_await");
  else if constexpr (!body_arguments<F, In>)
    static_assert(never<F>, "a body takes its input as (const Input&), which is the state unless "
                            "the node is a node<Input>, and optionally const run_config& and "
                            "runtime; it can be called as const. If an error inside the body is "
                            "reported above, correct that error first");
  else if constexpr (std::same_as<awaited_t<body_result<F, In>>, State>)
    static_assert(never<F>, "a body returns the changes of the state, not a whole state: return "
                            "set<&State::field>(value), or update{set<...>(...), ...}");
  else
    static_assert(never<F>, "a body returns nothing, update<State>, set<&State::field>(value), "
                            "command<State> or a parent_command, or a task<> of one of these");
}

template <class State>
void into_output(update<State>&& u, const program&, node_output& out) {
  out.writes = std::move(u.writes());
}

template <auto Member, class State>
void into_output(assignment<Member, State>&& a, const program& table, node_output& out) {
  into_output(update{std::move(a)}, table, out);
}

template <class State>
void into_output(command<State>&& c, const program& table, node_output& out) {
  if (c.resume) [[unlikely]]
    throw_resumes();
  out.writes = std::move(c.update.writes());
  for (auto& d : c.go_to)
    std::move(d).add_to(out, table);
}

template <class Parent>
void into_output(parent_command<Parent>&& c, const program&, node_output& out) {
  out.to_parent = std::make_shared<const value>(std::move(c));
}

/// Converts the result of a body's coroutine to an output with into_output(result, more...).
/// @tparam R the return type of the body's function
template <class R, class... More>
void take_output(body_task& ended, More&&... more) {
  if constexpr (!is_task_v<R>)
    SUPERSTEP_ASSERT(false); // the function has returned its result itself
  else if constexpr (std::is_void_v<awaited_t<R>>)
    ended.take<void>();
  else
    into_output(ended.take<awaited_t<R>>(), std::forward<More>(more)...);
}

/// Returns the payload of a Send. Throws graph_error if it has another type. @pre given.payload
template <class In>
const In& payload_of(const body_input& given) {
  // The types differ if two node constants have the same name and different input types.
  if (!given.payload->holds<In>())
    throw_wrong_input(given);
  return given.payload->as<In>();
}

/// Returns the input of a node of a graph<State>: the payload of its Send, or the state. Throws
/// graph_error{invalid_update} if the payload has another type, or is missing in a node that does
/// not take the state.
template <class State, class In>
const In& input_of(const body_input& given) {
  if (given.payload)
    return payload_of<In>(given);
  if constexpr (std::same_as<In, State>)
    return static_cast<const struct_block<State>*>(given.state)->state;
  else // an earlier version of the graph saved the task when the node still took the state
    throw_wrong_input(given);
}

/// Returns the input of a node as an In. Throws graph_error{invalid_update} if the input of a Send
/// has another type, and wrong_type if the state has another type.
template <class In>
const In& checked_input_of(const body_input& given) {
  if (given.payload)
    return payload_of<In>(given);
  const auto* state = state_if<In>(given.state);
  if (state == nullptr)
    throw_wrong_type("the input of the node",
                     given.state != nullptr ? &typeid(*given.state) : nullptr, typeid(In));
  return *state;
}

/// The body of a node of a graph<State>: a function that takes an In.
template <class State, class In, class F>
class body_of final : public node_body {
public:
  explicit body_of(F f) : f_{std::move(f)} {}

  void run(const body_input& given, outcome& out) const override {
    using result = body_result<F, In>;
    const auto& in = input_of<State, In>(given);
    if constexpr (is_task_v<result>)
      out.rest = call_body(f_, given, in);
    else if constexpr (std::is_void_v<result>)
      call_body(f_, given, in);
    else
      into_output(call_body(f_, given, in), *given.table, out.output);
  }
  void finish(body_task& ended, const body_input& given, node_output& out) const override {
    take_output<body_result<F, In>>(ended, *given.table, out);
  }
  bool take_command(const value& command, const body_input& given, const std::string& child,
                    node_output& out) const override {
    // Only a coroutine can await the end of a graph. The others do not need this code.
    if constexpr (is_task_v<body_result<F, In>>)
      add_parent_command<State>(command, *given.table, child, out);
    return is_task_v<body_result<F, In>>;
  }
  [[nodiscard]] bool gives_commands() const override {
    return std::same_as<awaited_t<body_result<F, In>>, command<State>>;
  }
  const value_form* input_form() const override { return form_of<In>(); }
  const std::type_info& input_type() const override { return typeid(In); }

private:
  F f_;
};

template <class R>
concept route_result = std::convertible_to<R, destination> || std::convertible_to<R, destinations>;

template <class F, class State>
concept typed_router = body_arguments<F, State> && route_result<body_result<F, State>>;

/// Fails to compile, with a sentence that states why F is neither a typed_router nor a
/// labelling_router.
template <class F, class State>
void explain_router() {
  if constexpr (!body_arguments<F, State>)
    static_assert(never<F>, "a router takes (const State&), and optionally const run_config& and "
                            "runtime; it can be called as const");
  else
    static_assert(never<F>, "a router returns a destination (a node, its name, or a Send) or a "
                            "list of them, such as send_each(); with a map from labels to nodes, "
                            "it returns a bool, an enumerator or a text");
}

/// Adds the destinations that a router returned to the output of its node.
template <route_result R>
void add_route(R chosen, const body_input& given, node_output& out) {
  if constexpr (std::convertible_to<R, destination>) {
    destination{std::move(chosen)}.add_to(out, *given.table);
  } else {
    auto targets = destinations(std::move(chosen));
    out.sends.reserve(targets.size());
    for (auto& d : targets)
      std::move(d).add_to(out, *given.table);
  }
}

/// A branch of a graph<State> whose function returns destinations.
template <class State, class F>
class router_of final : public router {
public:
  explicit router_of(F f) : f_{std::move(f)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    const auto& state = static_cast<const struct_block<State>&>(fresh).state;
    add_route(call_body(f_, given, state), given, out);
  }

private:
  F f_;
};

} // namespace superstep::detail
