// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/shared_list.hpp>
#include <superstep/base/json.hpp>

#include <boost/core/demangle.hpp>
#include <boost/describe/class.hpp>
#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enum_to_string.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>

#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

/// Defines how objects of a type are stored in checkpoints: as one JSON value that restores an
/// equal object.
///
/// Built in: numbers, strings, JSON, std::optional, std::vector, std::map<std::string, T>, pairs,
/// tuples, variants, shared_list, enums, and structs described with Boost.Describe. Other types
/// need a specialisation:
///
///     template <> struct superstep::stored_form<money> {
///       static std::string type() { return "money"; }        // must be the same in every build
///       static void write(std::string& out, const money& m); // appends one JSON value
///       static result<void> read(const json::value& from, money& into);
///     };
///
/// If a type with a specialisation has an operator==, it must compare everything that write()
/// appends, because a checkpoint does not store a value that equals the last one.
///
/// A type without a stored form may be used in a state, but such a state can only be saved by
/// memory_checkpointer(). The functions are called by any number of threads at once.
template <class T>
struct stored_form;

namespace detail {

/// Whether stored_form<T> is specialised with all three functions.
template <class T>
concept has_stored_form = requires(std::string& out, const T& from, T& into) {
  { stored_form<T>::type() } -> std::convertible_to<std::string>;
  stored_form<T>::write(out, from);
  { stored_form<T>::read(json::value{}, into) } -> std::same_as<result<void>>;
};

template <class T>
concept stored_json =
    std::same_as<T, json::value> || std::same_as<T, json::object> || std::same_as<T, json::array>;
template <class T>
concept stored_struct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;
template <class T>
concept stored_enum_names =
    std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;
template <class T>
using stored_members = boost::describe::describe_members<T, boost::describe::mod_public |
                                                                boost::describe::mod_inherited>;

template <class T>
struct stored_optional : std::false_type {};
template <class T>
struct stored_optional<std::optional<T>> : std::true_type {};
template <class T>
struct stored_vector : std::false_type {};
template <class T, class A>
struct stored_vector<std::vector<T, A>> : std::true_type {};
template <class T>
struct stored_list : std::false_type {};
template <class T>
struct stored_list<shared_list<T>> : std::true_type {};
template <class T>
struct stored_map : std::false_type {};
template <class T, class C>
struct stored_map<std::map<std::string, T, C>> : std::true_type {};
template <class T>
struct stored_tuple : std::false_type {};
template <class... T>
struct stored_tuple<std::tuple<T...>> : std::true_type {
  template <template <class> class F>
  static constexpr bool all = (F<T>::value && ...);
};
template <class A, class B>
struct stored_tuple<std::pair<A, B>> : stored_tuple<std::tuple<A, B>> {};
template <class T>
struct stored_variant : std::false_type {};
template <class... T>
struct stored_variant<std::variant<T...>> : std::true_type {};

/// Whether an optional of T is stored as a list of zero or one elements. Null may be a value of
/// such a T, so it cannot mean "absent". For other types, an absent value is stored as null.
template <class T>
inline constexpr bool optional_in_list =
    stored_optional<T>::value || std::same_as<T, json::value> || std::same_as<T, std::monostate>;

/// Whether a type and all its parts can be stored.
/// @tparam Seen the types that contain T. A type that contains itself is storable if its other
/// parts are, so a type in this list is not checked again.
template <class T, class... Seen>
consteval bool is_storable();

/// Whether all element types of a tuple or variant can be stored.
template <class List, class... Seen>
struct all_storable;
template <template <class...> class L, class... T, class... Seen>
struct all_storable<L<T...>, Seen...> : std::bool_constant<(is_storable<T, Seen...>() && ...)> {};

/// Whether all members of a described struct can be stored.
template <class S, class... Seen>
consteval bool members_storable() {
  return []<class... D>(boost::mp11::mp_list<D...>) {
    return (is_storable<std::remove_cvref_t<decltype(std::declval<S&>().*D::pointer)>, Seen...>() &&
            ...);
  }(boost::mp11::mp_rename<stored_members<S>, boost::mp11::mp_list>{});
}

template <class T, class... Seen>
consteval bool is_storable() {
  if constexpr ((std::same_as<T, Seen> || ...))
    return true;
  else if constexpr (!std::is_default_constructible_v<T>)
    return false;
  else if constexpr (has_stored_form<T>)
    return true;
  else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::same_as<T, std::string> ||
                     stored_json<T> || std::same_as<T, std::monostate>)
    return true;
  else if constexpr (stored_optional<T>::value || stored_vector<T>::value || stored_list<T>::value)
    return is_storable<typename T::value_type, T, Seen...>();
  else if constexpr (stored_map<T>::value)
    return is_storable<typename T::mapped_type, T, Seen...>();
  else if constexpr (stored_tuple<T>::value || stored_variant<T>::value)
    return all_storable<T, T, Seen...>::value;
  else if constexpr (stored_struct<T>)
    return members_storable<T, T, Seen...>();
  else
    return false;
}

} // namespace detail

