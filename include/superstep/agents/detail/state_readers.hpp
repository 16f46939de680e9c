// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/never.hpp>
#include <superstep/runtime/runtime.hpp>

#include <concepts>
#include <utility>

namespace superstep::detail {

/// A function of the state alone, where a function of the state and the runtime is expected.
template <class F, class State>
concept state_only =
    std::invocable<const F&, const State&> && !std::invocable<const F&, const State&, runtime>;

/// Makes a function of the state and the runtime from a function of the state alone.
template <class State, class F>
auto without_runtime(F f) {
  return [f = std::move(f)](const State& state, runtime) { return f(state); };
}

/// A function that takes neither the state alone nor the state and the runtime.
template <class F, class State>
concept misfit_reader = requires { &F::operator(); } && !std::invocable<const F&, const State&> &&
                        !std::invocable<const F&, const State&, runtime>;

} // namespace superstep::detail
