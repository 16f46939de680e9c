// SPDX-License-Identifier: Apache-2.0
// Reads the key `review` of agent files; see agent_file.cpp.
#include "agents/review_fields.hpp"

#include <fmt/format.h>

#include <utility>

namespace superstep::detail {

namespace {

constexpr auto choices = "accept, edit, respond, ignore";
constexpr auto everything = human_interrupt_config{true, true, true, true};

bool allow(std::string_view choice, human_interrupt_config& into) {
  auto* const flag = choice == "accept"    ? &into.allow_accept
                     : choice == "edit"    ? &into.allow_edit
                     : choice == "respond" ? &into.allow_respond
                     : choice == "ignore"  ? &into.allow_ignore
                                           : nullptr;
  if (flag != nullptr)
    *flag = true;
  return flag != nullptr;
}

human_interrupt_config read_choices(const YAML::Node& node, const std::string& key,
                                    fault_list& faults) {
  auto out = human_interrupt_config{};
  if (node.IsScalar() && node.Scalar() == "all")
    return everything;
  if (!node.IsSequence() || node.size() == 0) {
    faults.add(node, key, fmt::format("must be all, or a list of: {}", choices));
    return out;
  }
  auto index = std::size_t{0};
  for (const auto& item : node) {
    const auto at = fmt::format("{}.{}", key, index++);
    if (!item.IsScalar())
      faults.add(item, at, fmt::format("must be one of: {}", choices));
    else if (!allow(item.Scalar(), out))
      faults.add(item, at, fmt::format("'{}' is not one of: {}", item.Scalar(), choices));
  }
  return out;
}

} // namespace

void read_reviews(fields& root, agent_spec& into) {
  const auto node = root.take("review");
  if (!node.IsDefined() || node.IsNull())
    return;
  const auto add = [&](const YAML::Node& name, human_interrupt_config config) {
    for (const auto& known : into.reviews)
      if (known.tool == name.Scalar())
        return root.faults().add(name, known.key, "is listed twice");
    into.reviews.push_back(
        {name.Scalar(), config, line_of(name), fmt::format("review.{}", name.Scalar())});
  };
  if (node.IsSequence()) {
    auto index = std::size_t{0};
    for (const auto& item : node) {
      const auto key = fmt::format("review.{}", index++);
      if (item.IsScalar())
        add(item, everything);
      else
        root.faults().add(item, key, "must be the name of a tool");
    }
    return;
  }
  if (!node.IsMap())
    return root.wrong("review", "must be a list of tool names, or a mapping of names to allowed "
                                "answers: {book: [accept, edit]}");
  for (const auto& pair : node) {
    const auto key = fmt::format("review.{}", pair.first.Scalar());
    add(pair.first, read_choices(pair.second, key, root.faults()));
  }
}

} // namespace superstep::detail
