// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/runtime/compiled_graph.hpp>
#include <superstep/runtime/detail/labels.hpp>
#include <superstep/runtime/detail/named_fields.hpp>
#include <superstep/runtime/detail/nested_run.hpp>
#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/detail/typed_body.hpp>
#include <superstep/runtime/inputs.hpp>
#include <superstep/runtime/update.hpp>

#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// Returns the input of an activation as an `In`, for functions in node_options such as a cache key
/// or on_failure. Throws graph_error if a Send carried another type, and wrong_type if the state
/// has another type. Valid as long as `given`.
template <class In>
[[nodiscard]] const In& input_as(const body_input& given) {
  return detail::checked_input_of<In>(given);
}

namespace detail {

/// A type that a function may return as the input of a nested graph over Child.
template <class Input, class Child>
concept nested_input = plain_input_of<Input, Child> || std::convertible_to<Input, Child>;

/// Whether the input of a nested graph writes every field of its state.
template <class Input, class Child>
inline constexpr bool is_whole_input =
    state_adapter<Child>::has_whole_input && std::convertible_to<Input, Child>;

/// Turns the input of a nested graph into writes. A whole state is accepted only if the graph does
/// not keep its state between calls; the callers check that.
template <class Child, nested_input<Child> Input>
[[nodiscard]] write_list nested_writes(const compiled_graph<Child>& child, Input input) {
  if constexpr (is_whole_input<Input, Child>)
    return adapter_of(child).input(Child(std::move(input))).writes;
  else
    return adapter_of(child).input(std::move(input));
}

/// Returns an update that writes every field of the state.
template <class State>
[[nodiscard]] update<State> update_of_all(const State& state) {
  auto all = update<State>{};
  boost::mp11::mp_for_each<fields_of<State>>([&](auto d) {
    all.add(assignment<decltype(d)::pointer>{state.*d.pointer, false});
  });
  return all;
}

/// The body of a node that runs a graph with a state of its own.
template <class State, class Input, class Child, class In, class Out>
class subgraph_body final : public node_body {
public:
  subgraph_body(compiled_graph<Child> child, In to_child, Out from_child)
      : child_{std::move(child)}, to_child_{std::move(to_child)},
        from_child_{std::move(from_child)} {}

  void run(const body_input& given, outcome& out) const override {
    out.rest = finish(given.services, given.table, state_in(given));
  }
  bool gives_commands() const override { return false; }
  program_ptr nested() const override { return program_of(child_); }
  const value_form* input_form() const override { return form_of<Input>(); }
  const std::type_info& input_type() const override { return typeid(Input); }

private:
  [[nodiscard]] write_list state_in(const body_input& given) const {
    return nested_writes(child_, to_child_(input_of<Input>(given)));
  }
  task<node_output> finish(call_services* services, const program* table, write_list input) const {
    auto running = run_nested(services, program_of(child_), std::move(input));
    auto ended = co_await running;
    auto out = node_output{};
    if (ended.to_parent) {
      add_parent_command<State>(*ended.to_parent, *table, program_of(child_)->name(), out);
    } else if (ended.state) {
      const auto& state = adapter_of(child_).read(*ended.state);
      auto back = update<State>{from_child_(state)};
      out.writes.assign(back.writes().begin(), back.writes().end());
    }
    co_return out;
  }

  compiled_graph<Child> child_;
  In to_child_;
  Out from_child_;
};

} // namespace detail

/// A graph whose state is a described struct; the counterpart of LangGraph's `StateGraph`
/// (langgraph/graph/state.py).
///
///     struct counter { int n = 0; std::vector<std::string> log;
///       using reducers = superstep::reducers<by<&counter::log, append>>; };
///     BOOST_DESCRIBE_STRUCT(counter, (), (n, log))
///
/// Every described field is a channel. A field with a rule combines the writes of a step by that
/// rule. A field without one keeps the last value, and two writes to it in one step are an error.
///
/// The graph stores its bodies, so a body may be a lambda that captures and is a coroutine.
///
/// @par Threads
/// Not synchronised: build and compile a graph on one thread. The compiled graph may be used from
/// any thread.
template <class State>
class graph {
  static_assert(detail::described<State>,
                "describe the state: BOOST_DESCRIBE_STRUCT(your_state, (), (field, …))");

public:
  /// Creates a graph with one channel for each field of State, and no nodes.
  graph() {
    add_channels();
    builder_.set_state([] { return state_ptr{new struct_block<State>}; });
  }

