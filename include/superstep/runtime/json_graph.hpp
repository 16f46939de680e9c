// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/runtime/detail/json_body.hpp>
#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/inputs.hpp>
#include <superstep/runtime/snapshot.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep {

/// The expected structure of a JSON value, at all levels. Written as JSON:
///
///     "any" "null" "boolean" "integer" "number" "string" "list" "object"
///     "string?"                           or null; as a member: or absent
///     ["integer"]                         a list of integers
///     {"name": "string", "tags": ["string"], "age": "integer?"}
///
/// Members that the shape does not name are allowed.
class json_shape {
public:
  /// Parses a shape of at most depth_max levels. The error gives the place and the reason:
  /// `$.tags[0]: …`.
  [[nodiscard]] static result<json_shape> parse(const json::value& written);
  static constexpr int depth_max = 64;

  /// Returns where and how a value differs from the shape, or nothing if it matches.
  /// @param path the start of the returned text, e.g. `cart` in
  /// `cart.items[2].price should be a number, got "x"`
  [[nodiscard]] std::optional<std::string> misfit(const json::value&,
                                                  const std::string& path) const;

private:
  enum class kind : std::uint8_t { any, null, boolean, integer, number, string, list, object };

  static result<json_shape> parse(const json::value& written, const std::string& path, int depth);
  static result<json_shape> parse_word(std::string word, const std::string& path);
  [[nodiscard]] bool is_kind(const json::value&) const noexcept;

  kind kind_ = kind::any;
  bool may_be_null_ = false;
  std::vector<json_shape> items_; // of a list: one, or none if its items may have any shape
  std::vector<std::pair<std::string, json_shape>> members_;
};

/// The reducer of a JSON channel: a function `void(json::value& into, json::value&& more)` that
/// folds `more` into `into` and throws if it cannot combine them, or one of the constants below.
class json_reducer {
public:
  json_reducer() = default;
  template <class F>
    requires(std::invocable<const F&, json::value&, json::value &&> &&
             !std::same_as<F, json_reducer>)
  json_reducer(F f) : fold_{std::move(f)} {}

  void operator()(json::value& into, json::value&& more) const { fold_(into, std::move(more)); }
  explicit operator bool() const noexcept { return static_cast<bool>(fold_); }

  static const json_reducer add;    ///< adds numbers; throws if the sum exceeds 64 bits
  static const json_reducer max;    ///< keeps the larger number
  static const json_reducer concat; ///< appends text
  static const json_reducer append; ///< appends the items of a list
  static const json_reducer merge;  ///< sets the members of an object

private:
  std::function<void(json::value& into, json::value&& more)> fold_;
};
/// A json_reducer that also receives the id source of the run. Message lists need it to give ids to
/// messages without one.
using json_naming_reducer =
    std::function<void(json::value& into, json::value&& more, id_source& ids)>;

/// Whether a reducer may have changed the value when it throws. If so, the barrier copies the value
/// before each fold.
enum class failed_fold : bool { may_change_value, leaves_value };

/// Options of a json_graph.
struct json_graph_options {
  /// Ignores keys of an update that do not name a channel, as LangGraph does. Otherwise such a key
  /// fails the node.
  bool ignore_unknown_channels = false;
  /// Checks the values that a node reads against the shapes of their channels before the node runs.
  bool check_inputs = false;
};

/// The cache_policy of a JSON node. The key is computed from the values that the node reads.
struct json_cache_policy {
  std::function<std::string(const json::value& input)> key{}; ///< empty: the whole input
  std::optional<std::chrono::milliseconds> ttl{};             ///< not set: entries do not expire
};

/// The options of a JSON node.
struct json_node_options {
  std::vector<std::string> reads{}; ///< channels of its input; empty: all
  /// nodes that its commands may name; drawn, and checked by compile()
  std::vector<std::string> destinations{};
  json::object metadata{};
  bool defer = false;                ///< see node_options
  std::vector<retry_policy> retry{}; ///< see node_options
  std::optional<json_cache_policy> cache{};
  std::optional<timeout_policy> timeout{}; ///< see node_options
  std::vector<std::string> tags{};         ///< see node_options
  /// See node_options; called with the input of the activation.
  std::function<std::optional<json_command>(const json::value&, const run_error&)> on_failure{};
};

