// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/make_unique_as.hpp>
#include <superstep/channels/kinds.hpp>
#include <superstep/runtime/detail/channel_body.hpp>
#include <superstep/runtime/inputs.hpp>

#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

namespace detail {

/// Converts between writes to channels and the state of a channel_graph.
template <>
struct state_adapter<channel_values> {
  using block = slot_block;
  using default_input = channel_writes;
  using update_type = channel_writes;
  static constexpr bool has_whole_input = false;

  const channel_layout* layout = nullptr; ///< owned by the program

  /// Takes the writes of a run's input. Throws graph_error if a write is for a channel of another
  /// graph.
  [[nodiscard]] write_list input(channel_writes writes) const {
    return own_writes(std::move(writes), *layout);
  }
  [[nodiscard]] write_list edit(channel_writes writes) const { return input(std::move(writes)); }
  [[nodiscard]] static channel_values read(const state_block& from) {
    return channel_values{state_view{&from}};
  }
  [[nodiscard]] static channel_values take(const state_ptr& from) { return channel_values{from}; }
  void add_command(step_result&& c, const program& table, node_output& out) const {
    into_output(std::move(c), table, *layout, out);
  }
};

} // namespace detail

/// A graph without a state struct. The functions that add a channel return a typed handle. A node
/// lists the channels that it reads, and its body is called with their values. Intended for
/// generated graphs and for new kinds of channels.
///
///     auto g = channel_graph{};
///     auto log = g.reduce<std::vector<std::string>>("log", append_items{});
///     auto last = g.last_value<int>("last");
///     auto add = g.add("add", reads{log, last},
///                       [=](const auto& lines, const std::optional<int>& n) {
///                         return step_result{.update = {last <<= n.value_or(0) + 1}};
///                       });
///     g.edge(start, add);
///     auto result = engine.invoke(g.compile(), {last <<= 1});   // get(last, result.state)
///
/// A channel that may be empty is read as `const std::optional<T>&`, every other channel as
/// `const T&`. A body therefore runs even if a channel is empty, and decides what an absent value
/// means. The references are valid until the body has ended, also in a coroutine.
///
/// compile() reports faults such as names that are used twice, all together.
///
/// @par Threads
/// Not synchronised: build and compile a graph on one thread. The compiled graph may be used from
/// any thread. Bodies, routers and reducers are called on lane threads by several runs at the same
/// time, so they must be thread-safe.
/// @par Lifetime
/// Handles and node constants are valid as long as the graph or the graph compiled from it.
class channel_graph {
public:
  /// Creates a graph without channels or nodes.
  channel_graph();

  /// Adds a channel that holds the last value written and is empty before the first write. Two
  /// writes in one step are an error.
  template <class T>
  optional_handle<T> last_value(std::string name) {
    return add_channel<superstep::last_value<slot_place<std::optional<T>>, T>, T>(
        std::move(name), std::optional<T>{});
  }
  /// Adds a channel that holds the last value written, and `initial` before the first write. Two
  /// writes in one step are an error.
  template <class T>
  channel_handle<T> last_value(std::string name, T initial) {
    return add_channel<superstep::last_value<slot_place<T>, T>, T>(std::move(name),
                                                                   std::move(initial));
  }
  /// Adds a channel whose reducer combines the writes of a step with the value, in task order.
  /// @param fn a reducer; see reducer_for
  /// @param initial the value before the first write
  template <class T, reducer_for<T> Fn>
  channel_handle<T> reduce(std::string name, Fn fn, T initial = {}) {
    return add_channel<binary_operator_aggregate<slot_place<T>, T, Fn>, T>(
        std::move(name), std::move(initial), std::move(fn));
  }
  /// Adds a channel that holds a value only for the step after it was written.
  /// @param guard whether two writes in one step are an error; if false, the last write in task
  /// order is kept
  template <class T>
  optional_handle<T> ephemeral(std::string name, bool guard = true) {
    return add_channel<ephemeral_value<slot_place<std::optional<T>>, T>, T>(
        std::move(name), std::optional<T>{}, guard);
  }
  /// Adds a channel that holds the last value written but is not saved in checkpoints. It is empty
  /// again when a thread is resumed.
  /// @param guard whether two writes in one step are an error; if false, the last write in task
  /// order is kept
  template <class T>
  optional_handle<T> untracked(std::string name, bool guard = true) {
    return add_channel<untracked_value<slot_place<std::optional<T>>, T>, T>(
        std::move(name), std::optional<T>{}, guard);
  }
  /// Adds a channel that holds the items written in the latest step, in task order. A write is a
  /// list of items.
  /// @param accumulate whether it holds the items of all steps instead
  template <class Item>
  channel_handle<std::vector<Item>> topic(std::string name, bool accumulate = false) {
    using items = std::vector<Item>;
    return add_channel<superstep::topic<slot_place<items>, Item>, items>(std::move(name), items{},
                                                                         accumulate);
  }

