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

/// What a JSON value should look like, all the way down. Written as JSON:
///
///     "number"                            any, null, boolean, integer, number, string, list,
///     object "string?"                           or null; a member: or absent
///     ["integer"]                         a list of these
///     {"name": "string", "tags": ["string"], "age": "integer?"}
///
/// Members that the shape does not name are allowed.
class json_shape {
public:
  /// Fails with what is wrong and where: `$.tags[0]: …`. At most depth_max levels deep.
  [[nodiscard]] static result<json_shape> parse(const json::value& written);
  static constexpr int depth_max = 64;

  /// Where a value is of another shape, and how; nothing: it fits. `path` is what the text begins
  /// with, e.g. `cart` in `cart.items[2].price should be a number, got "x"`.
  [[nodiscard]] std::optional<std::string> misfit(const json::value&,
                                                  const std::string& path) const;

private:
  enum class kind : std::uint8_t { any, null, boolean, integer, number, string, list, object };

  static result<json_shape> parse(const json::value& written, const std::string& path, int depth);
  static result<json_shape> parse_word(std::string word, const std::string& path);
  [[nodiscard]] bool is_kind(const json::value&) const noexcept;

  kind kind_ = kind::any;
  bool may_be_null_ = false;
  std::vector<json_shape> items_; // of a list: one, or none when anything may be in it
  std::vector<std::pair<std::string, json_shape>> members_;
};

/// Folds `more` into the value of a JSON channel: a function `void(json::value& into, json::value&&
/// more)`, which throws on values it cannot combine, or one of the constants.
class json_reducer {
public:
  json_reducer() = default;
  template <class F>
    requires(std::invocable<const F&, json::value&, json::value &&> &&
             !std::same_as<F, json_reducer>)
  json_reducer(F f) : fold_{std::move(f)} {}

  void operator()(json::value& into, json::value&& more) const { fold_(into, std::move(more)); }
  explicit operator bool() const noexcept { return static_cast<bool>(fold_); }

  static const json_reducer add;    ///< adds numbers; a sum beyond 64 bits throws
  static const json_reducer max;    ///< keeps the larger number
  static const json_reducer concat; ///< appends text
  static const json_reducer append; ///< appends the items of a list
  static const json_reducer merge;  ///< sets the members of an object

private:
  std::function<void(json::value& into, json::value&& more)> fold_;
};
/// The same, with the ids that the step may give away: message lists name what has no id.
using json_naming_reducer =
    std::function<void(json::value& into, json::value&& more, id_source& ids)>;

/// Whether a reducer may have changed the value when it throws. If so, the value is copied before
/// each fold.
enum class failed_fold : bool { may_change_value, leaves_value };

struct json_graph_options {
  /// An update may name what is no channel, without effect (the reference). Off: it fails the node.
  bool ignore_unknown_channels = false;
  /// What a node reads of the state is held against the shapes of its channels before the node
  /// runs.
  bool check_inputs = false;
};

/// See cache_policy; the key is made of what the node reads.
struct json_cache_policy {
  std::function<std::string(const json::value& input)> key{}; ///< empty: all of it
  std::optional<std::chrono::milliseconds> ttl{};             ///< nothing: for ever
};

/// The options of a JSON node.
struct json_node_options {
  std::vector<std::string> reads{};        ///< channels of its input; empty: all
  std::vector<std::string> destinations{}; ///< nodes its commands may go to: drawn, and checked
  json::object metadata{};
  bool defer = false;                ///< see node_options
  std::vector<retry_policy> retry{}; ///< see node_options
  std::optional<json_cache_policy> cache{};
  std::optional<timeout_policy> timeout{}; ///< see node_options
  std::vector<std::string> tags{};         ///< see node_options
  /// See node_options; told the input of the activation.
  std::function<std::optional<json_command>(const json::value&, const run_error&)> on_failure{};
};

namespace detail {

/// The adapter of a JSON state: how channels look as JSON.
template <>
struct state_adapter<json::object> {
  using block = slot_block;
  using default_input = json::object;
  using update_type = json::object;
  static constexpr bool has_whole_input = false;

  std::shared_ptr<const json_layout> layout{};

