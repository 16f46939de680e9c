// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/runtime/detail/json_body.hpp>
#include <superstep/runtime/detail/program.hpp>
#include <superstep/runtime/inputs.hpp>

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

/// The expected structure of a JSON value, at all levels. A shape is itself written as JSON:
///
///     "any" "null" "boolean" "integer" "number" "string" "list" "object"
///     "string?"                           a string or null; as a member, it may be missing
///     ["integer"]                         a list of integers
///     {"name": "string", "tags": ["string"], "age": "integer?"}
///
/// Members that the shape does not name are allowed. Immutable; may be used from any thread.
class json_shape {
public:
  /// Parses a shape of at most depth_max levels. Returns errc::invalid_argument for an invalid
  /// shape. The text of the error starts with the place in the shape, e.g. `$.tags[]: …`.
  [[nodiscard]] static result<json_shape> parse(const json::value& written);
  static constexpr int depth_max = 64; ///< the largest number of levels

  /// Returns the first difference between a value and the shape, or nothing if the value matches.
  /// @param path name of the value, with which the returned text starts; e.g. `cart` in
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
  std::vector<json_shape> items_; // the shape of a list's items; empty if they may have any shape
  std::vector<std::pair<std::string, json_shape>> members_;
};

/// The reducer of a JSON channel: one of the constants below, or a function
/// `void(json::value& into, json::value&& more)` that combines `more` with `into`. An exception of
/// the function fails the run with channel_errc::reducer_failed. Several runs call it at the same
/// time on different lane threads, so it must be thread-safe.
class json_reducer {
public:
  /// Creates an empty reducer, which must not be called.
  json_reducer() = default;
  /// Stores a function.
  template <class F>
    requires(std::invocable<const F&, json::value&, json::value &&> &&
             !std::same_as<F, json_reducer>)
  json_reducer(F f) : fold_{std::move(f)} {}

  /// Combines `more` with `into`. Throws what the function throws, and std::bad_function_call if
  /// there is no function.
  void operator()(json::value& into, json::value&& more) const { fold_(into, std::move(more)); }
  /// Whether there is a function.
  explicit operator bool() const noexcept { return static_cast<bool>(fold_); }

  // The constants throw std::invalid_argument for values of other types.
  static const json_reducer add;    ///< adds numbers; std::overflow_error if a sum exceeds 64 bits
  static const json_reducer max;    ///< keeps the larger number
  static const json_reducer concat; ///< appends text
  static const json_reducer append; ///< appends the items of a list
  static const json_reducer merge;  ///< adds or replaces the members of an object

private:
  std::function<void(json::value& into, json::value&& more)> fold_;
};
/// A json_reducer that also receives the id source of the run. Reducers of message lists use it to
/// give ids to messages.
using json_naming_reducer =
    std::function<void(json::value& into, json::value&& more, id_source& ids)>;

/// Whether a reducer that throws may have changed the value. If so, each step that calls the
/// reducer first copies the value.
enum class failed_fold : bool { may_change_value, leaves_value };

/// Options of a json_graph.
struct json_graph_options {
  /// Whether to ignore keys of an update that do not name a channel, as LangGraph does. Otherwise
  /// such a key fails the task with graph_errc::invalid_update.
  bool ignore_unknown_channels = false;
  /// Whether to compare the values that a node reads with the shapes of their channels before the
  /// node runs. A difference fails the task with graph_errc::invalid_update.
  bool check_inputs = false;
};

/// The cache_policy of a JSON node. The key is computed from the input of the node.
struct json_cache_policy {
  /// Returns the key for an input; see cache_policy::key. Empty: the whole input is the key.
  std::function<std::string(const json::value& input)> key{};
  /// Lifetime of an entry. Not set: entries do not expire.
  std::optional<std::chrono::milliseconds> ttl{};
};

/// The options of a JSON node.
struct json_node_options {
  std::vector<std::string> reads{};         ///< channels in the node's input; empty: all
  std::vector<std::string> destinations{};  ///< see node_options::destinations
  json::object metadata{};                  ///< see node_options::metadata
  bool defer = false;                       ///< see node_options::defer
  std::vector<retry_policy> retry{};        ///< see node_options::retry
  std::optional<json_cache_policy> cache{}; ///< applies if the graph or the run has a cache
  std::optional<timeout_policy> timeout{};  ///< see node_options::timeout
  std::vector<std::string> tags{};          ///< see node_options::tags
  /// See node_options::on_failure. Called with the input of the task.
  std::function<std::optional<json_command>(const json::value&, const run_error&)> on_failure{};
};

namespace detail {

/// Converts between the channels of a JSON graph and JSON objects.
template <>
struct state_adapter<json::object> {
  using block = slot_block;
  using default_input = json::object;
  using update_type = json::object;
  static constexpr bool has_whole_input = false;

