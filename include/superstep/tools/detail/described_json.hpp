// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool.hpp>

#include <boost/describe.hpp>
#include <boost/mp11.hpp>

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Functions that derive a JSON Schema from a C++ type and convert its values from and to JSON, for
/// the arguments and results of tools.
namespace superstep::detail {

template <class T>
using members_of = boost::describe::describe_members<T, boost::describe::mod_public |
                                                            boost::describe::mod_inherited>;

template <class T>
concept described_struct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;
template <class T>
concept described_enum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;
template <class T>
concept plain_integer = std::integral<T> && !std::same_as<T, bool>;

template <class T>
struct optional_of : std::false_type {};
template <class T>
struct optional_of<std::optional<T>> : std::true_type {
  using type = T;
};
template <class T>
struct list_of : std::false_type {};
template <class T>
struct list_of<std::vector<T>> : std::true_type {
  using type = T;
};
template <class T>
struct map_of : std::false_type {};
template <class T>
struct map_of<std::map<std::string, T>> : std::true_type {
  using type = T;
};

/// Returns the JSON Schema of a type.
template <class T>
json::object schema_of();

/// Returns the schema of an item of a list or a map, which is null if it is an empty std::optional.
/// A member of a struct is absent instead.
template <class T>
json::object schema_of_item() {
  auto out = schema_of<T>();
  if (!optional_of<T>::value || out.empty()) // an empty schema accepts null
    return out;
  return {{"anyOf", json::array{std::move(out), json::object{{"type", "null"}}}}};
}

/// Returns the schema of a struct. Injected members are omitted, because the model must not see
/// them.
template <described_struct T>
json::object schema_of_struct() {
  auto properties = json::object{};
  auto required = json::array{};
  boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
    using field = std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>;
    if constexpr (!is_injected<field>) {
      auto schema = schema_of<field>();
      if constexpr (requires { T::descriptions; })
        for (const auto& [name, text] : T::descriptions)
          if (std::string_view{name} == member.name)
            schema["description"] = text;
      properties[member.name] = std::move(schema);
      if (!optional_of<field>::value)
        required.emplace_back(member.name);
    }
  });
  auto out = json::object{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty())
    out["required"] = std::move(required);
  out["additionalProperties"] = false;
  return out;
}

/// Returns the schema of an enum, whose values are the names of the enumerators.
template <described_enum T>
json::object schema_of_enum() {
  auto names = json::array{};
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>(
      [&](auto e) { names.emplace_back(e.name); });
  return {{"type", "string"}, {"enum", std::move(names)}};
}

template <class T>
json::object schema_of() {
  if constexpr (std::same_as<T, std::string>)
    return {{"type", "string"}};
  else if constexpr (std::same_as<T, bool>)
    return {{"type", "boolean"}};
  else if constexpr (std::unsigned_integral<T>)
    return {{"type", "integer"}, {"minimum", 0}};
  else if constexpr (std::integral<T>)
    return {{"type", "integer"}};
  else if constexpr (std::floating_point<T>)
    return {{"type", "number"}};
  else if constexpr (optional_of<T>::value)
    return schema_of<typename optional_of<T>::type>();
  else if constexpr (list_of<T>::value)
    return {{"type", "array"}, {"items", schema_of_item<typename list_of<T>::type>()}};
  else if constexpr (map_of<T>::value)
    return {{"type", "object"},
            {"additionalProperties", schema_of_item<typename map_of<T>::type>()}};
  else if constexpr (std::same_as<T, json::value>)
    return {};
  else if constexpr (std::same_as<T, json::object>)
    return {{"type", "object"}};
  else if constexpr (std::same_as<T, json::array>)
    return {{"type", "array"}};
  else if constexpr (described_enum<T>)
    return schema_of_enum<T>();
  else {
    static_assert(described_struct<T>,
                  "a tool argument must be a string, number, bool, std::optional, std::vector, "
                  "std::map<std::string, …>, json value, or a struct or enum described with "
                  "BOOST_DESCRIBE_STRUCT or BOOST_DESCRIBE_ENUM");
    return schema_of_struct<T>();
  }
}

/// The treatment of members that a struct does not have, in argument_reader.
enum class unknown_keys : std::uint8_t { rejected, ignored };

/// Converts arguments to C++ values and collects the errors, each with its path.
class argument_reader {
public:
  explicit argument_reader(unknown_keys unknown = unknown_keys::rejected) : unknown_{unknown} {}

  /// Converts one value.
  /// @param path the location of the value, for errors
  template <class T>
  void read(const json::value& from, T& into, const std::string& path) {
    if constexpr (std::same_as<T, json::value>)
      into = from;
    else if constexpr (optional_of<T>::value) {
      if (!from.is_null())
        read(from, into.emplace(), path);
    } else if constexpr (std::same_as<T, std::string>)
      read_text(from, into, path);
    else if constexpr (std::same_as<T, bool>)
      from.is_bool() ? void(into = from.get_bool()) : fail(path, "must be true or false");
    else if constexpr (std::integral<T>)
      read_integer(from, into, path);
    else if constexpr (std::floating_point<T>)
      from.is_number() ? void(into = static_cast<T>(from.to_number<double>()))
                       : fail(path, "must be a number");
    else if constexpr (list_of<T>::value)
      read_list(from, into, path);
    else if constexpr (map_of<T>::value)
      read_map(from, into, path);
    else if constexpr (std::same_as<T, json::object>)
      from.is_object() ? void(into = from.get_object()) : fail(path, "must be an object");
    else if constexpr (std::same_as<T, json::array>)
      from.is_array() ? void(into = from.get_array()) : fail(path, "must be a list");
    else if constexpr (described_enum<T>)
      read_enum(from, into, path);
    else if (from.is_object())
      read_members(from.get_object(), into, path);
    else
      fail(path, "must be an object");
  }

