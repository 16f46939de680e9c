// SPDX-License-Identifier: Apache-2.0
// Applies overrides of the command line (`--set key.path=value`) to the YAML document of an agent
// file before its keys are read.
#include "agents/overrides.hpp"

#include "base/utf8.hpp"
#include "models/yaml_error_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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

/// Returns an error text if an override sets an item of a list that does not exist; else an empty
/// text. Elsewhere a key may be a number, for example in model.parameters.logit_bias.
/// @param value the value of the item; empty if the override sets a key below the item
std::string missing_list(const YAML::Node& at, const std::string& above, const std::string& part,
                         const std::string& value) {
  constexpr auto lists = std::array<std::string_view, 6>{"tools",       "early_tools", "argv",
                                                         "allow_hosts", "namespace",   "writable"};
  const auto name = above.substr(above.rfind('.') + 1);
  const auto is_index = part.find_first_not_of("0123456789") == std::string::npos;
  if (!is_index || (at.IsDefined() && !at.IsNull()) ||
      std::find(lists.begin(), lists.end(), name) == lists.end())
    return {};
  return fmt::format("the file has no list '{}'; ", above) +
         (value.empty() ? "add it to the file, or set the whole list"
                        : fmt::format("write --set '{}=[{}]'", above, value));
}

/// Returns the error text for a node that cannot have the child `part`.
std::string cannot_set(const YAML::Node& at, const std::string& above, const std::string& part) {
  if (!at.IsSequence())
    return fmt::format("cannot set '{}': '{}' is not a mapping or list", part, above);
  if (at.size() == 0)
    return fmt::format("cannot set '{}': the list '{}' is empty", part, above);
  return fmt::format("cannot set '{}': the list '{}' has the indexes 0 to {}", part, above,
                     at.size() - 1);
}

/// Returns the first key of a mapping that contains its value, as in `{input:1}`; empty if there is
/// none. YAML needs a space after the colon of a text without quotes.
std::string key_with_value(const YAML::Node& value) {
  if (!value.IsMap() && !value.IsSequence())
    return {};
  for (const auto& member : value) {
    const auto& below = value.IsMap() ? member.second : static_cast<const YAML::Node&>(member);
    if (value.IsMap() && member.first.IsScalar() && below.IsNull() &&
        member.first.Scalar().find(':') != std::string::npos)
      return member.first.Scalar();
    if (auto found = key_with_value(below); !found.empty())
      return found;
  }
  return {};
}

/// Returns an error text for a value or a path that YAML reads in another way than it looks; else
/// an empty text.
/// @param parts the parts of the path
std::string misread(const std::vector<std::string>& parts, const std::string& value,
                    const YAML::Node& read) {
  if (const auto key = key_with_value(read); !key.empty())
    return fmt::format("write a space after the colon of '{}'", key);
  constexpr auto price_parts = std::size_t{3}; // prices, the model and the kind of tokens
  if (parts.front() != "prices" || parts.size() <= price_parts)
    return {};
  const auto model = fmt::format("{}", fmt::join(parts.begin() + 1, parts.end() - 1, "."));
  return fmt::format("a key with a dot cannot be part of a path; write --set 'prices={{{}: "
                     "{{{}: {}, …}}}}'",
                     model, parts.back(), value);
}

} // namespace

void apply_override(YAML::Node& document, const std::string& option, fault_list& faults) {
  const auto equals = option.find('=');
  const auto path = option.substr(0, equals);
  faults.overridden(path);
  const auto parts = split(path);
  for (const auto& part : parts)
    if (part.empty() || equals == std::string::npos) {
      faults.add(0, path,
                 (path.empty() ? '\'' + option + "' " : std::string{}) +
                     "is not an override; write --set key.path=value");
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
    const auto has_mapping = option[equals + 1] == '{';
    faults.add(0, path,
               "the value is not valid YAML: " + models::yaml_error_text(e) +
                   (has_mapping ? "; the form of a mapping is {key: value}, with a space after "
                                  "each colon"
                                : ""));
    return;
  }
  if (auto why = misread(parts, option.substr(equals + 1), value); !why.empty()) {
    faults.add(0, path, std::move(why));
    return;
  }
  // A YAML::Node is a handle to a node of the tree. Assigning to it changes the tree; reset() makes
  // the handle refer to another node.
  auto at = YAML::Node{};
  at.reset(document);
  auto above = std::string{}; // path of `at`
  auto is_new = false;        // whether this override creates `at`
  for (const auto& part : parts) {
    const auto item = &part == &parts.back() ? option.substr(equals + 1) : std::string{};
    if (auto why = missing_list(at, above, part, item); !why.empty()) {
      faults.add(0, path, std::move(why));
      return;
    }
    auto next = child(at, part);
    if (!next) {
      faults.add(0, path, cannot_set(at, above, part));
      return;
    }
    above += (above.empty() ? "" : ".") + part;
    if (!is_new && (!next->IsDefined() || next->IsNull())) {
      is_new = true;
      faults.overridden(above); // errors about its type are errors of the override, not of the file
    }
    at.reset(*next);
  }
  at = value;
}

void refer_to_overrides(const agent_spec& spec, std::vector<agent_fault>& faults,
                        std::size_t first) {
  for (auto i = first; i < faults.size(); ++i) {
    auto& fault = faults[i];
    const auto is_set = [&fault](const auto& key) { return is_within(fault.key, key); };
    if (fault.file == spec.file && std::ranges::any_of(spec.overridden, is_set)) {
      fault.file = "--set";
      fault.line = 0;
    }
  }
}

std::string in_folder(const std::string& folder, const std::string& path) {
  const auto given = std::filesystem::path{path};
  if (path.empty() || given.is_absolute())
    return path;
  return (std::filesystem::path{folder} / given).lexically_normal().string();
}

} // namespace superstep::detail