  std::shared_ptr<const json_layout> layout{};

  /// Turns the input of a run into writes. Keys of channels that are not input channels are
  /// ignored. Throws graph_error{invalid_update} for a key that is not a channel, unless the graph
  /// ignores unknown channels.
  [[nodiscard]] write_list input(const json::object&) const;
  /// Turns an object into writes, and a text or a list of messages into a write to the channel
  /// `messages`. Null gives no writes. Throws graph_error{invalid_update} for other values.
  [[nodiscard]] write_list input(const json::value&) const;
  /// Returns the output channels that hold a value: the part of the state that a caller sees.
  [[nodiscard]] json::object read(const state_block&) const;
  /// Returns the same as read(): a conversion to JSON always copies.
  [[nodiscard]] json::object take(const state_ptr& from) const { return read(*from); }
  /// Whether at least one of these channels is an output channel.
  [[nodiscard]] bool is_output(const std::vector<std::uint32_t>& channels) const;
  /// Turns the values of a state edit into writes, which may be for any channel.
  [[nodiscard]] write_list edit(const json::object&) const;
  /// Returns the values of a state edit as additional input for the branches of the node; see
  /// node_output::for_routers.
  [[nodiscard]] static std::shared_ptr<const void> seen_by_branches(const json::object& values);
  /// Returns all channels that hold a value, in the order of their declaration.
  [[nodiscard]] json::object state(const state_block&) const;
  /// Returns the adapter of a subgraph; nothing if it is not a JSON graph.
  [[nodiscard]] static std::optional<state_adapter> nested(const program& of) {
    return of.json() ? std::optional<state_adapter>{{of.json()}} : std::nullopt;
  }
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

/// A graph whose state is a JSON object. For graphs that are read from files, and for comparing
/// results with LangGraph. compile() checks names; values are checked when they are written.
///
///     auto g = json_graph{};
///     g.channel("log", "append").channel("last");
///     g.add("greet", [](const json::value& state) { return json::object{{"last", "hello"}}; });
///     g.edge("__start__", "greet");
///     auto result = engine.invoke(g.compile(), {{"last", "?"}});  // result.state.at("last")
///
/// A body takes `const json::value&`: an object of the channels that hold a value, or the input of
/// a Send. It may also take `const run_config&` and `runtime`. It returns an update (json::object
/// or json::value, null for no update), a json_command or nothing, or a task<> of one of these.
///
/// The functions that add parts return *this. compile() reports faults such as unknown names, all
/// together.
///
/// @par Threads
/// Not synchronised: build and compile a graph on one thread. The compiled graph may be used from
/// any thread. Bodies, routers and reducers are called on lane threads by several runs at the same
/// time, so they must be thread-safe.
class json_graph {
public:
  /// Creates a graph without channels or nodes.
  explicit json_graph(json_graph_options options = {});

  /// Adds a channel that combines the writes of a step by a named rule. compile() reports an
  /// unknown rule.
  /// - last (the default): holds the last value; one write per step
  /// - ephemeral: holds a value only for the next step; one write per step
  /// - any: like ephemeral, but of several writes in a step the last one is kept
  /// - untracked: like last, but not saved in checkpoints
  /// - untracked_any: like untracked, but of several writes in a step the last one is kept
  /// - topic: holds the items of the latest step; a write is one item or a list of items
  /// - accumulating_topic: like topic, but holds the items of all steps
  /// - add, max: combine numbers; the initial value is 0
  /// - concat, append, merge: combine texts, lists or objects; the initial value is empty
  /// - remaining_steps, is_last_step: read-only; see runtime::remaining_steps()
  ///
  /// In channels with the rules add, max, concat, append and merge, and in those with a reducer
  /// function, a write `{"__overwrite__": value}` replaces the value.
  json_graph& channel(std::string name, std::string_view rule = "last");
  /// Adds a channel that combines the writes of a step with its value by a function, in task order.
  /// The last parameter states whether the function leaves the value unchanged if it throws.
  /// @param initial the value before the first write. Not set: the first write becomes the value,
  /// and the function is not called for it.
  json_graph& channel(std::string name, json_reducer reduce,
                      std::optional<json::value> initial = {},
                      failed_fold = failed_fold::may_change_value);
  /// Adds a channel whose reducer also receives the id source of the run; see the overload above.
  json_graph& channel(std::string name, json_naming_reducer reduce,
                      std::optional<json::value> initial = {},
                      failed_fold = failed_fold::may_change_value);

  /// Declares the shape of a channel's values, in the notation of json_shape. Writes are not
  /// checked. With json_graph_options::check_inputs, a task that reads a value of another shape
  /// fails. compile() reports an invalid shape and an unknown channel.
  json_graph& shape(std::string channel, const json::value& written);

