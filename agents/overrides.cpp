// SPDX-License-Identifier: Apache-2.0
// Applies overrides of the command line (`--set key.path=value`) to the YAML document of an agent
// file before its keys are read.
#include "agents/overrides.hpp"

#include "base/utf8.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <utility>

namespace superstep::detail {

namespace {

std::vector<std::string> split(std::string_view path) {
  auto parts = std::vector<std::string>{};
  for (;;) {
    const auto dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos)
      return parts;
    path.remove_prefix(dot + 1);
  }
}

/// Returns the child with this name, and creates it if `at` is a mapping without it. Returns
/// nullopt if `at` cannot have such a child.
std::optional<YAML::Node> child(YAML::Node at, const std::string& name) {
  if (at.IsSequence()) {
    auto index = std::size_t{0};
    const auto* end = name.data() + name.size();
    const auto [stop, code] = std::from_chars(name.data(), end, index);
    if (code != std::errc{} || stop != end || index >= at.size())
      return std::nullopt;
    return at[index];
  }
  if (at.IsMap() || at.IsNull() || !at.IsDefined())
    return at[name];
  return std::nullopt;
}

} // namespace

void apply_override(YAML::Node& document, const std::string& option, fault_list& faults) {
  const auto equals = option.find('=');
  const auto path = option.substr(0, equals);
  faults.overridden(path);
  const auto parts = split(path);
  for (const auto& part : parts)
    if (part.empty() || equals == std::string::npos) {
      faults.add(0, path, "is not an override; write --set key.path=value");
      return;
    }
  if (const auto fault = find_yaml_encoding_fault(option)) {
    faults.add(0, path, "the override " + fault->text);
    return;
  }
  auto value = YAML::Node{};
  try {
    value = YAML::Load(option.substr(equals + 1));
  } catch (const YAML::Exception& e) {
    faults.add(0, path, "the value is not valid YAML: " + text_of(e));
    return;
  }
  // A YAML::Node is a handle to a node of the tree. Assigning to it changes the tree; reset() makes
  // the handle refer to another node.
  auto at = YAML::Node{};
  at.reset(document);
  for (const auto& part : parts) {
    auto next = child(at, part);
    if (!next) {
      faults.add(0, path,
                 fmt::format("cannot set '{}': its parent is {}", part,
                             at.IsSequence() ? fmt::format("a list of {} items", at.size())
                                             : std::string{"not a mapping"}));
      return;
    }
    at.reset(*next);
  }
  at = value;
}

std::string in_folder(const std::string& folder, const std::string& path) {
  const auto given = std::filesystem::path{path};
  if (path.empty() || given.is_absolute())
    return path;
  return (std::filesystem::path{folder} / given).lexically_normal().string();
}

} // namespace superstep::detail