/// Satisfied by types whose objects can be stored in checkpoints.
template <class T>
concept storable = detail::is_storable<T>();

/// Returns the name by which checkpoints identify a type. All integer types have the same name, and
/// so have all floating-point types, so that the type of a member can be widened. May be called
/// from any thread.
/// @tparam T a storable type; other types do not compile
template <class T>
[[nodiscard]] std::string stored_type();

/// Appends a value to `out` as one JSON value, in the form that read_stored() reads. May be called
/// from any thread.
/// @tparam T a storable type
/// @throws what the write() of a stored_form throws
template <class T>
void write_stored(std::string& out, const T& from);

/// Reads the JSON form of write_stored(). May be called from any thread.
///
/// @tparam T a storable type
/// @param from the JSON value
/// @param into receives the value; may be partly changed by an error
/// @param path the location of the value, for error texts
/// @return success; errc::parse_failed with path, expected type and found value, also for a number
/// out of range; or the error of a stored_form
template <class T>
[[nodiscard]] result<void> read_stored(const json::value& from, T& into, const std::string& path);

namespace detail {

/// Returns the error for a stored value of the wrong kind.
[[nodiscard]] error unfit_stored(const std::string& path, std::string_view wanted,
                                 const json::value& got);
/// Appends a number; infinities and NaN are written as strings, because JSON has no such numbers.
void append_stored_number(std::string& out, double n);
/// Reads the form of append_stored_number().
[[nodiscard]] result<double> read_stored_number(const json::value& from, const std::string& path);

/// Returns the names of the element types of a tuple or variant, separated by `between`.
template <class Tuple>
std::string stored_types_of(std::string_view between) {
  auto out = std::string{};
  boost::mp11::mp_for_each<
      boost::mp11::mp_transform<std::type_identity, boost::mp11::mp_rename<Tuple, std::tuple>>>(
      [&](auto t) {
        out +=
            (out.empty() ? "" : std::string{between}) + stored_type<typename decltype(t)::type>();
      });
  return out;
}

/// Writes the elements of a list from index `from` on as a JSON array.
template <class Range>
void write_stored_list(std::string& out, const Range& items, std::size_t from = 0) {
  out += '[';
  auto first = true;
  for (auto i = items.begin() + static_cast<std::ptrdiff_t>(from); i != items.end(); ++i) {
    if (!std::exchange(first, false))
      out += ',';
    write_stored(out, static_cast<const typename Range::value_type&>(*i));
  }
  out += ']';
}

template <class T>
void write_stored_members(std::string& out, const T& from) {
  out += '{';
  auto first = true;
  boost::mp11::mp_for_each<stored_members<T>>([&](auto d) {
    if (!std::exchange(first, false))
      out += ',';
    append_quoted(out, d.name);
    out += ':';
    write_stored(out, from.*d.pointer);
  });
  out += '}';
}

/// Reads the members of a struct. They are matched by name, so that a struct may change between two
/// versions of a program: a missing member keeps its initial value, and an unknown one is ignored.
template <class T>
result<void> read_stored_members(const json::value& from, T& into, const std::string& path) {
  if (!from.is_object())
    return unfit_stored(path, "an object", from);
  auto done = result<void>{};
  boost::mp11::mp_for_each<stored_members<T>>([&](auto d) {
    const auto* found = from.get_object().if_contains(d.name);
    if (done && found != nullptr)
      done = read_stored(*found, into.*d.pointer, path + '.' + d.name);
  });
  return done;
}

template <class T>
result<void> read_stored_list(const json::value& from, T& into, const std::string& path) {
  if (!from.is_array())
    return unfit_stored(path, "a list", from);
  into = T{};
  auto n = std::size_t{0};
  for (const auto& v : from.get_array()) {
    auto item = typename T::value_type{};
    if (auto done = read_stored(v, item, path + '[' + std::to_string(n++) + ']'); !done)
      return done;
    into.push_back(std::move(item));
  }
  return {};
}

template <class T>
result<void> read_stored_map(const json::value& from, T& into, const std::string& path) {
  if (!from.is_object())
    return unfit_stored(path, "an object", from);
  into.clear();
  for (const auto& [key, v] : from.get_object())
    if (auto done = read_stored(v, into[std::string{key}], path + '.' + std::string{key}); !done)
      return done;
  return {};
}

template <class T>
result<void> read_stored_tuple(const json::value& from, T& into, const std::string& path) {
  if (!from.is_array() || from.get_array().size() != std::tuple_size_v<T>)
    return unfit_stored(path, "a list of " + std::to_string(std::tuple_size_v<T>), from);
  auto n = std::size_t{0};
  auto done = result<void>{};
  std::apply(
      [&](auto&... part) {
        const auto read_part = [&](auto& p) {
          if (done)
            done = read_stored(from.get_array()[n], p, path + '[' + std::to_string(n) + ']');
          ++n;
        };
        (read_part(part), ...);
      },
      into);
  return done;
}

/// Reads a variant from a list of its index and its value.
template <class T>
result<void> read_stored_variant(const json::value& from, T& into, const std::string& path) {
  if (!from.is_array() || from.get_array().size() != 2 || !from.get_array()[0].is_int64())
    return unfit_stored(path, "a list of an index and a value", from);
  const auto index = from.get_array()[0].get_int64();
  if (index < 0 || index >= static_cast<std::int64_t>(std::variant_size_v<T>))
    return unfit_stored(path, "an index of the variant", from.get_array()[0]);
  return boost::mp11::mp_with_index<std::variant_size_v<T>>(
      static_cast<std::size_t>(index),
      [&](auto i) { return read_stored(from.get_array()[1], into.template emplace<i>(), path); });
}

template <class T>
result<void> read_stored_scalar(const json::value& from, T& into, const std::string& path) {
  if constexpr (std::same_as<T, bool>) {
    if (!from.is_bool())
      return unfit_stored(path, "true or false", from);
    into = from.get_bool();
  } else if constexpr (std::integral<T>) {
    auto failed = boost::system::error_code{};
    const auto n = from.is_double() ? T{} : from.to_number<T>(failed);
    if (failed || from.is_double())
      return unfit_stored(path, "an integer that fits " + boost::core::demangle(typeid(T).name()),
                          from);
    into = n;
  } else {
    const auto n = read_stored_number(from, path);
    if (!n)
      return n.error();
    into = static_cast<T>(*n);
  }
  return {};
}

/// Reads an enum from the name of an enumerator (described enums only) or from a number. A text
/// that is not the name of an enumerator is an error.
template <class T>
result<void> read_stored_enum(const json::value& from, T& into, const std::string& path) {
  if constexpr (stored_enum_names<T>) {
    if (from.is_string() &&
        boost::describe::enum_from_string(std::string{from.get_string()}.c_str(), into))
      return {};
  }
  auto number = std::underlying_type_t<T>{};
  if (auto done = read_stored_scalar(from, number, path); !done)
    return done;
  into = static_cast<T>(number);
  return {};
}

} // namespace detail

