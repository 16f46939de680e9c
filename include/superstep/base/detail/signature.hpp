// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

namespace superstep::detail {

/// The result and the parameters of a function, or of an object with one operator(). Has no members
/// if F is overloaded or a template, for example a lambda with a parameter of type auto.
template <class F>
struct signature {};
template <class F>
  requires requires { &F::operator(); }
struct signature<F> : signature<decltype(&F::operator())> {};
template <class R, class... A>
struct signature<R (*)(A...)> {
  using result = R;
  using parameters = std::tuple<A...>;
};
template <class R, class... A>
struct signature<R (*)(A...) noexcept> : signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct signature<R (C::*)(A...) const> : signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct signature<R (C::*)(A...) const noexcept> : signature<R (*)(A...)> {};

} // namespace superstep::detail
