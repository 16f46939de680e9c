// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/make_unique_as.hpp>
#include <superstep/base/detail/never.hpp>
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

/// Returns the input of a task as an `In`, for functions in node_options such as a cache key or
/// on_failure. Throws graph_error{invalid_update} if the input of a Send has another type, and
/// wrong_type if the state has another type. Valid as long as `given`. May be called from any
/// thread.
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

/// Whether In maps the input of a node to that of a nested graph, and Out its last state back.
template <class In, class Out, class Input, class Child, class State>
concept nested_mappings =
    std::invocable<const In&, const Input&> && std::invocable<const Out&, const Child&> &&
    nested_input<std::remove_cvref_t<std::invoke_result_t<const In&, const Input&>>, Child> &&
    std::convertible_to<std::invoke_result_t<const Out&, const Child&>, update<State>>;

/// Fails to compile, with a sentence that states why two functions are not nested_mappings.
template <class In, class Out, class Input, class Child, class State>
void explain_mappings() {
  if constexpr (!nested_mappings<In, update<State> (*)(const Child&), Input, Child, State>)
    static_assert(never<In>, "to_child takes (const Input&), the input of the node, and returns an "
                             "input of the child: its state, an update or a projection of it, or "
                             "messages");
  else
    static_assert(never<Out>, "from_child takes (const Child&), the last state of the child, and "
                              "returns an update of the parent: update<State> or "
                              "set<&State::field>(value)");
}

template <class>
inline constexpr bool is_compiled_graph = false;
template <class State>
inline constexpr bool is_compiled_graph<compiled_graph<State>> = true;

/// A function that graph<State>::add() does not accept as a body.
template <class F, class Input, class State>
concept misfit_body = !typed_body<F, Input, State> && !is_compiled_graph<F> &&
                      !std::convertible_to<F, compiled_graph<State>>;

/// Turns the input of a nested graph into writes. The callers check that a graph which keeps its
/// state between calls does not get a whole state.
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

/// The body of a node that runs a graph with another state type.
template <class State, class Input, class Child, class In, class Out>
class subgraph_body final : public node_body {
public:
  subgraph_body(compiled_graph<Child> child, In to_child, Out from_child)
      : child_{std::move(child)}, to_child_{std::move(to_child)},
        from_child_{std::move(from_child)} {}

  void run(const body_input& given, outcome& out) const override {
    out.rest = call_child(given.services, given.table, state_in(given));
  }
  bool gives_commands() const override { return false; }
  program_ptr nested() const override { return program_of(child_); }
  const value_form* input_form() const override { return form_of<Input>(); }
  const std::type_info& input_type() const override { return typeid(Input); }

private:
  [[nodiscard]] write_list state_in(const body_input& given) const {
    return nested_writes(child_, to_child_(input_of<State, Input>(given)));
  }
  task<node_output> call_child(call_services* services, const program* table,
                               write_list input) const {
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
///     namespace ss = superstep;
///     struct counter { int n = 0; std::vector<std::string> log;
///       using reducers = ss::reducers<ss::by<&counter::log, ss::append_items>>; };
///     BOOST_DESCRIBE_STRUCT(counter, (), (n, log))
///
/// Every described field is a channel. A field with a rule combines the writes of a step by that
/// rule. A field without a rule keeps the last value, and two writes to it in one step are an
/// error.
///
/// The functions that add parts return *this. They do not throw for faults such as unknown nodes:
/// compile() reports all of them together. The graph stores bodies and routers, so a body may be a
/// coroutine lambda with captures.
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
    detail::add_channels_of<State>(builder_);
    builder_.set_state([] { return state_ptr{new struct_block<State>}; });
  }

