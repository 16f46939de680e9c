// SPDX-License-Identifier: Apache-2.0
// Checked access to the mappings of agent files: conversion of scalars, ranges, unknown and
// duplicate keys, and errors with line numbers. The *_fields.cpp files decide which keys exist.
#include "agents/yaml_fields.hpp"

#include "base/similar_word.hpp"

#include <superstep/tools/detail/argument_schema.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace superstep::detail {

namespace {

// yaml-cpp's conversions also accept "12abc", octal numbers and four spellings of true. This
// function accepts only JSON's spelling of numbers.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  auto out = T{};
  const auto* end = text.data() + text.size();
  auto [at, code] = std::from_chars(text.data(), end, out);
  if (code != std::errc{} || at != end)
    return std::nullopt;
  return out;
}

bool is_plain(const YAML::Node& node) {
  return node.IsScalar() && node.Tag() != "!" && node.Tag() != "tag:yaml.org,2002:str";
}

json::value scalar_to_json(const YAML::Node& node) {
  const auto& text = node.Scalar();
  if (!is_plain(node))
    return json::value(text);
  if (text.empty() || text == "null" || text == "~")
    return nullptr;
  if (text == "true" || text == "false")
    return text == "true";
  if (auto whole = parse_number<std::int64_t>(text))
    return *whole;
  if (auto real = parse_number<double>(text); real && std::isfinite(*real))
    return *real;
  return json::value(text);
}

/// Whether a value is `{{name}}` without quotes, which YAML reads as a mapping in a mapping.
bool is_unquoted_placeholder(const YAML::Node& value) {
  return value.IsMap() && value.size() == 1 && value.begin()->first.IsMap();
}

/// Converts a YAML value to JSON. Limits the number of values, because a small file can describe a
/// huge tree with anchors.
class converter {
public:
  explicit converter(fault_list& faults) : faults_{faults} {}

  std::optional<json::value> convert(const YAML::Node& node, const std::string& path, int depth) {
    if (depth > depth_max)
      return refuse(node, path, fmt::format("is nested deeper than {} levels", depth_max));
    if (++values_ > values_max)
      return refuse(node, path, fmt::format("has more than {} values", values_max));
    if (node.IsSequence())
      return array(node, path, depth);
    if (node.IsMap())
      return object(node, path, depth);
    return node.IsScalar() ? scalar_to_json(node) : json::value(nullptr);
  }

private:
  std::nullopt_t refuse(const YAML::Node& node, const std::string& path, std::string text) {
    faults_.add(node, path, std::move(text));
    return std::nullopt;
  }

  std::optional<json::value> array(const YAML::Node& node, const std::string& path, int depth) {
    auto out = json::array{};
    for (const auto& item : node) {
      auto value = convert(item, fmt::format("{}.{}", path, out.size()), depth + 1);
      if (!value)
        return std::nullopt;
      out.push_back(std::move(*value));
    }
    return out;
  }

  std::optional<json::value> object(const YAML::Node& node, const std::string& path, int depth) {
    auto out = json::object{};
    for (const auto& pair : node) {
      if (!pair.first.IsScalar())
        return refuse(pair.first, path,
                      is_unquoted_placeholder(node)
                          ? "must be in quotes, such as \"{{question}}\", because { begins a "
                            "mapping in YAML"
                          : "has a key that is not a text");
      const auto name = fmt::format("{}.{}", path, pair.first.Scalar());
      auto value = convert(pair.second, name, depth + 1);
      if (!value)
        return std::nullopt;
      if (!out.emplace(pair.first.Scalar(), std::move(*value)).second)
        return refuse(pair.first, name, "is a duplicate key");
    }
    return out;
  }

  static constexpr auto depth_max = 32;
  static constexpr auto values_max = 100'000;
  fault_list& faults_;
  int values_ = 0;
};

/// Longest key for which a similar known key is searched, because the search is quadratic.
constexpr auto key_bytes_max = std::size_t{100};

/// Returns the node at a dotted path, or its deepest existing ancestor. Keys that contain a dot are
/// not found, so their parent is returned.
YAML::Node deepest_node(const YAML::Node& from, std::string_view path) {
  auto at = YAML::Node{from};
  while (!path.empty()) {
    const auto step = std::string{path.substr(0, path.find('.'))};
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const auto index = at.IsSequence() ? parse_number<std::size_t>(step) : std::nullopt;
    const auto next = index        ? std::as_const(at)[*index]
                      : at.IsMap() ? std::as_const(at)[step]
                                   : YAML::Node{YAML::NodeType::Undefined};
    if (!next.IsDefined())
      break;
    at.reset(next);
  }
  return at;
}

} // namespace

