// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/base/json.hpp>

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Whether a dotted key is `above`, or a key below it.
[[nodiscard]] bool is_within(std::string_view key, std::string_view above) noexcept;

/// The errors of one agent file, each with its line and key.
class fault_list {
public:
  explicit fault_list(std::string file) : file_{std::move(file)} {}

  /// Adds an error. `path` is the key with its parents, joined by dots. The error refers to the
  /// node's line, or to --set if that option set the key.
  void add(const YAML::Node& node, std::string path, std::string text);
  void add(std::size_t line, std::string path, std::string text);
  /// Records that --set changed `path`. Errors at that path and below then refer to --set.
  void overridden(std::string path) { overridden_.insert(std::move(path)); }
  /// Returns all errors, sorted by line.
  [[nodiscard]] std::vector<agent_fault> take() &&;
  /// Returns the keys that --set changed.
  [[nodiscard]] std::vector<std::string> overridden_keys() const {
    return {overridden_.begin(), overridden_.end()};
  }
  /// Whether --set changed `path` or a key above it.
  [[nodiscard]] bool is_overridden(std::string_view path) const;

private:
  std::string file_;
  std::set<std::string, std::less<>> overridden_;
  std::vector<agent_fault> faults_;
};

/// Returns the line of a node, counted from 1; 0 if the node is not from the file.
[[nodiscard]] std::size_t line_of(const YAML::Node& node);

/// Converts a YAML value to JSON. Unquoted null, booleans and numbers are converted; quoted scalars
/// are text. Adds an error and returns nullopt if the value is nested too deeply, is too large or
/// has a duplicate key.
[[nodiscard]] std::optional<json::value> to_json(const YAML::Node& node, const std::string& path,
                                                 fault_list& faults);

/// Adds an error if `schema`, which was read from `node`, is not a valid JSON Schema.
void check_schema(const YAML::Node& node, const json::object& schema, std::string path,
                  fault_list& faults);

/// Reads one mapping of the file key by key. Each reader leaves `into` unchanged if the key is
/// missing, and adds an error if its value is invalid. done() adds an error for each key that was
/// not read.
class fields {
public:
  /// A node that is neither a mapping nor null has no keys. done() adds an error for it, and no key
  /// is reported as missing.
  fields(YAML::Node node, std::string path, fault_list& faults);
  /// Makes an empty mapping, for example for a tool without options.
  /// @param line the line of errors about missing keys
  fields(std::size_t line, std::string path, fault_list& faults);

  fields& text(std::string_view key, std::string& into);
  /// Reads a text. The key is required, and the text must not be empty.
  fields& required_text(std::string_view key, std::string& into);
  fields& flag(std::string_view key, bool& into);
  fields& real(std::string_view key, double& into, double min, double max);
  fields& real(std::string_view key, std::optional<double>& into, double min, double max);
  template <std::integral T>
  fields& number(std::string_view key, T& into, std::int64_t min = 0,
                 std::int64_t max = bound_of<T>()) {
    if (auto n = integer(key, min, max))
      into = static_cast<T>(*n);
    return *this;
  }
  template <std::integral T>
  fields& number(std::string_view key, std::optional<T>& into, std::int64_t min) {
    if (auto n = integer(key, min, bound_of<T>()))
      into = static_cast<T>(*n);
    return *this;
  }
  /// Reads a number that limits something; 0 means no limit.
  template <std::integral T>
  fields& limit(std::string_view key, std::optional<T>& into) {
    if (auto n = integer(key, 0, bound_of<T>()))
      into = *n > 0 ? std::optional{static_cast<T>(*n)} : std::nullopt;
    return *this;
  }
  /// Reads a number of milliseconds, at most 2^32 - 1 (49 days).
  fields& duration(std::string_view key, std::chrono::milliseconds& into, std::int64_t min) {
    if (auto n = integer(key, min, bound_of<std::uint32_t>()))
      into = std::chrono::milliseconds{*n};
    return *this;
  }
  /// Reads a timeout in milliseconds, up to 49 days. 0 means none, if `min` allows it.
  fields& duration(std::string_view key, std::optional<std::chrono::milliseconds>& into,
                   std::int64_t min) {
    if (auto n = integer(key, min, bound_of<std::uint32_t>()))
      into = *n > 0 ? std::optional{std::chrono::milliseconds{*n}} : std::nullopt;
    return *this;
  }
  fields& texts(std::string_view key, std::vector<std::string>& into, std::size_t min_size);
  fields& object(std::string_view key, json::object& into);
  fields& any(std::string_view key, json::value& into);
  /// Reads a JSON Schema. An error refers to the line of the invalid part if possible.
  fields& schema(std::string_view key, json::object& into);

  /// Returns the value of a key, and marks the key as read. Returns an undefined node if the key is
  /// missing.
  [[nodiscard]] YAML::Node take(std::string_view key);
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const YAML::Node& node() const noexcept { return node_; }
  [[nodiscard]] fault_list& faults() noexcept { return faults_; }
  /// Adds an error about a key. The error refers to the key's line, or to the mapping's line if the
  /// key is missing.
  void wrong(std::string_view key, std::string text);
  /// Reports `text` if the key is present. For a key that exists, but not beside the others.
  void refuse(std::string_view key, std::string text);
  /// Adds an error for a required key that the mapping does not have. If a key that was not read
  /// so far is similar, the error refers to that key.
  void missing(std::string_view key);
  /// Names keys that exist only in a mapping below this one, for the errors of done().
  /// @param mapping key of that mapping
  void are_below(std::string_view mapping, std::initializer_list<std::string_view> keys);
  /// Adds an error for each key that was not read.
  void done();

private:
  template <class T>
  static constexpr std::int64_t bound_of() {
    if constexpr (sizeof(T) < sizeof(std::int64_t))
      return static_cast<std::int64_t>(std::numeric_limits<T>::max());
    else
      return std::numeric_limits<std::int64_t>::max();
  }
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key, std::int64_t min,
                                                    std::int64_t max);

  /// Whether a key of the mapping that was not read so far probably means `wanted`.
  [[nodiscard]] bool is_misspelled(const std::string& found, std::string_view wanted) const;
  [[nodiscard]] std::string unknown_key_text(const std::string& key) const;

  YAML::Node node_;
  std::size_t line_;
  std::string path_;
  fault_list& faults_;
  std::vector<std::string> known_; // in the order of reading, for the message of done()
  std::map<std::string, std::string, std::less<>> below_; // paths of are_below(), by key
  std::vector<std::string> reported_; // by refuse(), or in place of missing keys
};

} // namespace superstep::detail
