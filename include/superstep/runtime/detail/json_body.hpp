// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/runtime/detail/typed_body.hpp>

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// A destination in a JSON graph: a node to activate, or a Send if it has an input.
struct json_target {
  /// Creates the label `true` or `false`, for a router whose branch has a path map.
  template <std::same_as<bool> B>
  json_target(B label) : to{label ? "true" : "false"} {}
  /// Names a node to activate, or a label of a path map.
  json_target(std::string node) : to{std::move(node)} {}
  /// Names a node to activate, or a label of a path map.
  json_target(const char* node) : to{node} {}
  /// Creates a Send.
  json_target(std::string node, json::value payload)
      : to{std::move(node)}, input{std::move(payload)} {}

  std::string to;                   ///< name of the node, or a label
  std::optional<json::value> input; ///< input of the Send; not set: the node receives the state
};

/// The command of a JSON graph; see command.
template <>
struct command<json::object> {
  json::value update{};             ///< an object; null for no update
  std::vector<json_target> go_to{}; ///< nodes to activate, and Sends
  std::vector<json::value> more{};  ///< further updates, applied after the first
  /// Whether the command is for the parent graph; see parent_command.
  bool to_parent = false;
  optional_box<superstep::resume> resume{}; ///< resume values, in the input of a run only
};
/// The command of a JSON graph, which its nodes return and its runs accept.
using json_command = command<json::object>;

/// Pairs of a label that a router returns and the name of its node.
using json_path_map = std::vector<std::pair<std::string, std::string>>;

namespace detail {

struct json_layout;

} // namespace detail

/// The channels of a JSON graph in one super-step. Valid until the body that received the object
/// returns or suspends for the first time.
class json_channels {
public:
  /// Keeps references to both parameters.
  json_channels(const detail::json_layout& layout, const body_input& given) noexcept
      : layout_{&layout}, given_{&given} {}
  /// Returns the values of all channels that hold one, by name; also remaining_steps and
  /// is_last_step.
  [[nodiscard]] json::object read() const;

private:
  const detail::json_layout* layout_;
  const body_input* given_;
};

namespace detail {

/// The type-erased function of a JSON node. A plain function fills `now` and returns an empty task;
/// a coroutine returns its task.
using json_body_function = std::function<task<json_command>(const body_input&, const json_channels&,
                                                            const json::value&, json_command& now)>;
using json_router_function =
    std::function<std::vector<json_target>(const body_input&, const json::value&)>;

template <class R>
concept json_result = std::is_void_v<R> || std::same_as<R, json::object> ||
                      std::same_as<R, json::value> || std::same_as<R, json_command>;
template <class F>
concept json_body =
    body_arguments<F, json::value> && json_result<awaited_t<body_result<F, json::value>>>;

template <class R>
concept json_route =
    std::convertible_to<R, json_target> || std::convertible_to<R, std::vector<json_target>> ||
    std::convertible_to<R, std::vector<std::string>>;
template <class F>
concept json_router = body_arguments<F, json::value> && json_route<body_result<F, json::value>>;

/// Whether bodies of this type may return commands.
template <class F>
constexpr bool gives_json_commands =
    std::same_as<awaited_t<body_result<F, json::value>>, json_command>;

inline json_command as_command(json_command c) {
  return c;
}
inline json_command as_command(json::value update) {
  return {.update = std::move(update)};
}

template <class T>
task<json_command> command_later(task<T> body) {
  auto done = json_command{};
  if constexpr (std::is_void_v<T>)
    co_await body;
  else
    done = as_command(co_await body);
  co_return done;
}

/// Erases the type of a body; see json_body_function.
template <json_body F>
json_body_function erase_body(F f) {
  return [f = std::move(f)](const body_input& given, const json_channels& channels,
                            const json::value& in, json_command& now) -> task<json_command> {
    using result = body_result<F, json::value>;
    if constexpr (requires { typename F::takes_channels; }) {
      return f(in, given.make_runtime(), &channels);
    } else if constexpr (is_task_v<result>) {
      return command_later(call_body(f, given, in));
    } else {
      if constexpr (std::is_void_v<result>)
        call_body(f, given, in);
      else
        now = as_command(call_body(f, given, in));
      return {};
    }
  };
}

template <json_router F>
json_router_function erase_router(F f) {
  return [f = std::move(f)](const body_input& given, const json::value& in) {
    using result = body_result<F, json::value>;
    auto targets = std::vector<json_target>{};
    if constexpr (std::convertible_to<result, json_target>) {
      targets.emplace_back(call_body(f, given, in));
    } else {
      for (auto& t : call_body(f, given, in))
        targets.emplace_back(std::move(t));
    }
    return targets;
  };
}

} // namespace detail
} // namespace superstep