  /// Adds a node. Throws graph_error{invalid_update} if a handle belongs to another graph.
  /// @param from the channels that the node reads
  /// @param body takes the values of the channels in the order of `from`, and optionally
  /// `const run_config&` and `runtime`. It returns step_result or nothing, or a task<> of one of
  /// these.
  /// @returns the constant of the node, for edges and branches
  template <class... H, class F>
    requires detail::channel_body_for<F, typename H::held_type...>
  superstep::node<void> add(std::string name, reads<H...> from, F body, node_options options = {}) {
    check_own(from);
    const auto view = keep(name);
    builder_.add_node(
        std::move(name),
        detail::make_unique_as<const detail::node_body, detail::channel_body<F, H...>>(
            std::move(body), *layout_, std::move(from.handles)),
        false, std::move(options));
    return {view};
  }
  /// Adds a node that is activated by Sends only.
  /// @param body takes the input of the Send as `const In&`; otherwise as for add()
  /// @returns the constant of the node, for creating Sends
  template <class In, detail::channel_body_for<In> F>
  superstep::node<In> worker(std::string name, F body, node_options options = {}) {
    const auto view = keep(name);
    builder_.add_node(std::move(name),
                      detail::make_unique_as<const detail::node_body, detail::worker_body<F, In>>(
                          std::move(body), *layout_),
                      true, std::move(options));
    return {view};
  }

  /// Adds an edge: `to` runs in the super-step after `from`; see graph::edge().
  channel_graph& edge(node_name from, node_name to);
  /// Adds a join: `to` runs when all nodes in `from` have run, even in different super-steps; see
  /// graph::edge().
  channel_graph& edge(std::initializer_list<node_name> from, node_name to);
  /// Adds an edge from each node of the list to the next one; see graph::sequence().
  channel_graph& sequence(std::initializer_list<node_name> nodes);
  /// Adds a branch; see graph::branch(). Throws graph_error{invalid_update} if a handle belongs to
  /// another graph.
  /// @param what the channels whose values the router receives, with the writes of `from` applied
  template <class... H, class R>
    requires detail::channel_router_for<R, typename H::held_type...>
  channel_graph& branch(node_name from, reads<H...> what, R route,
                        std::initializer_list<node_name> declared = {}) {
    check_own(what);
    add_branch(from,
               detail::make_unique_as<const detail::router, detail::channel_router<R, H...>>(
                   std::move(route), std::move(what.handles)),
               declared);
    return *this;
  }

  /// Checks the graph and returns it ready to run. Throws compile_error, which lists all faults of
  /// the graph. May be called once, even if it throws. Nothing can be added to the graph
  /// afterwards.
  [[nodiscard]] compiled_graph<channel_values> compile(compile_options options = {});

private:
  template <class Channel, class T, class Held, class... Args>
  channel_handle<T, Held> add_channel(std::string name, Held initial, Args... args) {
    // first, because it throws if the graph is compiled; the compiled graph shares the layout
    const auto index = builder_.add_channel(detail::make_unique_as<const channel, Channel>(
        std::move(name), slot_place<Held>{layout_->blank.size()}, std::move(args)...));
    const auto slot = layout_->blank.add(
        detail::make_unique_as<slot_block::slot, slot_block::slot_of<Held>>(std::move(initial)));
    SUPERSTEP_ASSERT(index == slot);
    return {*layout_, index};
  }
  template <class... H>
  void check_own(const reads<H...>& from) const {
    using owners = std::array<const detail::channel_layout*, sizeof...(H)>;
    for (const auto* graph :
         std::apply([](const auto&... h) { return owners{h.graph()...}; }, from.handles))
      check_own(graph);
  }
  void check_own(const detail::channel_layout* graph) const;
  std::string_view keep(const std::string& name);
  void add_branch(node_name from, std::unique_ptr<const detail::router> route,
                  std::initializer_list<node_name> declared);

  std::shared_ptr<detail::channel_layout> layout_;
  detail::program_builder builder_;
};

} // namespace superstep
