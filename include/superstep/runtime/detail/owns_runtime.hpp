// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/signature.hpp>
#include <superstep/base/task.hpp>

#include <tuple>
#include <type_traits>

namespace superstep {
class runtime;
}

namespace superstep::detail {

template <class Parameters>
inline constexpr bool has_runtime_reference = false;
template <class... A>
inline constexpr bool has_runtime_reference<std::tuple<A...>> =
    (std::is_same_v<A, const runtime&> || ...);

/// False for a coroutine that takes `const runtime&`. Not detected if F is overloaded or a
/// template.
template <class F>
concept owns_its_runtime =
    !requires { typename signature<F>::result; } || !is_task_v<typename signature<F>::result> ||
    !has_runtime_reference<typename signature<F>::parameters>;

} // namespace superstep::detail