template <class T>
std::string stored_type() {
  static_assert(storable<T>,
                "the type cannot be stored: describe it (BOOST_DESCRIBE_STRUCT) or specialise "
                "stored_form<T>");
  if constexpr (detail::has_stored_form<T>)
    return stored_form<T>::type();
  else if constexpr (std::same_as<T, bool>)
    return "flag";
  else if constexpr (std::integral<T>)
    return "integer";
  else if constexpr (std::floating_point<T>)
    return "number";
  else if constexpr (std::same_as<T, std::string>)
    return "text";
  else if constexpr (detail::stored_json<T>)
    return "json";
  else if constexpr (std::same_as<T, std::monostate>)
    return "nothing";
  else if constexpr (detail::stored_optional<T>::value)
    return stored_type<typename T::value_type>() + " or nothing";
  else if constexpr (detail::stored_vector<T>::value || detail::stored_list<T>::value)
    return "list of " + stored_type<typename T::value_type>();
  else if constexpr (detail::stored_map<T>::value)
    return "map of " + stored_type<typename T::mapped_type>();
  else if constexpr (detail::stored_tuple<T>::value)
    return '(' + detail::stored_types_of<T>(", ") + ')';
  else if constexpr (detail::stored_variant<T>::value)
    return '(' + detail::stored_types_of<T>(" | ") + ')';
  else // the C++ name of an enum or struct, which is the same with g++ and clang
    return boost::core::demangle(typeid(T).name());
}