  /// Adds a node. The body takes `const Input&`, optionally `const run_config&` and `runtime`, and
  /// returns update<State>, `set<&State::field>(…)`, command<State> or nothing, or a `task<>` of
  /// these. It is called by many runs at once, so it must be safe to call from several threads. The
  /// references that it receives are valid until it has ended.
  template <class Input, detail::typed_body<Input, State> F>
  graph& add(node<Input> n, F body, node_options options = {}) {
    builder_.add_node(std::string{n.name},
                      std::make_unique<detail::body_of<State, Input, F>>(std::move(body)),
                      !std::is_same_v<Input, State>, std::move(options));
    return *this;
  }
  /// Adds a node whose input is the state.
  template <detail::typed_body<State, State> F>
  graph& add(std::string_view name, F body, node_options options = {}) {
    return add(superstep::node<State>{name}, std::move(body), std::move(options));
  }

  /// Adds an error handler of `n`. It runs in the same step when an activation of `n` has failed
  /// and is not retried. Its input is that of the activation, and runtime::failure() is the reason.
  /// Its result is the output of the node. The edges of `n` do not fire: only commands choose the
  /// next nodes.
  template <class Input, detail::typed_body<Input, State> F>
  graph& on_error(node<Input> n, F handler, node_options options = {}) {
    builder_.add_error_handler(
        std::string{n.name}, std::make_unique<detail::body_of<State, Input, F>>(std::move(handler)),
        !std::is_same_v<Input, State>, std::move(options));
    return *this;
  }
  /// Adds an error handler for all nodes without one of their own. Its input is the state, even if
  /// the node was activated by a Send.
  template <detail::typed_body<State, State> F>
  graph& on_error(F handler, node_options options = {}) {
    builder_.set_error_handler(
        std::make_unique<detail::body_of<State, State, F>>(std::move(handler)), std::move(options));
    return *this;
  }
  /// Sets the retry, cache and timeout of nodes whose own options do not set them.
  graph& defaults(node_options options) {
    builder_.set_defaults(std::move(options));
    return *this;
  }

  /// Adds a graph with a state of its own as a node. Its interrupts, events and checkpoints are
  /// part of the run.
  /// @param to_child returns the graph's input for an input of the node: a Child, an update of one
  /// or a projection
  /// @param from_child returns an update of this graph for the last state of the nested one
  ///
  /// A graph that keeps its state between calls (persistence::per_thread) does not accept a whole
  /// Child: each call would reset every field without a reducer, so compile() reports it.
  template <class Input, class Child, std::invocable<const Input&> In,
            std::invocable<const Child&> Out>
    requires detail::nested_input<std::remove_cvref_t<std::invoke_result_t<In, const Input&>>,
                                  Child> &&
             std::convertible_to<std::invoke_result_t<Out, const Child&>, update<State>>
  graph& add(node<Input> n, compiled_graph<Child> child, In to_child, Out from_child,
             node_options options = {}) {
    using input = std::remove_cvref_t<std::invoke_result_t<In, const Input&>>;
    if (detail::is_whole_input<input, Child> &&
        detail::program_of(child)->options().persistence == persistence::per_thread)
      builder_.add_fault(
          {graph_errc::invalid_graph, std::string{n.name},
           detail::whole_state_fault("to_child of node '" + std::string{n.name} + "'",
                                     *detail::program_of(child))});
    builder_.add_node(std::string{n.name},
                      std::make_unique<detail::subgraph_body<State, Input, Child, In, Out>>(
                          std::move(child), std::move(to_child), std::move(from_child)),
                      !std::is_same_v<Input, State>, std::move(options));
    return *this;
  }

  /// Adds a graph with a state of its own as a node whose input is the state; see the overload
  /// above.
  template <class Child, std::invocable<const State&> In, std::invocable<const Child&> Out>
    requires detail::nested_input<std::remove_cvref_t<std::invoke_result_t<In, const State&>>,
                                  Child> &&
             std::convertible_to<std::invoke_result_t<Out, const Child&>, update<State>>
  graph& add(std::string_view name, compiled_graph<Child> child, In to_child, Out from_child,
             node_options options = {}) {
    return add(superstep::node<State>{name}, std::move(child), std::move(to_child),
               std::move(from_child), std::move(options));
  }
  /// Adds a graph over the same state as a node. It starts from the state of this graph. Its last
  /// state is written back through the reducers, as in LangGraph. Use the overload with two
  /// mappings if a reducer would count a value twice, for example std::plus<>.
  graph& add(std::string_view name, compiled_graph<State> child, node_options options = {}) {
    return add(
        superstep::node<State>{name}, std::move(child), [](const State& state) { return state; },
        [](const State& state) { return detail::update_of_all(state); }, std::move(options));
  }

