// SPDX-License-Identifier: Apache-2.0
// Tool calls that are stored only in additional_kwargs.tool_calls, in the chat-completions form.
// Messages saved by older versions of langchain-core contain them. Used by message_reader.cpp and
// chunk_json.cpp.
#include "kwargs_calls.hpp"

#include "blocks/block_parts.hpp"

#include <string>
#include <utility>

namespace superstep {

namespace {

using namespace blocks;

/// Whether arguments mean "no arguments": models call a tool without parameters with `null` or
/// `[]`.
bool means_none(const json::value& args) {
  const auto* list = args.if_array();
  return args.is_null() || args == "" || (list && list->empty());
}

void add_call(message& to, const json::object& call, const json::object& function) {
  auto id = std::string{text_in(call, "id")};
  auto name = std::string{text_in(function, "name")};
  const auto text = text_in(function, "arguments");
  auto args = parse_json(text);
  if (args && args->is_object())
    to.tool_calls.push_back({std::move(id), std::move(name), std::move(args->get_object())});
  else if (args && means_none(*args))
    to.tool_calls.push_back({std::move(id), std::move(name), {}});
  else
    to.invalid_tool_calls.push_back({std::move(id), std::move(name), std::string{text}, {}});
}

} // namespace

void read_kwargs_calls(message& m) {
  const auto* kept = m.additional_kwargs.if_contains("tool_calls");
  const auto* list = kept ? kept->if_array() : nullptr;
  // If the message itself has calls, those in additional_kwargs are duplicates.
  if (!list || !m.tool_calls.empty() || !m.invalid_tool_calls.empty())
    return;
  for (const auto& item : *list) {
    const auto* call = item.if_object();
    if (const auto* function = call ? object_in(*call, "function") : nullptr)
      add_call(m, *call, *function);
  }
}

std::vector<tool_call_chunk> chunks_of_kwargs_calls(const json::object& kwargs) {
  const auto text = [](const json::object& from, std::string_view key) {
    const auto* value = member(from, key);
    return value && value->is_string() ? std::optional{std::string{value->get_string()}}
                                       : std::nullopt;
  };
  auto out = std::vector<tool_call_chunk>{};
  const auto* kept = kwargs.if_contains("tool_calls");
  const auto* list = kept ? kept->if_array() : nullptr;
  for (auto i = std::size_t{0}; list && i < list->size(); ++i) {
    const auto* call = (*list)[i].if_object();
    const auto* function = call ? object_in(*call, "function") : nullptr;
    if (!function || function->empty())
      continue;
    const auto* index = call->if_contains("index");
    out.push_back({text(*function, "name"), text(*function, "arguments"), text(*call, "id"),
                   index ? *index : json::value{}});
  }
  return out;
}

} // namespace superstep
