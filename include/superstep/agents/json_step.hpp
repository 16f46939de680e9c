// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/task.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/runtime/runtime.hpp>

#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

namespace superstep {

/// A function that is a node of a JSON graph, such as a hook of an agent.
///
/// The function takes the state and the runtime, and returns what a node of json_graph returns. It
/// may take the channels of the graph as a third parameter (`const json_channels*`, null outside a
/// graph), to read the input that a Send carries.
class json_step {
public:
  using takes_channels = void;

  json_step() = default;
  template <class F>
    requires std::invocable<const F&, const json::value&, runtime, const json_channels*>
  json_step(F f) : call_{std::move(f)} {}
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, json_step> &&
             std::invocable<const F&, const json::value&, runtime>)
  json_step(F f) {
    using made = std::invoke_result_t<const F&, const json::value&, runtime>;
    static_assert(detail::json_result<awaited_t<made>>,
                  "a hook returns nothing, a json::object, a json::value or a json_command, or a "
                  "task<> of one of these");
    call_ = [f = std::move(f)](const json::value& state, runtime rt,
                               const json_channels*) -> task<json_command> {
      if constexpr (is_task_v<made>) {
        return detail::command_later(f(state, std::move(rt)));
      } else if constexpr (std::is_void_v<made>) {
        f(state, std::move(rt));
        return ready(json_command{});
      } else {
        return ready(detail::as_command(f(state, std::move(rt))));
      }
    };
  }
  /// Whether a function is set.
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(call_); }
  /// Calls the function. The state must outlive the task.
  [[nodiscard]] task<json_command> operator()(const json::value& state, runtime rt,
                                              const json_channels* channels = nullptr) const {
    return call_(state, std::move(rt), channels);
  }

private:
  std::function<task<json_command>(const json::value&, runtime, const json_channels*)> call_;
};

} // namespace superstep