std::size_t line_of(const YAML::Node& node) {
  const auto mark = node.Mark();
  return mark.is_null() ? 0 : static_cast<std::size_t>(mark.line) + 1;
}

bool is_within(std::string_view key, std::string_view above) noexcept {
  return key.starts_with(above) && (key.size() == above.size() || key[above.size()] == '.');
}

bool fault_list::is_overridden(std::string_view path) const {
  return std::any_of(overridden_.begin(), overridden_.end(),
                     [path](std::string_view set) { return is_within(path, set); });
}

void fault_list::add(const YAML::Node& node, std::string path, std::string text) {
  add(line_of(node), std::move(path), std::move(text));
}

void fault_list::add(std::size_t line, std::string path, std::string text) {
  const auto by_option = is_overridden(path);
  faults_.push_back(
      {by_option ? "--set" : file_, by_option ? 0 : line, std::move(path), std::move(text)});
}

std::vector<agent_fault> fault_list::take() && {
  std::stable_sort(faults_.begin(), faults_.end(),
                   [](const auto& a, const auto& b) { return a.line < b.line; });
  return std::move(faults_);
}

std::optional<json::value> to_json(const YAML::Node& node, const std::string& path,
                                   fault_list& faults) {
  return converter{faults}.convert(node, path, 0);
}

fields::fields(YAML::Node node, std::string path, fault_list& faults)
    : node_{node}, line_{line_of(node_)}, path_{std::move(path)}, faults_{faults} {}

fields::fields(std::size_t line, std::string path, fault_list& faults)
    : node_{YAML::NodeType::Map}, line_{line}, path_{std::move(path)}, faults_{faults} {}

std::string fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string{key} : fmt::format("{}.{}", path_, key);
}

void fields::wrong(std::string_view key, std::string text) {
  const auto at = node_.IsMap() ? node_[std::string{key}] : YAML::Node{YAML::NodeType::Undefined};
  faults_.add(at.IsDefined() ? line_of(at) : line_, path_of(key), std::move(text));
}

void fields::refuse(std::string_view key, std::string text) {
  if (!node_.IsMap() || !node_[std::string{key}].IsDefined())
    return;
  reported_.emplace_back(key); // done() does not report the key again
  wrong(key, std::move(text));
}

void fields::missing(std::string_view key) {
  if (node_.IsDefined() && !node_.IsNull() && !node_.IsMap())
    return;
  if (node_.IsMap())
    for (const auto& pair : node_)
      if (pair.first.IsScalar() && is_misspelled(pair.first.Scalar(), key)) {
        const auto& found = reported_.emplace_back(pair.first.Scalar());
        return faults_.add(pair.first, path_of(found),
                           fmt::format("is not a known key; did you mean '{}'?", key));
      }
  faults_.add(line_, path_of(key), "is missing; it is required");
}

bool fields::is_misspelled(const std::string& found, std::string_view wanted) const {
  return found.size() <= key_bytes_max &&
         std::find(known_.begin(), known_.end(), found) == known_.end() &&
         similar_word(found, {std::string{wanted}}).has_value();
}

YAML::Node fields::take(std::string_view key) {
  known_.emplace_back(key);
  if (!node_.IsMap())
    return YAML::Node{YAML::NodeType::Undefined};
  return std::as_const(node_)[std::string{key}];
}

fields& fields::text(std::string_view key, std::string& into) {
  const auto at = take(key);
  if (!at.IsDefined())
    return *this;
  if (at.IsScalar())
    into = at.Scalar();
  else
    faults_.add(at, path_of(key), "must be text");
  return *this;
}

fields& fields::required_text(std::string_view key, std::string& into) {
  const auto at = take(key);
  if (at.IsDefined() && at.IsScalar() && !at.Scalar().empty())
    into = at.Scalar();
  else if (at.IsDefined())
    faults_.add(at, path_of(key), "must be a non-empty text");
  else
    missing(key);
  return *this;
}

fields& fields::flag(std::string_view key, bool& into) {
  const auto at = take(key);
  if (!at.IsDefined())
    return *this;
  const auto word = is_plain(at) ? at.Scalar() : std::string{};
  if (word == "true" || word == "on")
    into = true;
  else if (word == "false" || word == "off")
    into = false;
  else
    faults_.add(at, path_of(key), "must be true or false");
  return *this;
}

fields& fields::real(std::string_view key, double& into, double min, double max) {
  auto value = std::optional<double>{};
  real(key, value, min, max);
  if (value)
    into = *value;
  return *this;
}

