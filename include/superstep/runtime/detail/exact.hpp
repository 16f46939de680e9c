// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/never.hpp>

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

// Checks at compile time that a number which is written to a field, a channel or a Send fits the
// type of its target. Without the check, `set<&state::n>(12.7)` with an int field would silently
// lose the fraction.
namespace superstep::detail {

/// The arithmetic type in T: T itself if it is a number, U if T is std::optional<U> of a number,
/// void for other types.
template <class T>
struct number_in {
  using type = void;
};
template <class T>
  requires std::is_arithmetic_v<T>
struct number_in<T> {
  using type = T;
};
template <class T>
  requires std::is_arithmetic_v<T>
struct number_in<std::optional<T>> {
  using type = T;
};

/// Whether To can represent every value of From. Any number may become a floating-point number.
template <class From, class To>
consteval bool always_fits() {
  if constexpr (std::is_same_v<From, To> || std::is_floating_point_v<To>)
    return true;
  else if constexpr (std::is_floating_point_v<From> || std::is_same_v<To, bool>)
    return false;
  else if constexpr (std::is_signed_v<From> && !std::is_signed_v<To>)
    return false;
  else
    return sizeof(From) < sizeof(To) ||
           (sizeof(From) == sizeof(To) && std::is_signed_v<From> == std::is_signed_v<To>);
}

/// Whether it depends on the value of an integer constant of type From whether To can represent it.
/// False if either type is a floating-point type.
template <class From, class To>
concept constant_may_fit = std::integral<From> && std::integral<To> && !always_fits<From, To>();

/// Shown in the error for a value that is not a constant and may not fit; see exact.
struct use_static_cast_if_the_value_always_fits;

/// The parameter type for a target of type T, which is a number or std::optional of a number.
/// Accepts only values that T can represent: numbers of a type that always fits, and integer
/// constants that fit.
template <class T>
class exact {
  using number = typename number_in<T>::type;

public:
  constexpr exact() = default;
  template <class V>
    requires(std::is_arithmetic_v<V> && always_fits<V, number>())
  constexpr exact(V v) : value_(static_cast<number>(v)) {}
  template <class V, class Hint = use_static_cast_if_the_value_always_fits>
    requires constant_may_fit<V, number>
  consteval exact(V v) : value_(static_cast<number>(v)) {
    if (static_cast<V>(static_cast<number>(v)) != v ||
        (v < V{}) != (static_cast<number>(v) < number{}))
      throw "the constant does not fit the type of the field";
  }
  /// Rejects fractions for whole numbers and flags.
  template <class V>
    requires(std::is_floating_point_v<V> && !always_fits<V, number>())
  constexpr exact(V) {
    static_assert(never<V>, "a number with a fraction does not fit this field of whole numbers: "
                            "round it, or change the type of the field to double");
  }
  /// Rejects text and other pointers.
  template <class V>
    requires(std::is_pointer_v<std::decay_t<V>>)
  constexpr exact(V&&) {
    static_assert(never<V>, "text does not fit this field: the field is a number or a bool, so "
                            "convert the text first");
  }
  /// Accepts types that are not numbers but convert to T: std::optional, enumerators,
  /// std::true_type.
  template <class V>
    requires(!std::is_arithmetic_v<std::remove_cvref_t<V>> && !std::is_pointer_v<std::decay_t<V>> &&
             std::convertible_to<V, T> && !std::same_as<std::remove_cvref_t<V>, exact>)
  constexpr exact(V&& v) : value_(std::forward<V>(v)) {}

  [[nodiscard]] constexpr T get() && { return std::move(value_); }

private:
  T value_{};
};

/// The parameter type of a function that writes a T.
template <class T>
using written_as = std::conditional_t<std::is_void_v<typename number_in<T>::type>, T, exact<T>>;

template <class T>
[[nodiscard]] constexpr T unwrap(T&& v) {
  return std::move(v);
}
template <class T>
[[nodiscard]] constexpr T unwrap(exact<T>&& v) {
  return std::move(v).get();
}

} // namespace superstep::detail