  /// Adds a node.
  /// @param n its name, and the type of its input; if that is not State, only Sends activate it
  /// @param body takes `const Input&` and optionally `const run_config&` and `runtime`. It returns
  /// update<State>, `set<&State::field>(…)`, command<State>, a parent_command or nothing, or a
  /// `task<>` of one of these. Several runs call it at the same time on different lane threads, so
  /// it must be thread-safe. The references that it receives are valid until it has ended. An
  /// exception fails the task; see node_options::retry and on_error().
  template <class Input, detail::typed_body<Input, State> F>
  graph& add(node<Input> n, F body, node_options options = {}) {
    builder_.add_node(
        std::string{n.name},
        detail::make_unique_as<const detail::node_body, detail::body_of<State, Input, F>>(
            std::move(body)),
        !std::is_same_v<Input, State>, std::move(options));
    return *this;
  }
  /// Adds a node whose input is the state; see the overload above.
  template <detail::typed_body<State, State> F>
  graph& add(std::string_view name, F body, node_options options = {}) {
    return add(superstep::node<State>{name}, std::move(body), std::move(options));
  }

  /// Adds the error handler of a node (`error_handler` in LangGraph's `add_node()`). It runs in the
  /// same super-step when a task of `n` has failed and is not retried. Its result replaces the
  /// output of the task. The edges of `n` do not fire: the handler chooses the next nodes with a
  /// command. If the handler fails, the run fails.
  /// @param handler a body as for add(). It receives the input of the failed task;
  /// runtime::failure() returns the failure.
  /// @param options retry, timeout and other options of the handler itself
  template <class Input, detail::typed_body<Input, State> F>
  graph& on_error(node<Input> n, F handler, node_options options = {}) {
    builder_.add_error_handler(
        std::string{n.name},
        detail::make_unique_as<const detail::node_body, detail::body_of<State, Input, F>>(
            std::move(handler)),
        !std::is_same_v<Input, State>, std::move(options));
    return *this;
  }
  /// Adds the error handler of a node whose input is the state; see the overload above.
  template <detail::typed_body<State, State> F>
  graph& on_error(std::string_view name, F handler, node_options options = {}) {
    return on_error(superstep::node<State>{name}, std::move(handler), std::move(options));
  }
  /// Adds the error handler of all nodes that do not have one; see the overload above. Its input is
  /// the state, unless a Send with a State as its input activated the failed task. The handler then
  /// receives that State.
  template <detail::typed_body<State, State> F>
  graph& on_error(F handler, node_options options = {}) {
    builder_.set_error_handler(
        detail::make_unique_as<const detail::node_body, detail::body_of<State, State, F>>(
            std::move(handler)),
        std::move(options));
    return *this;
  }
  /// Sets the retry policies, cache policy and timeout of all nodes whose own options do not set
  /// them. The cache policy does not apply to error handlers.
  /// @param options its `retry`, `cache` and `timeout` are used
  graph& defaults(node_options options) {
    builder_.set_defaults(std::move(options));
    return *this;
  }

