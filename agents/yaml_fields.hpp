// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/base/json.hpp>

#include <yaml-cpp/yaml.h>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Where the faults of one agent file are collected, with the place each stands at.
class fault_list {
public:
  explicit fault_list(std::string file) : file_{std::move(file)} {}

  /// `path` is the dotted key; its line is that of `node`, unless --set put it there.
  void add(const YAML::Node& node, std::string path, std::string text);
  void add(std::size_t line, std::string path, std::string text);
  /// Key paths that --set has put in: their nodes have no line in the file.
  void overridden(std::string path) { overridden_.insert(std::move(path)); }
  [[nodiscard]] std::vector<agent_fault> take() &&;

private:
  [[nodiscard]] bool is_overridden(std::string_view path) const;

  std::string file_;
  std::set<std::string, std::less<>> overridden_;
  std::vector<agent_fault> faults_;
};

/// Line of a node, from 1; 0 when it stands in no file.
[[nodiscard]] std::size_t line_of(const YAML::Node& node);

/// A YAML value as JSON: plain scalars become null, booleans and numbers where they read as such,
/// quoted ones stay text. Nothing when it is nested too deep or has a key twice; a fault is added.
[[nodiscard]] std::optional<json::value> to_json(const YAML::Node& node, const std::string& path,
                                                 fault_list& faults);

/// Adds a fault for what keeps `schema`, read from the node, from being a JSON Schema.
void check_schema(const YAML::Node& node, const json::object& schema, std::string path,
                  fault_list& faults);

/// One mapping of the file, read key by key. Every reader leaves its target alone when the key is
/// absent, and adds a fault when the value is not what the target takes. done() then adds one for
/// every key that nobody asked for.
class fields {
public:
  fields(YAML::Node node, std::string path, fault_list& faults);

  fields& text(std::string_view key, std::string& into);
  /// The same, and absence or emptiness is a fault.
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
  fields& number(std::string_view key, std::optional<std::int64_t>& into, std::int64_t min) {
    if (auto n = integer(key, min, std::numeric_limits<std::int64_t>::max()))
      into = *n;
    return *this;
  }
  /// A number of milliseconds, up to 49 days.
  fields& duration(std::string_view key, std::chrono::milliseconds& into, std::int64_t min) {
    if (auto n = integer(key, min, bound_of<std::uint32_t>()))
      into = std::chrono::milliseconds{*n};
    return *this;
  }
  fields& texts(std::string_view key, std::vector<std::string>& into, std::size_t min_size);
  fields& object(std::string_view key, json::object& into);
  fields& any(std::string_view key, json::value& into);
  /// A JSON Schema; a fault is reported at its own line, as far as the file has one.
  fields& schema(std::string_view key, json::object& into);

  /// The value of a key, marked as known; an invalid node when it is absent.
  [[nodiscard]] YAML::Node take(std::string_view key);
  [[nodiscard]] std::string path_of(std::string_view key) const;
  [[nodiscard]] const YAML::Node& node() const noexcept { return node_; }
  [[nodiscard]] fault_list& faults() noexcept { return faults_; }
  void wrong(std::string_view key, std::string text);
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

  YAML::Node node_;
  std::string path_;
  fault_list& faults_;
  std::vector<std::string> known_; // in the order of the readers, for the message of done()
};

} // namespace superstep::detail