namespace detail {

/// The adapter of a JSON state, which converts between channels and JSON objects.
template <>
struct state_adapter<json::object> {
  using block = slot_block;
  using default_input = json::object;
  using update_type = json::object;
  static constexpr bool has_whole_input = false;

  std::shared_ptr<const json_layout> layout{};

  /// Turns the input of a run into writes. Throws graph_error for a key that is not an input
  /// channel, unless unknown channels are ignored.
  [[nodiscard]] write_list input(const json::object&) const;
  /// Turns an object into writes, or a text or a list of messages into a write to the channel
  /// `messages`.
  [[nodiscard]] write_list input(const json::value&) const;
  /// Returns the output channels that hold a value: the part of the state that a caller sees.
  [[nodiscard]] json::object read(const state_block&) const;
  [[nodiscard]] json::object take(const state_ptr& from) const { return read(*from); }
  /// Whether at least one of these channels is an output channel.
  [[nodiscard]] bool is_output(const std::vector<std::uint32_t>& channels) const;
  /// Turns the values of a state edit into writes. They may name any channel.
  [[nodiscard]] write_list edit(const json::object&) const;
  /// The values of an edit that the node's branches see in addition to the channels that the node
  /// reads.
  [[nodiscard]] static std::shared_ptr<const void> seen_by_branches(const json::object& values) {
    return std::make_shared<const json::object>(values);
  }
  /// Returns all channels that hold a value, in the order of their declaration.
  [[nodiscard]] json::object state(const state_block&) const;
  /// Returns writes in the form of LangGraph's stream mode `updates`: null, an object, or a list of
  /// one-key objects if a channel was written more than once.
  [[nodiscard]] json::value update(write_list) const;
  /// Adds the writes, nodes and Sends of a command to an output. Throws graph_error if the command
  /// names an unknown channel or node.
  void add_command(json_command&&, const program&, node_output&) const;
};

} // namespace detail

/// A compiled json_graph. Its runs return the output channels that hold a value.
using compiled_json_graph = compiled_graph<json::object>;

/// A graph whose state is a JSON object, for graphs read from files and for comparison with
/// LangGraph. Names are checked by compile(), values when they are written.
///
///     auto g = json_graph{};
///     g.channel("log", "append").channel("last");
///     g.add("greet", [](const json::value& state) { return json::object{{"last", "hello"}}; });
///     g.edge("__start__", "greet");
///     auto result = engine.invoke(g.compile(), {{"last", "?"}});  // result.state.at("last")
///
/// A body takes `const json::value&`, which is an object of the channels that hold a value, or the
/// payload of a Send. It may also take `const run_config&` and `runtime`. It returns nothing, a
/// json::object or json::value (an update; null for none) or a json_command, or a task<> of one of
/// these.
///
/// @par Threads
/// Not synchronised: build and compile a graph on one thread. The compiled graph may be used from
/// any thread.
class json_graph {
public:
  /// Creates a graph without channels or nodes.
  explicit json_graph(json_graph_options options = {});

  /// Adds a channel that combines the writes of a step by a named rule. compile() reports an
  /// unknown rule.
  /// - last (the default): one write per step
  /// - ephemeral: one write per step, empty after the step that follows it
  /// - any: the last write of a step, empty after a step without one
  /// - untracked, untracked_any: not saved in checkpoints; one write per step, or any number
  /// - topic, accumulating_topic: the items of the latest step, or of all steps
  /// - add (numbers, from 0), max (numbers, from 0), concat (text), append (lists), merge (objects)
  /// - remaining_steps, is_last_step: read-only values of the run
  ///
  /// A write `{"__overwrite__": value}` replaces the value of a channel that folds (add, max,
  /// concat, append, merge).
  json_graph& channel(std::string name, std::string_view rule = "last");
  /// Adds a channel that combines the writes of a step by a function.
  /// @param initial the value of a new thread; without it, the first write becomes the value
  /// unchanged
  json_graph& channel(std::string name, json_reducer reduce,
                      std::optional<json::value> initial = {},
                      failed_fold = failed_fold::may_change_value);
  /// Adds a channel whose reducer also receives the id source of the run; see the overload above.
  json_graph& channel(std::string name, json_naming_reducer reduce,
                      std::optional<json::value> initial = {},
                      failed_fold = failed_fold::may_change_value);

