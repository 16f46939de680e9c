// SPDX-License-Identifier: Apache-2.0
#include "kept_calls.hpp"

#include "blocks/block_parts.hpp"

#include <string>
#include <utility>

namespace superstep {

namespace {

using namespace blocks;

void add_call(message& to, const json::object& call, const json::object& function) {
  auto id = std::string{text_in(call, "id")};
  auto name = std::string{text_in(function, "name")};
  const auto text = text_in(function, "arguments");
  auto args = parse_json(text);
  if (args && args->is_object())
    to.tool_calls.push_back({std::move(id), std::move(name), std::move(args->get_object())});
  else
    to.invalid_tool_calls.push_back({std::move(id), std::move(name), std::string{text}, {}});
}

} // namespace

void read_kept_calls(message& m) {
  const auto* kept = m.additional_kwargs.if_contains("tool_calls");
  const auto* list = kept ? kept->if_array() : nullptr;
  if (!list || !m.tool_calls.empty() || !m.invalid_tool_calls.empty())
    return;
  for (const auto& item : *list) {
    const auto* call = item.if_object();
    if (const auto* function = call ? object_in(*call, "function") : nullptr)
      add_call(m, *call, *function);
  }
}

} // namespace superstep