  /// What a run is given. Throws graph_error for a key that is no channel of the input (unless
  /// ignored).
  [[nodiscard]] write_list input(const json::object&) const;
  /// The writes of an object, or of a text or a list of messages for the channel `messages`.
  [[nodiscard]] write_list input(const json::value&) const;
  /// What a caller sees of a state: the channels of the output that hold something.
  [[nodiscard]] json::object read(const state_block&) const;
  [[nodiscard]] json::object take(const state_ptr& from) const { return read(*from); }
  /// Whether one of these channels is one of the output.
  [[nodiscard]] bool is_output(const std::vector<std::uint32_t>& channels) const;
  /// The writes of an edit of the state, to any channel.
  [[nodiscard]] write_list edit(const json::object&) const;
  /// The values that the branches of the node see, besides what the node reads.
  [[nodiscard]] static std::shared_ptr<const void> seen_by_branches(const json::object& values) {
    return std::make_shared<const json::object>(values);
  }
  /// The channels that hold something, in the order of their declaration.
  [[nodiscard]] json::object state(const state_block&) const;
  /// Writes as LangGraph shows them in `updates`: null, an object, or a list of one-key objects
  /// when a channel was written more than once.
  [[nodiscard]] json::value update(write_list) const;
  /// Adds the writes, nodes and Sends of a command. Throws graph_error.
  void add_command(json_command&&, const program&, node_output&) const;
};

} // namespace detail

/// A compiled json_graph: runs return the channels of its output that hold something.
using compiled_json_graph = compiled_graph<json::object>;

/// A graph whose state is a JSON object: for graphs from files and for comparison with the
/// reference. Names are checked by compile(), values when they are written.
///
///     auto g = json_graph{};
///     g.channel("log", "append").channel("last");
///     g.add("greet", [](const json::value& state) { return json::object{{"last", "hello"}}; });
///     g.edge("__start__", "greet");
///     auto result = engine.invoke(g.compile(), {{"last", "?"}});  // result.state.at("last")
///
/// A body takes `const json::value&` (the object of the channels that hold something, or what a
/// Send carried) and, if it likes, `const run_config&` and `runtime`; it returns nothing, a
/// json::object or json::value (an update; null: none) or a json_command, or a task<> of one of
/// these.
class json_graph {
public:
  explicit json_graph(json_graph_options options = {});

  /// Adds a channel that combines the writes of a step by a named rule:
  ///   last (the default), ephemeral, any (the last write of a step, empty after a step without
  ///   one), untracked and untracked_any (one write per step; any number), topic,
  ///   accumulating_topic,
  ///   add (numbers, from 0), concat (text), append (lists), merge (objects), max (numbers, from 0)
  ///   remaining_steps, is_last_step (read only, of the run)
  /// Writes `{"__overwrite__": value}` replace the value of the five that fold.
  json_graph& channel(std::string name, std::string_view rule = "last");
  /// Adds a channel that combines the writes of a step by a function. Without an initial value the
  /// first write is kept as it is.
  json_graph& channel(std::string name, json_reducer reduce,
                      std::optional<json::value> initial = {},
                      failed_fold = failed_fold::may_change_value);
  json_graph& channel(std::string name, json_naming_reducer reduce,
                      std::optional<json::value> initial = {},
                      failed_fold = failed_fold::may_change_value);

  /// What values of a channel look like, written as json_shape tells. Values are kept as they were
  /// written; a node that reads one of another shape fails, if json_graph_options::check_inputs.
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
  /// Adds a graph as a node. It gets the channels that the node reads, limited to its input; its
  /// output is written to the channels of the same names.
  json_graph& add(std::string name, compiled_json_graph subgraph, json_node_options options = {});
  /// Limits the channels that an input may set, and those of the result. Default: all but the
  /// managed ones.
  json_graph& input(std::vector<std::string> channels);
  json_graph& output(std::vector<std::string> channels);
  /// Adds an edge: `to` runs in the step after `from`.
  json_graph& edge(std::string from, std::string to);
  /// Adds edges from each node to the next.
  json_graph& sequence(std::vector<std::string> nodes);
  /// Adds a join: the target runs when all sources have run, in whatever steps.
  json_graph& join(std::vector<std::string> from, std::string to);
  /// After `from` (or at the entry: __start__) the router chooses where to go: a json_target or
  /// text, or a list of these. It sees the state with the node's own writes applied. A path map
  /// turns what it says into nodes; saying anything else is then an error.
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

  struct node_reads {
    std::string node;
    std::vector<std::string> names;
    std::shared_ptr<std::vector<std::uint32_t>> numbers; ///< known to the body, filled by compile()
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
