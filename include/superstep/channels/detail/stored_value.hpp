// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/stored_form.hpp>
#include <superstep/channels/detail/same_value.hpp>
#include <superstep/channels/detail/value.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// The functions that write type-erased values of one type to checkpoints and read them back. There
/// is one constant for each type. read() returns an error that starts with `path`.
struct value_form {
  std::string (*type)();
  void (*write)(std::string& out, const value& from);
  result<value> (*read)(const json::value& from, const std::string& path);
};

namespace detail {

/// The functions with which channels and their writes store values of one type. For the types at
/// the end of this file they are compiled in the library, so that users' files compile faster.
/// Defined outside of the class: inline functions would be compiled in each file nevertheless.
template <class T>
struct stored_functions {
  static const value_form form;

  static std::string type();
  static result<void> read(const json::value& from, T& into);
  static result<value> read_value(const json::value& from, const std::string& path);
  static void write_value(std::string& out, const value& from);
  static void write_whole(std::string& out, const T& now);
  static bool write_change(std::string& out, const T& before, const T& now);
};

} // namespace detail

/// Returns the value_form of a type; null if its values cannot be stored.
template <class T>
[[nodiscard]] constexpr const value_form* form_of() noexcept {
  if constexpr (storable<T>)
    return &detail::stored_functions<T>::form;
  else
    return nullptr;
}

// Changes of a value as checkpoints store them; see docs/checkpoint-format.md:
//     [v]        The new value is v.
//     [n, more]  List or text: the first n items or bytes are unchanged, and `more` follows them.
//                Object: it had n members. Those in `more` have new values or are new members.
//     []         The channel is empty.

namespace detail {

/// Minimum length in bytes of a common prefix of two texts that a change refers to by its length.
/// Shorter prefixes are stored again.
inline constexpr std::size_t shared_text_min = 64;

/// Appends a number as decimal digits.
void append_count(std::string& out, std::size_t n);
/// Returns the length in bytes of the common prefix of two texts, cut at a character boundary.
[[nodiscard]] std::size_t common_text(std::string_view a, std::string_view b) noexcept;
/// Appends the change of a text; returns false and appends nothing if the texts are equal.
bool write_text_change(std::string& out, std::string_view before, std::string_view now);
/// Appends the change of a JSON value; returns false and appends nothing if the values are equal.
/// If a list, object or text has grown, only the new part is written.
bool write_json_change(std::string& out, const json::value& before, const json::value& now);

template <class T>
concept has_prefix = requires(const T& a, std::string& out) {
  { T::common_prefix(a, a) } -> std::same_as<std::size_t>;
  stored_form<T>::write(out, a, std::size_t{});
};

template <class T>
std::size_t common_items(const T& a, const T& b) {
  const auto same = [](const auto& x, const auto& y) {
    return same_value<typename T::value_type>(x, y);
  };
  if constexpr (stored_list<T>::value) {
    return T::common_prefix(a, b, same);
  } else { // not std::mismatch(), which slows down compilation
    auto n = std::size_t{0};
    while (n < a.size() && n < b.size() && same(a[n], b[n]))
      ++n;
    return n;
  }
}

template <class T>
concept compared_list = stored_list<T>::value || stored_vector<T>::value;

template <class T>
void write_whole(std::string& out, const T& now) {
  out += '[';
  write_stored(out, now);
  out += ']';
}

/// Appends the change of a value; returns false and appends nothing if the values are equal.
template <class T>
bool write_change(std::string& out, const T& before, const T& now) {
  if constexpr (has_prefix<T> || compared_list<T>) {
    auto same = std::size_t{0};
    if constexpr (has_prefix<T>)
      same = T::common_prefix(before, now);
    else
      same = common_items(before, now);
    if (same == before.size() && same == now.size())
      return false;
    if (same == 0) {
      write_whole(out, now);
      return true;
    }
    out += '[';
    append_count(out, same);
    out += ',';
    if constexpr (has_prefix<T>)
      stored_form<T>::write(out, now, same);
    else
      write_stored_list(out, now, same);
    out += ']';
    return true;
  } else if constexpr (std::same_as<T, std::string>) {
    return write_text_change(out, before, now);
  } else if constexpr (std::same_as<T, json::value>) {
    return write_json_change(out, before, now);
  } else {
    if (same_value(before, now))
      return false;
    write_whole(out, now);
    return true;
  }
}

template <class T>
constinit const value_form stored_functions<T>::form{type, write_value, read_value};

template <class T>
std::string stored_functions<T>::type() {
  return stored_type<T>();
}

template <class T>
result<void> stored_functions<T>::read(const json::value& from, T& into) {
  return read_stored(from, into, "value");
}

template <class T>
result<value> stored_functions<T>::read_value(const json::value& from, const std::string& path) {
  auto into = T{};
  if (auto done = read_stored(from, into, path); !done)
    return result<value>{boost::system::in_place_error, done.error()};
  return result<value>{boost::system::in_place_value, std::move(into)};
}

// A json::value can be constructed from a result of itself, so that the move above is ambiguous.
template <>
inline result<value> stored_functions<json::value>::read_value(const json::value& from,
                                                               const std::string&) {
  return result<value>{boost::system::in_place_value, json::value(from)};
}

template <class T>
void stored_functions<T>::write_value(std::string& out, const value& from) {
  write_stored(out, from.as<T>());
}

template <class T>
void stored_functions<T>::write_whole(std::string& out, const T& now) {
  detail::write_whole(out, now);
}

template <class T>
bool stored_functions<T>::write_change(std::string& out, const T& before, const T& now) {
  return detail::write_change(out, before, now);
}

extern template struct stored_functions<bool>;
extern template struct stored_functions<int>;
extern template struct stored_functions<std::int64_t>;
extern template struct stored_functions<double>;
extern template struct stored_functions<std::string>;
extern template struct stored_functions<std::vector<std::string>>;

} // namespace detail

/// Applies a change to the JSON form of a value. Fails if the change does not fit the value.
[[nodiscard]] result<void> apply_change(std::optional<json::value>& held, json::value&& change);

} // namespace superstep
