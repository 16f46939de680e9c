// SPDX-License-Identifier: Apache-2.0
#include "agents/overrides.hpp"

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

// The child of that name, made when a mapping lacks it; nothing when `at` can have no such child.
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
      faults.add(0, path, "is no override; write --set key.path=value");
      return;
    }
  auto value = YAML::Node{};
  try {
    value = YAML::Load(option.substr(equals + 1));
  } catch (const YAML::Exception& e) {
    faults.add(0, path, "the value is no YAML: " + e.msg);
    return;
  }
  // Nodes are handles into one tree, and assigning to one replaces its content; reset() moves a
  // handle on.
  auto at = YAML::Node{};
  at.reset(document);
  for (const auto& part : parts) {
    auto next = child(at, part);
    if (!next) {
      faults.add(0, path,
                 fmt::format("there is no '{}' to set: what stands before it is {}", part,
                             at.IsSequence() ? fmt::format("a list of {}", at.size())
                                             : std::string{"no mapping"}));
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