  /// Adds an edge: `to` runs in the step after `from`. `start` is the entry of the graph, `end`
  /// activates no node.
  graph& edge(destination from, destination to) {
    builder_.add_edge({std::string{from.name()}}, std::string{to.name()});
    return *this;
  }
  /// Adds a join: the target runs when all sources have run, even in different steps.
  graph& edge(std::initializer_list<destination> from, destination to) {
    auto names = std::vector<std::string>{};
    for (const auto& f : from)
      names.emplace_back(f.name());
    builder_.add_edge(std::move(names), std::string{to.name()});
    return *this;
  }

  /// Adds an edge from each node to the one that follows it in the list.
  graph& sequence(std::initializer_list<destination> nodes) {
    auto names = std::vector<std::string>{};
    for (const auto& n : nodes)
      names.emplace_back(n.name());
    builder_.add_sequence(std::move(names));
    return *this;
  }

  /// Adds a branch after `from`, or at the entry (start). The router receives the state with the
  /// node's own writes applied. It returns a destination or a list of them, for example
  /// send_each().
  /// @param declared the possible targets, which are drawn and checked by compile()
  template <detail::typed_router<State> R>
  graph& branch(destination from, R route, std::initializer_list<destination> declared = {}) {
    auto names = std::vector<std::pair<std::string, std::string>>{};
    for (const auto& d : declared)
      names.emplace_back(std::string{d.name()}, std::string{d.name()});
    builder_.add_branch(std::string{from.name()},
                        std::make_unique<detail::router_of<State, R>>(std::move(route)),
                        std::move(names));
    return *this;
  }

  /// Adds a branch whose router returns a label (bool, an enumerator or text).
  /// @param map the target of each label, drawn. A label that is not in it fails the node
  /// (graph_errc::unknown_label).
  template <detail::labelling_router<State> R>
  graph& branch(destination from, R route,
                std::vector<std::pair<detail::body_result<R, State>, destination>> map) {
    auto names = std::vector<std::pair<std::string, std::string>>{};
    auto targets = std::vector<std::pair<detail::body_result<R, State>, std::string>>{};
    for (const auto& [label, to] : map) {
      names.emplace_back(detail::label_text(label), std::string{to.name()});
      targets.emplace_back(label, std::string{to.name()});
    }
    builder_.add_branch(
        std::string{from.name()},
        std::make_unique<detail::labelled_router<State, R>>(std::move(route), std::move(targets)),
        std::move(names));
    return *this;
  }

  /// Checks the graph and returns it ready to run. Throws compile_error with every fault. Call it
  /// once: the bodies move into the result.
  [[nodiscard]] compiled_graph<State> compile(compile_options options = {}) {
    return detail::graph_access::make<State>(builder_.compile(std::move(options)));
  }

private:
  void add_channels() {
    boost::mp11::mp_for_each<detail::fields_of<State>>([this](auto d) {
      constexpr auto member = decltype(d)::pointer;
      using rule = typename detail::rule_for<member, typename detail::rules_of<State>::type>::type;
      builder_.add_channel(detail::make_channel<field_place<member>, rule>(d.name, {}));
    });
  }

  detail::program_builder builder_;
};

namespace detail {

template <class State>
task<State> invoke_nested(call_services* services, compiled_graph<State> graph, write_list input) {
  auto running = run_nested(services, program_of(graph), std::move(input));
  auto ended = co_await running;
  if (ended.to_parent) // a graph that a body runs has no parent graph that could take the command
    throw_no_parent();
  if (!ended.state)
    co_return State{};
  co_return adapter_of(graph).read(*ended.state);
}

} // namespace detail

template <class State, class Input>
task<State> runtime::invoke(compiled_graph<State> graph, Input input) const {
  static_assert(detail::nested_input<Input, State>,
                "the input of a nested run is a state, an update, a projection, or messages");
  if constexpr (detail::is_whole_input<Input, State>)
    detail::check_whole_input("runtime::invoke()", *detail::program_of(graph));
  auto writes = detail::nested_writes(graph, std::move(input));
  return detail::invoke_nested(services_, std::move(graph), std::move(writes));
}

} // namespace superstep
