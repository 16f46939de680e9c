// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/id_source.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace superstep {

/// A function that combines the values of one channel:
///     void fn(T& into, T&& more)                   in place
///     void fn(T& into, T&& more, id_source& ids)   in place; may give ids to what it adds
///     T    fn(const T& into, const T& more)        returns a new value, like std::plus<>
template <class Fn, class T>
concept reducer_for = std::invocable<const Fn&, T&, T&&, id_source&> ||
                      (std::invocable<const Fn&, T&, T&&> &&
                       (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>> ||
                        std::convertible_to<std::invoke_result_t<const Fn&, T&, T&&>, T>));

/// Folds one value into another with a reducer of any of the three forms.
template <class T, reducer_for<T> Fn>
void fold(const Fn& fn, T& into, T&& more, id_source& ids) {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    fn(into, std::move(more), ids);
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    fn(into, std::move(more));
  else
    into = fn(into, std::move(more));
}

namespace detail {
template <class Fn, class T>
constexpr bool fold_is_nothrow() {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    return std::is_nothrow_invocable_v<const Fn&, T&, T&&, id_source&>;
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    return std::is_nothrow_invocable_v<const Fn&, T&, T&&>;
  else
    return std::is_nothrow_invocable_v<const Fn&, T&, T&&> &&
           std::is_nothrow_assignable_v<T&, std::invoke_result_t<const Fn&, T&, T&&>>;
}

/// Whether the reducer is a function of two values that does not change the first, so that the new
/// value is created separately.
template <class Fn, class T>
constexpr bool fold_makes_new() {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    return false;
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    // no further check: the body of a generic reducer may not compile with a const value
    return false;
  else
    return std::invocable<const Fn&, const T&, T&&>;
}
} // namespace detail

/// Whether folding with the reducer cannot throw.
template <class Fn, class T>
inline constexpr bool folds_nothrow = detail::fold_is_nothrow<Fn, T>();

/// Whether the reducer returns a new value and only reads the old one, like std::plus<>.
template <class Fn, class T>
inline constexpr bool folds_into_new = detail::fold_makes_new<Fn, T>();

/// Whether a reducer that throws leaves the value as it was. A reducer that works in place declares
/// it:
///     static constexpr bool leaves_value_on_failure = true;
/// Otherwise each step that calls the reducer copies the value first, unless the reducer is
/// noexcept.
template <class Fn>
concept leaves_value_on_failure = requires { requires Fn::leaves_value_on_failure; };

// Rules of channels without a reducer, for a state's `reducers` list.

/// Holds the last value written; two writes in one step are an error. The default.
struct last_value_rule {};
/// Holds a value only for the step after it was written.
struct ephemeral_rule {};
/// Holds the last value written in the latest step, in task order. A step without a write empties
/// it.
struct any_value_rule {};
/// Holds the last value written, but is not saved in checkpoints.
struct untracked_rule {};
/// Holds, in a std::vector<T>, the items written in the latest step, in task order. A step without
/// items empties it.
struct topic_rule {};
/// Collects, in a std::vector<T>, the items of all steps.
struct accumulating_topic_rule {};

} // namespace superstep
