// SPDX-License-Identifier: Apache-2.0
// Filters a conversation by name, id, type and tool call.
#include <superstep/messages/history.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace superstep {

namespace {

template <class T>
bool is_among(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

bool is_excluded(const message& m, const message_filter& f) {
  const auto calls =
      (m.type == message_type::ai && !m.tool_calls.empty()) || m.type == message_type::tool;
  return is_among(f.exclude_names, m.name) || is_among(f.exclude_types, m.type) ||
         is_among(f.exclude_ids, m.id) || (f.exclude_all_calls && calls) ||
         (m.type == message_type::tool && is_among(f.exclude_calls, m.tool_call_id));
}

bool is_included(const message& m, const message_filter& f) {
  if (f.include_names.empty() && f.include_types.empty() && f.include_ids.empty())
    return true;
  return is_among(f.include_names, m.name) || is_among(f.include_types, m.type) ||
         is_among(f.include_ids, m.id);
}

/// Whether a content block belongs to one of the calls. Anthropic's content repeats each call as a
/// tool_use block.
bool is_block_of(const json::value& block, const std::vector<std::string>& calls) {
  const auto* object = block.if_object();
  const auto* type = object ? object->if_contains("type") : nullptr;
  const auto* id = object ? object->if_contains("id") : nullptr;
  return type && *type == "tool_use" && id && id->is_string() &&
         is_among(calls, std::string{id->get_string()});
}

/// Returns the message without the calls; nullptr if the message then has no calls.
message_ptr without_calls(message_ptr m, const std::vector<std::string>& calls) {
  if (calls.empty() || m->type != message_type::ai || m->tool_calls.empty())
    return m;
  auto rest = *m;
  std::erase_if(rest.tool_calls, [&](const tool_call& c) { return is_among(calls, c.id); });
  if (rest.tool_calls.empty())
    return nullptr;
  if (rest.blocks) {
    auto blocks = json::array{};
    for (auto& block : *rest.blocks)
      if (!is_block_of(block, calls))
        blocks.push_back(std::move(block));
    rest.blocks = std::move(blocks);
  }
  return std::make_shared<const message>(std::move(rest));
}

} // namespace

message_list filter_messages(const message_list& messages, const message_filter& filter) {
  auto out = message_list{};
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    if (is_excluded(messages[i], filter))
      continue;
    auto m = without_calls(messages.at_ptr(i), filter.exclude_calls);
    if (m && is_included(*m, filter))
      out.push_back(std::move(m));
  }
  return out;
}

} // namespace superstep
