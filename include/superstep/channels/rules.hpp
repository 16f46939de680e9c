// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/id_source.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace superstep {

/// How the values of one channel combine. A reducer is one of
///   void fn(T& into, T&& more)                   in place
///   void fn(T& into, T&& more, id_source& ids)   in place, may name what it adds
///   T    fn(const T& into, const T& more)        like std::plus<>
template <class Fn, class T>
concept reducer_for = std::invocable<const Fn&, T&, T&&, id_source&> ||
                      (std::invocable<const Fn&, T&, T&&> &&
                       (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>> ||
                        std::convertible_to<std::invoke_result_t<const Fn&, T&, T&&>, T>));

/// Folds one value into another by a reducer of any of the three forms.
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

/// A function of two values that cannot change the first: the next value is made beside it.
template <class Fn, class T>
constexpr bool fold_makes_new() {
  if constexpr (std::invocable<const Fn&, T&, T&&, id_source&>)
    return false;
  else if constexpr (std::is_void_v<std::invoke_result_t<const Fn&, T&, T&&>>)
    return false; // not looked at further: the body of a generic one need not fit a const value
  else
    return std::invocable<const Fn&, const T&, T&&>;
}
} // namespace detail

/// Whether folding by a reducer cannot throw.
template <class Fn, class T>
inline constexpr bool folds_nothrow = detail::fold_is_nothrow<Fn, T>();

/// Whether a reducer makes a new value and reads the old one only, like std::plus<>.
template <class Fn, class T>
inline constexpr bool folds_into_new = detail::fold_makes_new<Fn, T>();

/// Whether a reducer that throws leaves the value as it was. One that works in place declares it:
///   static constexpr bool leaves_value_on_failure = true;
/// Otherwise each step that calls it copies the value before, unless it is noexcept.
template <class Fn>
concept leaves_value_on_failure = requires { requires Fn::leaves_value_on_failure; };

// Rules of channels that are not folds, named in a state's `reducers` list.

/// Holds the one value written in the latest step; two writes in one step are an error. The
/// default.
struct last_value_rule {};
/// Holds a value for the one step after it was written.
struct ephemeral_rule {};
/// Holds the last value written in the latest step, in task order; emptied by a step without one.
struct any_value_rule {};
/// Like the default, but for what is not worth keeping: no checkpoint has it.
struct untracked_rule {};
/// A std::vector<T>: holds the items written in the latest step, in task order; emptied by a step
/// that writes none.
struct topic_rule {};
/// A std::vector<T> that collects the items of all steps.
struct accumulating_topic_rule {};

} // namespace superstep