  /// Declares the shape of a channel's values, in the notation of json_shape. Values are stored as
  /// written. With json_graph_options::check_inputs, a node that reads a value of another shape
  /// fails.
  json_graph& shape(std::string channel, const json::value& written);

  /// Adds a node; see json_graph for its body.
  template <detail::json_body F>
  json_graph& add(std::string name, F body, json_node_options options = {}) {
    add_node(std::move(name), detail::erase_body(std::move(body)), detail::gives_json_commands<F>,
             std::move(options));
    return *this;
  }
  /// Adds an error handler of a node; see graph::on_error.
  template <detail::json_body F>
  json_graph& on_error(std::string node, F handler) {
    add_handler(std::move(node), detail::erase_body(std::move(handler)),
                detail::gives_json_commands<F>);
    return *this;
  }
  /// Adds an error handler for all nodes without one of their own.
  template <detail::json_body F>
  json_graph& on_error(F handler) {
    add_handler({}, detail::erase_body(std::move(handler)), detail::gives_json_commands<F>);
    return *this;
  }
  /// Adds a graph as a node. Its input are the channels that the node reads, limited to the graph's
  /// input channels. Its output is written to the channels of the same names.
  json_graph& add(std::string name, compiled_json_graph subgraph, json_node_options options = {});
  /// Limits the channels that an input may set. Default: all but remaining_steps and is_last_step.
  json_graph& input(std::vector<std::string> channels);
  /// Limits the channels that a result contains. Default: all but remaining_steps and is_last_step.
  json_graph& output(std::vector<std::string> channels);
  /// Adds an edge: `to` runs in the step after `from`. `__start__` is the entry of the graph,
  /// `__end__` activates no node.
  json_graph& edge(std::string from, std::string to);
  /// Adds an edge from each node to the one that follows it in the list.
  json_graph& sequence(std::vector<std::string> nodes);
  /// Adds a join: the target runs when all sources have run, even in different steps.
  json_graph& join(std::vector<std::string> from, std::string to);
  /// Adds a branch after `from`, or at the entry (`__start__`). The router returns a json_target, a
  /// text, or a list of either. It sees the state with the node's own writes applied.
  /// @param map the node for each label that the router may return. Not empty: any other label
  /// fails the node. Empty: the router returns names of nodes.
  template <detail::json_router F>
  json_graph& branch(std::string from, F route, json_path_map map = {}) {
    add_branch(std::move(from), detail::erase_router(std::move(route)), std::move(map));
    return *this;
  }

  /// Checks the graph and returns it ready to run. Throws compile_error with every fault. Call it
  /// once: the bodies move into the result.
  [[nodiscard]] compiled_json_graph compile(compile_options options = {});

private:
  template <class Reducer>
  void add_folding(std::string name, Reducer reduce, std::optional<json::value> initial);
  void add_node(std::string name, detail::json_body_function body, bool gives_commands,
                json_node_options options);
  void add_handler(std::string name, detail::json_body_function body, bool gives_commands);
  void add_body(std::string name, std::unique_ptr<detail::node_body> body,
                std::shared_ptr<std::vector<std::uint32_t>> reads, json_node_options options);
  void add_branch(std::string from, detail::json_router_function route, json_path_map map);
  void resolve_reads();
  void resolve_shapes();

  /// The channels that a node reads, by name until compile() resolves them.
  struct node_reads {
    std::string node;
    std::vector<std::string> names;
    /// shared with the body; compile() fills it
    std::shared_ptr<std::vector<std::uint32_t>> numbers;
  };

  std::shared_ptr<detail::json_layout> layout_;
  detail::program_builder builder_;
  std::vector<fault> faults_;
  std::vector<std::pair<std::string, json_shape>> shapes_;
  bool checks_inputs_ = false;
  std::vector<node_reads> reads_;
  std::vector<node_reads> branch_reads_;
  std::optional<std::vector<std::string>> input_;
  std::optional<std::vector<std::string>> output_;
};

} // namespace superstep
