// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/stored_form.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace superstep::detail {

template <class T>
concept container_of_others = requires(const T& c) {
  typename T::value_type;
  c.begin();
  c.end();
} && !std::same_as<typename T::value_type, T>;

template <class T>
consteval bool is_comparable();

template <class List>
struct all_comparable;
template <template <class...> class L, class... T>
struct all_comparable<L<T...>> : std::bool_constant<(is_comparable<std::remove_cv_t<T>>() && ...)> {
};

/// Whether two objects of a type can be compared with ==. std::equality_comparable is not
/// sufficient: std::vector<T> satisfies it even if T has no ==, because the operators of the
/// standard containers are not constrained.
template <class T>
consteval bool is_comparable() {
  // A json::object is a container whose value_type has no ==, so the checks below would reject it.
  if constexpr (stored_json<T>)
    return true;
  else if constexpr (stored_tuple<T>::value || stored_variant<T>::value)
    return all_comparable<T>::value;
  else if constexpr (stored_optional<T>::value || container_of_others<T>)
    return is_comparable<std::remove_cv_t<typename T::value_type>>() && std::equality_comparable<T>;
  else
    return std::equality_comparable<T>;
}

/// Whether the == of a storable type compares everything that a checkpoint stores of it. The == of
/// a described struct may not, for example if it compares only an id. That of a type with a
/// stored_form must.
template <class T>
consteval bool has_full_equality();

template <class List>
struct all_full_equality;
template <template <class...> class L, class... T>
struct all_full_equality<L<T...>>
    : std::bool_constant<(has_full_equality<std::remove_cv_t<T>>() && ...)> {};

template <class T>
consteval bool has_full_equality() {
  if constexpr (stored_json<T> || has_stored_form<T>)
    return is_comparable<T>();
  else if constexpr (stored_struct<T>)
    return false;
  else if constexpr (stored_tuple<T>::value || stored_variant<T>::value)
    return all_full_equality<T>::value;
  else if constexpr (stored_optional<T>::value || container_of_others<T>)
    return has_full_equality<std::remove_cv_t<typename T::value_type>>() &&
           std::equality_comparable<T>;
  else
    return std::equality_comparable<T>;
}

/// Whether two objects have the same checkpoint form. Compares described structs member by member,
/// and other types with == if they have it, else by the text of their stored_form.
template <class T>
[[nodiscard]] bool same_value(const T& a, const T& b);

template <class T, std::size_t... I>
[[nodiscard]] bool same_items(const T& a, const T& b, std::index_sequence<I...>) {
  return (same_value(std::get<I>(a), std::get<I>(b)) && ...);
}

template <class T, std::size_t... I>
[[nodiscard]] bool same_alternative(const T& a, const T& b, std::index_sequence<I...>) {
  return a.index() == b.index() &&
         ((a.index() == I && same_value(std::get<I>(a), std::get<I>(b))) || ...);
}

template <class T>
[[nodiscard]] bool same_members(const T& a, const T& b) {
  auto same = true;
  boost::mp11::mp_for_each<stored_members<T>>(
      [&](auto d) { same = same && same_value(a.*d.pointer, b.*d.pointer); });
  return same;
}

template <class T>
bool same_value(const T& a, const T& b) {
  if constexpr (has_full_equality<T>()) {
    return a == b;
  } else if constexpr (has_stored_form<T>) {
    auto one = std::string{};
    auto other = std::string{};
    stored_form<T>::write(one, a);
    stored_form<T>::write(other, b);
    return one == other;
  } else if constexpr (stored_optional<T>::value) {
    return a.has_value() == b.has_value() && (!a || same_value(*a, *b));
  } else if constexpr (stored_tuple<T>::value) {
    return same_items(a, b, std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (stored_variant<T>::value) {
    return same_alternative(a, b, std::make_index_sequence<std::variant_size_v<T>>{});
  } else if constexpr (stored_map<T>::value) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
             return x.first == y.first && same_value(x.second, y.second);
           });
  } else if constexpr (stored_vector<T>::value || stored_list<T>::value) {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
             return same_value<typename T::value_type>(x, y);
           });
  } else {
    return same_members(a, b);
  }
}

} // namespace superstep::detail
