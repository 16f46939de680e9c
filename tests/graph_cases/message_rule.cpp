// SPDX-License-Identifier: Apache-2.0
#include "graph_cases/message_rule.hpp"

#include <superstep/messages/message_json.hpp>

#include <atomic>
#include <stdexcept>

namespace superstep::graph_cases {

namespace {

/// Ids that superstep made begin so; the traces show them as "<auto>".
constexpr auto made_id = "\x01made";

message_list read(const json::value& v) {
  auto list = messages_from_json(v);
  if (!list)
    throw std::invalid_argument{list.error().text};
  return *list;
}

/// A message as the traces have it.
json::value shown(const message& m) {
  const auto whole = to_json(m);
  auto out = json::object{};
  for (const auto* name : {"type", "content", "id", "name", "tool_call_id", "status"})
    if (const auto* v = whole.if_contains(name))
      out[name] = *v;
  if (const auto* calls = whole.if_contains("tool_calls")) {
    auto list = json::array{};
    for (const auto& call : calls->as_array())
      list.push_back(json::object{
          {"name", call.at("name")}, {"args", call.at("args")}, {"id", call.at("id")}});
    out["tool_calls"] = std::move(list);
  }
  return out;
}

} // namespace

void add_json_messages(json::value& into, json::value&& more) {
  static auto count = std::atomic<std::uint64_t>{0};
  auto ids = id_source{made_id + std::to_string(count++)};
  ids.begin_step(0);
  auto all = read(into);
  add_messages{}(all, read(more), ids);
  auto out = json::array{};
  for (const auto& m : all)
    out.push_back(shown(m));
  into = std::move(out);
}

} // namespace superstep::graph_cases