  /// Adds a graph with another state type as a node (a subgraph). Its interrupts, events and
  /// checkpoints are part of the run.
  ///
  /// A graph that keeps its state between calls (persistence::per_thread) does not accept a whole
  /// Child: each call would reset every field without a reducer, so compile() reports it.
  /// @param to_child converts the input of the node to an input of `child`: a Child, an update or a
  /// projection of it, or messages
  /// @param from_child converts the last state of `child` to an update of this graph's state. It is
  /// not called if the run of `child` changed no channel; the node then writes nothing
  ///
  /// Both functions are called on lane threads by several runs at the same time.
  template <class Input, class Child, class In, class Out>
    requires detail::nested_mappings<In, Out, Input, Child, State>
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
                      detail::make_unique_as<const detail::node_body,
                                             detail::subgraph_body<State, Input, Child, In, Out>>(
                          std::move(child), std::move(to_child), std::move(from_child)),
                      !std::is_same_v<Input, State>, std::move(options));
    return *this;
  }

  /// Adds a graph with another state type as a node whose input is the state; see the overload
  /// above.
  template <class Child, class In, class Out>
    requires detail::nested_mappings<In, Out, State, Child, State>
  graph& add(std::string_view name, compiled_graph<Child> child, In to_child, Out from_child,
             node_options options = {}) {
    return add(superstep::node<State>{name}, std::move(child), std::move(to_child),
               std::move(from_child), std::move(options));
  }
  /// Adds a graph with the same state type as a node. The child starts with the state of this
  /// graph. Every field of the child's last state is then written to this graph through the
  /// reducers, as in LangGraph. Use the overload with two mappings if a reducer would count a value
  /// twice, for example std::plus<>.
  graph& add(std::string_view name, compiled_graph<State> child, node_options options = {}) {
    return add(
        superstep::node<State>{name}, std::move(child), [](const State& state) { return state; },
        [](const State& state) { return detail::update_of_all(state); }, std::move(options));
  }

  // The overloads below reject functions that the overloads above do not accept. Their compile
  // errors state what to change.
  /// Does not compile: the function is not a body. @{
  template <class Input, detail::misfit_body<Input, State> F>
  graph& add(node<Input>, F, const node_options& = {}) {
    detail::explain_body<F, Input, State>();
    return *this;
  }
  template <detail::misfit_body<State, State> F>
  graph& add(std::string_view, F, const node_options& = {}) {
    detail::explain_body<F, State, State>();
    return *this;
  }
  template <class Input, detail::misfit_body<Input, State> F>
  graph& on_error(node<Input>, F, const node_options& = {}) {
    detail::explain_body<F, Input, State>();
    return *this;
  }
  template <detail::misfit_body<State, State> F>
  graph& on_error(std::string_view, F, const node_options& = {}) {
    detail::explain_body<F, State, State>();
    return *this;
  }
  /// @}
  /// Does not compile: the subgraph is not compiled.
  template <class Name, class Child, class... Rest>
  graph& add(const Name&, const graph<Child>&, const Rest&...) {
    static_assert(detail::never<Child>, "compile the subgraph: add(name, subgraph.compile())");
    return *this;
  }
  /// Does not compile: a graph with another state needs two mappings, and these are not valid. @{
  template <class Child>
    requires(!std::same_as<Child, State>)
  graph& add(std::string_view, const compiled_graph<Child>&, const node_options& = {}) {
    static_assert(detail::never<Child>, "a graph with another state needs two functions: "
                                        "add(name, graph, to_child, from_child)");
    return *this;
  }
  template <class Input, class Child, class In, class Out>
    requires(!detail::nested_mappings<In, Out, Input, Child, State>)
  graph& add(node<Input>, const compiled_graph<Child>&, In, Out, const node_options& = {}) {
    detail::explain_mappings<In, Out, Input, Child, State>();
    return *this;
  }
  template <class Child, class In, class Out>
    requires(!detail::nested_mappings<In, Out, State, Child, State>)
  graph& add(std::string_view, const compiled_graph<Child>&, In, Out, const node_options& = {}) {
    detail::explain_mappings<In, Out, State, Child, State>();
    return *this;
  }
  /// @}

  /// Adds an edge: `to` runs in the super-step after `from`. An edge from `start` makes `to` an
  /// entry of the graph; an edge to `end` activates no node.
  graph& edge(node_name from, node_name to) {
    builder_.add_edge({std::string{from.name()}}, std::string{to.name()});
    return *this;
  }
  /// Adds a join: `to` runs when all nodes in `from` have run, even in different super-steps. It
  /// then waits for all of them again. The list must not contain `start`.
  graph& edge(std::initializer_list<node_name> from, node_name to) {
    builder_.add_edge(detail::owned_names(from), std::string{to.name()});
    return *this;
  }

  /// Adds an edge from each node of the list to the next one. compile() reports an empty list and
  /// repeated nodes.
  graph& sequence(std::initializer_list<node_name> nodes) {
    builder_.add_sequence(detail::owned_names(nodes));
    return *this;
  }

  /// Adds a branch (`add_conditional_edges()` in LangGraph): when `from` has run, a router chooses
  /// the next nodes. With `start`, it chooses the first nodes.
  /// @param route receives the state with the writes of `from` applied, but not those of other
  /// tasks of the step. Optionally takes `const run_config&` and `runtime`. Returns a
  /// destination or a list of destinations, for example send_each(). An exception fails the task of
  /// `from`. Called on lane threads by several runs at the same time.
  /// @param declared the possible targets, for drawings and for the checks of compile(); a run does
  /// not check the router's choice against them. Empty: any node
  template <detail::typed_router<State> R>
  graph& branch(node_name from, R route, std::initializer_list<node_name> declared = {}) {
    auto names = std::vector<std::pair<std::string, std::string>>{};
    for (const auto& d : declared)
      names.emplace_back(std::string{d.name()}, std::string{d.name()});
    builder_.add_branch(
        std::string{from.name()},
        detail::make_unique_as<const detail::router, detail::router_of<State, R>>(std::move(route)),
        std::move(names));
    return *this;
  }

  /// Adds a branch whose router returns a label: a bool, an enumerator or a text. Otherwise as the
  /// overload above.
  /// @param map the target of each label; drawn, and checked by compile(). A label that it does not
  /// contain fails the task (graph_errc::unknown_label).
  template <detail::labelling_router<State> R>
  graph& branch(node_name from, R route,
                std::vector<detail::path_entry<detail::body_result<R, State>>> map) {
    return add_labelled(from, std::move(route), map);
  }
  /// Adds a branch whose router returns a label as `const char*` or std::string_view.
  template <detail::text_router<State> R>
  graph& branch(node_name from, R route,
                std::initializer_list<detail::path_entry<std::string>> map) {
    return add_labelled(from, std::move(route), map);
  }

  /// Does not compile: the function is not a router.
  template <class R>
    requires(!detail::typed_router<R, State> && !detail::labelling_router<R, State>)
  graph& branch(node_name, R, std::initializer_list<node_name> = {}) {
    detail::explain_router<R, State>();
    return *this;
  }
  /// Does not compile: a router that returns labels needs a map.
  template <detail::labelling_router<State> R>
    requires(!detail::typed_router<R, State>)
  graph& branch(node_name, R, std::initializer_list<node_name> = {}) {
    static_assert(detail::never<R>, "a router that returns a bool, an enumerator or a std::string "
                                    "needs a map from these labels to nodes as third argument: "
                                    "{{label, node}, ...}");
    return *this;
  }

  /// Checks the graph and returns it ready to run. Throws compile_error, which lists all faults of
  /// the graph. May be called once, even if it throws, because the bodies move into the result; a
  /// second call throws compile_error.
  [[nodiscard]] compiled_graph<State> compile(compile_options options = {}) {
    return detail::graph_access::make<State>(builder_.compile(std::move(options)));
  }