  /// Converts the members of a struct. The values of injected members come from the tool node, so a
  /// missing value is not an error.
  template <described_struct T>
  void read_members(const json::object& from, T& into, const std::string& path) {
    auto known = std::size_t{0};
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
      using field = std::remove_cvref_t<decltype(into.*member.pointer)>;
      const auto at = path.empty() ? std::string{member.name} : path + '.' + member.name;
      const auto* value = from.if_contains(member.name);
      if constexpr (is_injected<field>) {
        known += value != nullptr ? 1U : 0U;
        if constexpr (!std::same_as<field, injected_store>)
          if (value != nullptr)
            read(*value, (into.*member.pointer).value, at);
      } else if (value) {
        ++known;
        read(*value, into.*member.pointer, at);
      } else if (!optional_of<field>::value) {
        fail(at, "is required");
      }
    });
    if (known != from.size() && unknown_ == unknown_keys::rejected)
      fail(path, unknown_members<T>(from));
  }

  /// The errors of all values read so far.
  [[nodiscard]] const std::vector<argument_fault>& faults() const noexcept { return faults_; }

private:
  /// Returns the error text for an object with members that a struct does not have.
  template <described_struct T>
  static std::string unknown_members(const json::object& from) {
    auto known = std::string{};
    auto unknown = from;
    boost::mp11::mp_for_each<members_of<T>>([&](auto member) {
      unknown.erase(member.name);
      if constexpr (!is_injected<std::remove_cvref_t<decltype(std::declval<T>().*member.pointer)>>)
        known.append(known.empty() ? "" : ", ").append(member.name);
    });
    auto names = std::string{};
    for (const auto& member : unknown)
      names += (names.empty() ? "" : ", ") + to_text(json::value(member.key()));
    return (unknown.size() == 1 ? "has the unknown member " : "has the unknown members ") + names +
           (known.empty() ? "; no members are allowed" : "; known members: " + known);
  }

  void fail(const std::string& path, std::string text) {
    faults_.push_back({path, std::move(text)});
  }

  void read_text(const json::value& from, std::string& into, const std::string& path) {
    if (const auto* text = from.if_string())
      into.assign(text->data(), text->size());
    else
      fail(path, "must be a string");
  }

  template <plain_integer T>
  void read_integer(const json::value& from, T& into, const std::string& path) {
    auto ec = boost::system::error_code{};
    into = from.to_number<T>(ec); // accepts 3.0, rejects 3.5 and numbers out of T's range
    if (!from.is_number() || ec)
      fail(path, "must be an integer from " + std::to_string(std::numeric_limits<T>::min()) +
                     " to " + std::to_string(std::numeric_limits<T>::max()));
  }

  template <class T>
  void read_list(const json::value& from, std::vector<T>& into, const std::string& path) {
    const auto* items = from.if_array();
    if (!items)
      return fail(path, "must be a list");
    for (auto i = std::size_t{0}; i < items->size(); ++i) {
      auto item = T{};
      read((*items)[i], item, path + '.' + std::to_string(i));
      into.push_back(std::move(item));
    }
  }

  template <class T>
  void read_map(const json::value& from, std::map<std::string, T>& into, const std::string& path) {
    const auto* items = from.if_object();
    if (!items)
      return fail(path, "must be an object");
    for (const auto& item : *items) {
      const auto key = std::string{item.key().data(), item.key().size()};
      auto where = path + '.';
      where += key;
      read(item.value(), into[key], where);
    }
  }

  template <described_enum T>
  void read_enum(const json::value& from, T& into, const std::string& path) {
    auto found = false;
    auto names = std::string{};
    boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto e) {
      names += (names.empty() ? "" : ", ") + std::string{e.name};
      if (from.is_string() && from.get_string() == e.name) {
        into = e.value;
        found = true;
      }
    });
    if (!found)
      fail(path, "must be one of " + names);
  }

  unknown_keys unknown_;
  std::vector<argument_fault> faults_;
};

/// Converts a value to JSON.
template <class T>
json::value written(const T& from) {
  if constexpr (optional_of<T>::value) {
    if (!from)
      return nullptr;
    return written(*from);
  } else if constexpr (list_of<T>::value) {
    auto out = json::array{};
    for (const auto& item : from)
      out.push_back(written<typename list_of<T>::type>(item));
    return out;
  } else if constexpr (map_of<T>::value) {
    auto out = json::object{};
    for (const auto& [key, value] : from)
      out[key] = written(value);
    return out;
  } else if constexpr (described_enum<T>) {
    return json::value(boost::describe::enum_to_string(from, "unknown"));
  } else if constexpr (described_struct<T>) {
    auto out = json::object{};
    boost::mp11::mp_for_each<members_of<T>>(
        [&](auto member) { out[member.name] = written(from.*member.pointer); });
    return out;
  } else {
    static_assert(
        std::constructible_from<json::value, const T&>,
        "a tool's function returns text, a number, a bool, a json value, a struct or enum "
        "described with BOOST_DESCRIBE_STRUCT or BOOST_DESCRIBE_ENUM, a message, a "
        "tool_command, a tool_output, or a task<> of one of these");
    if constexpr (std::constructible_from<json::value, const T&>)
      return json::value(from);
  }
}

} // namespace superstep::detail
