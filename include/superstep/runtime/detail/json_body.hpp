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

/// A destination in a JSON graph: a node, or a Send if it has an input. A router with a path map
/// may return bool for the labels `true` and `false`.
struct json_target {
  template <std::same_as<bool> B>
  json_target(B label) : to{label ? "true" : "false"} {}
  json_target(std::string node) : to{std::move(node)} {}
  json_target(const char* node) : to{node} {}
  json_target(std::string node, json::value payload)
      : to{std::move(node)}, input{std::move(payload)} {}

  std::string to;
  std::optional<json::value> input;
};

/// The command of a JSON graph; see command.
template <>
struct command<json::object> {
  json::value update{}; ///< an object; null for no update
  std::vector<json_target> go_to{};
  std::vector<json::value> more{}; ///< further updates, applied after the first
  /// For a subgraph: ends it at once, and is the result of the node that the subgraph is in its
  /// parent.
  bool to_parent = false;
  optional_box<superstep::resume> resume{};
};
using json_command = command<json::object>;

/// Pairs of a label that a router returns and the name of its node.
using json_path_map = std::vector<std::pair<std::string, std::string>>;

namespace detail {

struct json_layout;

} // namespace detail

/// The channels of a JSON graph in one step. Valid until the body that received them returns or
/// first suspends.
class json_channels {
public:
  json_channels(const detail::json_layout& layout, const body_input& given) noexcept
      : layout_{&layout}, given_{&given} {}
  /// Returns the channels that hold a value, by name.
  [[nodiscard]] json::object read() const;

private:
  const detail::json_layout* layout_;
  const body_input* given_;
};

namespace detail {

/// The type-erased function of a JSON node: fills `now`, or returns a task if it is a coroutine.
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

/// Erases the type of a body. Plain functions fill `now`; coroutines return the task that is left.
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
