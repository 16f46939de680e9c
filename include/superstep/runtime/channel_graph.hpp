// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// The adapter of a state made of channels. The program keeps the layout.
template <>
struct state_adapter<channel_values> {
  using block = slot_block;
  using default_input = channel_writes;
  using update_type = channel_writes;
  static constexpr bool has_whole_input = false;

  const channel_layout* layout = nullptr;

  /// Throws graph_error if a write is for a channel of another graph.
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

/// A graph without a state struct: it hands out typed channel handles, a node lists the channels it
/// reads and is called with their values. For generated graphs and new kinds of channels.
///
///     auto g = channel_graph{};
///     auto log = g.reduce<std::vector<std::string>>("log", append);
///     auto last = g.last_value<int>("last");
///     auto add = g.add("add", reads{log, last},
///                       [=](const auto& lines, const std::optional<int>& n) {
///                         return step_result{.update = {last <<= n.value_or(0) + 1}};
///                       });
///     g.edge(start, add);
///     auto result = engine.invoke(g.compile(), {last <<= 1});   // get(last, result.state)
///
/// A channel that may be empty is read as `const std::optional<T>&`, so that a body always runs and
/// says itself what an absent value means; every other one as `const T&`.
/// The references are valid until the body has ended, also in a coroutine.
class channel_graph {
public:
  channel_graph();

  /// Holds the latest value; two writes in one step are an error. Empty before the first.
  template <class T>
  optional_handle<T> last_value(std::string name) {
    return add_channel<superstep::last_value<slot_place<std::optional<T>>, T>, T>(std::move(name),
                                                                          std::optional<T>{});
  }
  /// Holds the latest value, from `initial` on; two writes in one step are an error.
  template <class T>
  channel_handle<T> last_value(std::string name, T initial) {
    return add_channel<superstep::last_value<slot_place<T>, T>, T>(std::move(name),
                                                                   std::move(initial));
  }
  /// Folds the writes of a step into its value, in task order; see channels/kinds.hpp.
  template <class T, reducer_for<T> Fn>
  channel_handle<T> reduce(std::string name, Fn fn, T initial = {}) {
    return add_channel<binary_operator_aggregate<slot_place<T>, T, Fn>, T>(
        std::move(name), std::move(initial), std::move(fn));
  }
  /// Holds a value for the one step after it was written. Unguarded, the last of several wins.
  template <class T>
  optional_handle<T> ephemeral(std::string name, bool guard = true) {
    return add_channel<ephemeral_value<slot_place<std::optional<T>>, T>, T>(std::move(name),
                                                                    std::optional<T>{}, guard);
  }
  /// Like last_value(), but for what is not worth keeping: no checkpoint has it. Unguarded, the
  /// last of several wins.
  template <class T>
  optional_handle<T> untracked(std::string name, bool guard = true) {
    return add_channel<untracked_value<slot_place<std::optional<T>>, T>, T>(std::move(name),
                                                                    std::optional<T>{}, guard);
  }
  /// The items written in the latest step (accumulating: in all steps), in task order.
  template <class Item>
  channel_handle<std::vector<Item>> topic(std::string name, bool accumulate = false) {
    using items = std::vector<Item>;
    return add_channel<superstep::topic<slot_place<items>, Item>, items>(std::move(name), items{},
                                                                 accumulate);
  }

  /// Adds a node. The body takes the values of the channels, optionally `const run_config&` and
  /// `runtime`, and returns step_result or nothing, or a task<> of one of these.
  template <class... H, class F>
    requires detail::channel_body_for<F, typename H::held_type...>
  superstep::node<void> add(std::string name, reads<H...> from, F body,
                             node_options options = {}) {
    check_own(from);
    const auto view = keep(name);
    builder_.add_node(std::move(name),
                      std::make_unique<detail::channel_body<F, H...>>(std::move(body), *layout_,
                                                                      std::move(from.handles)),
                      false, std::move(options));
    return {view};
  }
  /// Adds a node that is fed by Sends. Its input is the payload.
  template <class In, detail::channel_body_for<In> F>
  superstep::node<In> worker(std::string name, F body, node_options options = {}) {
    const auto view = keep(name);
    builder_.add_node(std::move(name),
                      std::make_unique<detail::worker_body<F, In>>(std::move(body), *layout_), true,
                      std::move(options));
    return {view};
  }

  /// Adds an edge: `to` runs in the step after `from`.
  channel_graph& edge(destination from, destination to);
  /// Adds a join: the target runs when all sources have run, in whatever steps.
  channel_graph& edge(std::initializer_list<destination> from, destination to);
  /// Adds edges from each node to the next.
  channel_graph& sequence(std::initializer_list<destination> nodes);
  /// Adds a branch whose router gets the values of these channels; see graph::branch.
  template <class... H, class R>
    requires detail::channel_router_for<R, typename H::held_type...>
  channel_graph& branch(destination from, reads<H...> what, R route,
                        std::initializer_list<destination> declared = {}) {
    check_own(what);
    add_branch(from,
               std::make_unique<detail::channel_router<R, H...>>(std::move(route),
                                                                 std::move(what.handles)),
               declared);
    return *this;
  }

  /// Checks the graph and returns it ready to run. Throws compile_error with every fault. Nothing
  /// can be added afterwards.
  [[nodiscard]] compiled_graph<channel_values> compile(compile_options options = {});

private:
  template <class Channel, class T, class Held, class... Args>
  channel_handle<T, Held> add_channel(std::string name, Held initial, Args... args) {
    const auto slot =
        layout_->blank.add(std::make_unique<slot_block::slot_of<Held>>(std::move(initial)));
    const auto index = builder_.add_channel(
        std::make_unique<Channel>(std::move(name), slot_place<Held>{slot}, std::move(args)...));
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
  void add_branch(const destination& from, std::unique_ptr<const detail::router> route,
                  std::initializer_list<destination> declared);

  std::shared_ptr<detail::channel_layout> layout_;
  detail::program_builder builder_;
};

} // namespace superstep