private:
  template <class R, class Map>
  graph& add_labelled(node_name from, R route, const Map& map) {
    auto names = std::vector<std::pair<std::string, std::string>>{};
    auto targets = std::vector<std::pair<detail::stored_label<R, State>, std::string>>{};
    for (const auto& [label, to] : map) {
      names.emplace_back(detail::label_text(label), std::string{to.name()});
      targets.emplace_back(label, std::string{to.name()});
    }
    builder_.add_branch(
        std::string{from.name()},
        detail::make_unique_as<const detail::router, detail::labelled_router<State, R>>(
            std::move(route), std::move(targets)),
        std::move(names));
    return *this;
  }
  detail::program_builder builder_;
};

namespace detail {

template <class State>
task<State> invoke_nested(call_services* services, compiled_graph<State> graph, write_list input) {
  auto running = run_nested(services, program_of(graph), std::move(input));
  auto ended = co_await running;
  if (ended.to_parent) // the node of this body takes the command; see node_body::take_command()
    throw called_parent{std::move(ended.to_parent), program_of(graph)->name()};
  if (!ended.state)
    co_return State{};
  co_return adapter_of(graph).read(*ended.state);
}

} // namespace detail

template <class State, class Input>
task<State> runtime::invoke(compiled_graph<State> graph, Input input) const {
  static_assert(detail::nested_input<Input, State>,
                "the input of a nested run must be a state, an update, a projection or messages");
  if constexpr (detail::is_whole_input<Input, State>)
    detail::check_whole_input("runtime::invoke()", *detail::program_of(graph));
  auto writes = detail::nested_writes(graph, std::move(input));
  return detail::invoke_nested(services_, std::move(graph), std::move(writes));
}

} // namespace superstep