  /// Adds a node; see the class for its body. compile() reports unknown names in the options.
  template <detail::json_body F>
  json_graph& add(std::string name, F body, json_node_options options = {}) {
    add_node(std::move(name), detail::erase_body(std::move(body)), detail::gives_json_commands<F>,
             std::move(options));
    return *this;
  }
  /// Adds the error handler of a node; see graph::on_error(). Its input is an object of the
  /// channels in `options.reads` that hold a value, or the input of the Send that activated the
  /// failed task.
  template <detail::json_body F>
  json_graph& on_error(std::string node, F handler, json_node_options options = {}) {
    add_handler(std::move(node), detail::erase_body(std::move(handler)),
                detail::gives_json_commands<F>, std::move(options));
    return *this;
  }
  /// Adds the error handler of all nodes that do not have one. Its input is that of the overload
  /// above.
  template <detail::json_body F>
  json_graph& on_error(F handler, json_node_options options = {}) {
    add_handler({}, detail::erase_body(std::move(handler)), detail::gives_json_commands<F>,
                std::move(options));
    return *this;
  }
  /// Adds a graph as a node (a subgraph). Its input is an object of the channels that the node
  /// reads, or the input of a Send. Members for channels that are not input channels of the
  /// subgraph are ignored. The output of the subgraph is written to the channels of this graph with
  /// the same names.
  ///
  /// A task of the node fails with graph_errc::invalid_update if its input is not an object or has
  /// a member that is not a channel of the subgraph, or if the output has a member that is not a
  /// channel of this graph. A graph with ignore_unknown_channels ignores such members instead.
  json_graph& add(std::string name, compiled_json_graph subgraph, json_node_options options = {});
  /// Limits the channels that the input of a run sets (`input_schema` in LangGraph); values of
  /// other channels are ignored. Default: all channels but remaining_steps and is_last_step.
  /// compile() reports names that are not channels, and these two.
  json_graph& input(std::vector<std::string> channels);
  /// Limits the channels that the result of a run contains (`output_schema` in LangGraph). Default
  /// and faults as for input().
  json_graph& output(std::vector<std::string> channels);
  /// Adds an edge: `to` runs in the super-step after `from`. An edge from `__start__` makes `to` an
  /// entry of the graph; an edge to `__end__` activates no node.
  json_graph& edge(std::string from, std::string to);
  /// Adds an edge from each node of the list to the next one. compile() reports an empty list and
  /// repeated nodes.
  json_graph& sequence(std::vector<std::string> nodes);
  /// Adds a join: `to` runs when all nodes in `from` have run, even in different super-steps. The
  /// list must not contain `__start__`. Not an overload of edge(), because `{"a", "b"}` could also
  /// construct one std::string.
  json_graph& join(std::vector<std::string> from, std::string to);
  /// Adds a branch: when `from` has run, a router chooses the next nodes. With `__start__`, it
  /// chooses the first nodes.
  /// @param route receives the channels that `from` reads, with the writes of `from` applied. If
  /// `from` returned a plain update, it also receives the members that `from` does not read. It
  /// returns a json_target, a text, or a list of either. START or an empty name fails the task
  /// (graph_errc::bad_destination).
  /// @param map the node for each label that the router may return. Any other label fails the task
  /// (graph_errc::unknown_label). Sends do not use the map. Empty: the router returns names
  /// of nodes.
  template <detail::json_router F>
  json_graph& branch(std::string from, F route, json_path_map map = {}) {
    add_branch(std::move(from), detail::erase_router(std::move(route)), std::move(map));
    return *this;
  }

  /// Checks the graph and returns it ready to run. Throws compile_error, which lists all faults of
  /// the graph. May be called once, even if it throws, because the bodies move into the result.
  [[nodiscard]] compiled_json_graph compile(compile_options options = {});

private:
  template <class Reducer>
  void add_folding(std::string name, Reducer reduce, std::optional<json::value> initial);
  void add_node(std::string name, detail::json_body_function body, bool gives_commands,
                json_node_options options);
  void add_handler(std::string name, detail::json_body_function body, bool gives_commands,
                   json_node_options options);
  void add_body(std::string name, std::unique_ptr<detail::node_body> body,
                std::shared_ptr<std::vector<std::uint32_t>> reads, json_node_options options);
  [[nodiscard]] node_options
  options_of(json_node_options options,
             const std::shared_ptr<const std::vector<std::uint32_t>>& reads) const;
  void add_branch(std::string from, detail::json_router_function route, json_path_map map);
  void resolve_reads();
  void resolve_shapes();

  /// The channels that a node reads, by name until compile() resolves them.
  struct node_reads {
    std::string node;
    std::vector<std::string> names;
    /// The numbers of the channels, shared with the body. Filled by compile().
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