fields& fields::real(std::string_view key, std::optional<double>& into, double min, double max) {
  const auto at = take(key);
  if (!at.IsDefined())
    return *this;
  const auto value = is_plain(at) ? parse_number<double>(at.Scalar()) : std::nullopt;
  if (value && *value >= min && *value <= max)
    into = *value;
  else
    faults_.add(at, path_of(key), fmt::format("must be a number from {} to {}", min, max));
  return *this;
}

std::optional<std::int64_t> fields::integer(std::string_view key, std::int64_t min,
                                            std::int64_t max) {
  const auto at = take(key);
  if (!at.IsDefined())
    return std::nullopt;
  const auto value = is_plain(at) ? parse_number<std::int64_t>(at.Scalar()) : std::nullopt;
  if (value && *value >= min && *value <= max)
    return value;
  auto text = max == std::numeric_limits<std::int64_t>::max()
                  ? fmt::format("must be an integer of at least {}", min)
                  : fmt::format("must be an integer from {} to {}", min, max);
  if (at.IsScalar() && !is_plain(at))
    text += ", without quotes";
  faults_.add(at, path_of(key), std::move(text));
  return std::nullopt;
}

fields& fields::texts(std::string_view key, std::vector<std::string>& into, std::size_t min_size) {
  const auto at = take(key);
  auto found = std::vector<std::string>{};
  if (at.IsDefined() && at.IsSequence())
    for (const auto& item : at)
      if (item.IsScalar())
        found.push_back(item.Scalar());
  if (!at.IsDefined() && min_size > 0)
    missing(key);
  else if (at.IsDefined() &&
           (!at.IsSequence() || found.size() != at.size() || found.size() < min_size))
    faults_.add(at, path_of(key),
                min_size > 0 ? "must be a list of texts with at least one item, such as [a, b]"
                             : "must be a list of texts, such as [a, b]");
  else if (at.IsDefined())
    into = std::move(found);
  return *this;
}

fields& fields::object(std::string_view key, json::object& into) {
  const auto at = take(key);
  if (!at.IsDefined())
    return *this;
  if (!at.IsMap())
    faults_.add(at, path_of(key), "must be a mapping");
  else if (auto value = to_json(at, path_of(key), faults_))
    into = std::move(value->as_object());
  return *this;
}

fields& fields::any(std::string_view key, json::value& into) {
  const auto at = take(key);
  if (at.IsDefined())
    if (auto value = to_json(at, path_of(key), faults_))
      into = std::move(*value);
  return *this;
}

void check_schema(const YAML::Node& node, const json::object& schema, std::string path,
                  fault_list& faults) {
  auto fault = argument_schema::find_fault(schema);
  if (!fault)
    return;
  if (!fault->path.empty())
    path += '.' + fault->path;
  faults.add(deepest_node(node, fault->path), std::move(path), std::move(fault->text));
}

fields& fields::schema(std::string_view key, json::object& into) {
  object(key, into);
  const auto at = node_.IsMap() ? std::as_const(node_)[std::string{key}] : YAML::Node{};
  if (at.IsDefined() && at.IsMap())
    check_schema(at, into, path_of(key), faults_);
  return *this;
}

void fields::are_below(std::string_view mapping, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    below_.emplace(key, fmt::format("{}.{}", mapping, key));
}

void fields::done() {
  if (!node_.IsMap()) {
    if (!node_.IsNull())
      faults_.add(line_, path_,
                  fmt::format("must be a mapping; known keys: {}", fmt::join(known_, ", ")));
    return;
  }
  auto seen = std::set<std::string, std::less<>>{};
  for (const auto& pair : node_) {
    const auto key = pair.first.IsScalar() ? pair.first.Scalar() : std::string{"(not a text)"};
    if (!seen.insert(key).second)
      faults_.add(pair.first, path_of(key), "is a duplicate key");
    else if (std::find(known_.begin(), known_.end(), key) == known_.end() &&
             std::find(reported_.begin(), reported_.end(), key) == reported_.end())
      faults_.add(pair.first, path_of(key), unknown_key_text(key));
  }
}

/// Returns the error text for a key that is not known. A key that is a misspelled known key gets a
/// suggestion, and only other keys the list of all keys, which can be long.
std::string fields::unknown_key_text(const std::string& key) const {
  if (const auto found = below_.find(key); found != below_.end())
    return fmt::format("is not a known key; did you mean '{}'?", found->second);
  if (key.size() <= key_bytes_max)
    if (const auto meant = similar_word(key, known_))
      return fmt::format("is not a known key; did you mean '{}'?", *meant);
  return fmt::format("is not a known key; known keys: {}", fmt::join(known_, ", "));
}

} // namespace superstep::detail