template <class T>
void write_stored(std::string& out, const T& from) {
  if constexpr (detail::has_stored_form<T>) {
    stored_form<T>::write(out, from);
  } else if constexpr (std::same_as<T, bool>) {
    out += from ? "true" : "false";
  } else if constexpr (std::integral<T>) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, from);
    out.append(digits, end.ptr);
  } else if constexpr (std::floating_point<T>) {
    detail::append_stored_number(out, static_cast<double>(from));
  } else if constexpr (std::same_as<T, std::string>) {
    append_quoted(out, from);
  } else if constexpr (detail::stored_json<T>) {
    append_text(out, from);
  } else if constexpr (std::same_as<T, std::monostate>) {
    out += "null";
  } else if constexpr (detail::stored_optional<T>::value) {
    // In a list, an absent value ([]) differs from a value that is null ([null]).
    constexpr auto listed = detail::optional_in_list<typename T::value_type>;
    if (listed)
      out += '[';
    if (from)
      write_stored(out, *from);
    else if (!listed)
      out += "null";
    if (listed)
      out += ']';
  } else if constexpr (detail::stored_vector<T>::value || detail::stored_list<T>::value) {
    detail::write_stored_list(out, from);
  } else if constexpr (detail::stored_map<T>::value) {
    out += '{';
    auto first = true;
    for (const auto& [key, v] : from) {
      if (!std::exchange(first, false))
        out += ',';
      append_quoted(out, key);
      out += ':';
      write_stored(out, v);
    }
    out += '}';
  } else if constexpr (detail::stored_tuple<T>::value) {
    out += '[';
    auto first = true;
    const auto add = [&](const auto& part) {
      if (!std::exchange(first, false))
        out += ',';
      write_stored(out, part);
    };
    std::apply([&](const auto&... part) { (add(part), ...); }, from);
    out += ']';
  } else if constexpr (detail::stored_variant<T>::value) {
    out += '[' + std::to_string(from.index()) + ',';
    std::visit([&](const auto& held) { write_stored(out, held); }, from);
    out += ']';
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (detail::stored_enum_names<T>) {
      if (const auto* name = boost::describe::enum_to_string(from, nullptr); name != nullptr)
        return append_quoted(out, name);
    }
    write_stored(out, static_cast<std::underlying_type_t<T>>(from));
  } else {
    detail::write_stored_members(out, from);
  }
}

template <class T>
result<void> read_stored(const json::value& from, T& into, const std::string& path) {
  if constexpr (detail::has_stored_form<T>) {
    auto done = stored_form<T>::read(from, into);
    if (!done)
      return error{done.error().code, path + ": " + done.error().text};
    return done;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return detail::read_stored_scalar(from, into, path);
  } else if constexpr (std::same_as<T, std::string>) {
    if (!from.is_string())
      return detail::unfit_stored(path, "text", from);
    into = from.get_string();
  } else if constexpr (std::same_as<T, json::value>) {
    into = from;
  } else if constexpr (std::same_as<T, json::object>) {
    if (!from.is_object())
      return detail::unfit_stored(path, "an object", from);
    into = from.get_object();
  } else if constexpr (std::same_as<T, json::array>) {
    if (!from.is_array())
      return detail::unfit_stored(path, "a list", from);
    into = from.get_array();
  } else if constexpr (std::same_as<T, std::monostate>) {
    into = {};
  } else if constexpr (detail::stored_optional<T>::value) {
    into.reset();
    if constexpr (detail::optional_in_list<typename T::value_type>) {
      if (!from.is_array())
        return detail::unfit_stored(path, "a list of at most one value", from);
      if (!from.get_array().empty())
        return read_stored(from.get_array()[0], into.emplace(), path);
    } else if (!from.is_null()) {
      return read_stored(from, into.emplace(), path);
    }
  } else if constexpr (detail::stored_vector<T>::value || detail::stored_list<T>::value) {
    return detail::read_stored_list(from, into, path);
  } else if constexpr (detail::stored_map<T>::value) {
    return detail::read_stored_map(from, into, path);
  } else if constexpr (detail::stored_tuple<T>::value) {
    return detail::read_stored_tuple(from, into, path);
  } else if constexpr (detail::stored_variant<T>::value) {
    return detail::read_stored_variant(from, into, path);
  } else if constexpr (std::is_enum_v<T>) {
    return detail::read_stored_enum(from, into, path);
  } else {
    return detail::read_stored_members(from, into, path);
  }
  return {};
}

} // namespace superstep
