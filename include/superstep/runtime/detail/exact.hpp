// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

// Checks of numbers that a caller writes to a field, a channel or a Send. The conversion to the
// type of the target is checked at compile time. Otherwise `set<&state::n>(12.7)` with an int
// field, or a size_t variable for it, would silently lose a part of the number.
namespace superstep::detail {

/// The arithmetic type in T: T itself, or the value type of a std::optional of a number; void for
/// other types.
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

/// Whether To may be able to represent a constant of type From, depending on its value. Never true
/// for floating-point numbers.
template <class From, class To>
concept constant_may_fit = std::integral<From> && std::integral<To> && !always_fits<From, To>();

/// A number for a target of type T (a number, or std::optional of one) that does not lose a part of
/// its value: it has a type that fits, or is a constant whose value does.
template <class T>
class exact {
  using number = typename number_in<T>::type;

public:
  constexpr exact() = default;
  template <class V>
    requires(std::is_arithmetic_v<V> && always_fits<V, number>())
  constexpr exact(V v) : value_(static_cast<number>(v)) {}
  template <class V>
    requires constant_may_fit<V, number>
  consteval exact(V v) : value_(static_cast<number>(v)) {
    if (static_cast<V>(static_cast<number>(v)) != v ||
        (v < V{}) != (static_cast<number>(v) < number{}))
      throw "this constant does not fit the type of the field";
  }
  /// Takes values with a conversion of their own: std::optional, enumerators, std::true_type.
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
