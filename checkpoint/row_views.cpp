// SPDX-License-Identifier: Apache-2.0
// Converts checkpoints to the JSON that checkpointer::show() and history() return. It does not need
// the graph that wrote the checkpoints. The command `superstep threads` prints the result.
#include "row_views.hpp"

#include "ownership.hpp"
#include "row_reader.hpp"

#include <utility>

namespace superstep::detail {

namespace {

constexpr auto start_node = "__start__";

/// Appends the names of the nodes in the list `key` of a row. Each element of the list is a node's
/// index in the layout, or an array that starts with such an index.
void add_nodes(json::array& to, const json::object& row, const char* key,
               const stored_layout& layout) {
  const auto* list = row.if_contains(key);
  if (list == nullptr || !list->is_array())
    return;
  for (const auto& item : list->get_array()) {
    const auto& number = item.is_array() && !item.get_array().empty() ? item.get_array()[0] : item;
    if (number.is_int64() && number.get_int64() >= 0 &&
        static_cast<std::size_t>(number.get_int64()) < layout.nodes.size())
      to.emplace_back(layout.nodes[static_cast<std::size_t>(number.get_int64())].name);
  }
}

} // namespace

json::array next_nodes(const json::object& row, const stored_layout& layout) {
  auto out = json::array{};
  if (row.contains("h"))
    out.emplace_back(start_node);
  add_nodes(out, row, "s", layout);
  add_nodes(out, row, "t", layout);
  return out;
}

json::array next_nodes(const checkpoint& point) {
  auto out = json::array{};
  if (point.where.input)
    out.emplace_back(start_node);
  for (const auto& s : point.where.sends)
    out.emplace_back(point.layout->nodes[s.node].name);
  for (const auto& t : point.where.triggered)
    out.emplace_back(point.layout->nodes[t.node].name);
  return out;
}

json::object describe(const thread_key& key, const checkpoint_header& header,
                      std::string_view graph, json::array next, const json::object* metadata) {
  auto out = json::object{{"thread", key.thread_id},
                          {"ns", key.ns},
                          {"id", header.id},
                          {"parent", header.parent},
                          {"source", to_text(header.source)},
                          {"step", header.step},
                          {"graph", graph},
                          {"next", std::move(next)}};
  if (metadata != nullptr && !metadata->empty()) // a row contains no empty metadata
    out["metadata"] = *metadata;
  return out;
}

json::object values_in(const json::object& row) {
  auto out = json::object{};
  if (const auto* channels = row.if_contains("c"); channels != nullptr && channels->is_object())
    for (const auto& [name, held] : channels->get_object())
      if (held.is_array() && held.get_array().size() == 1)
        out[name] = held.get_array()[0];
  return out;
}

json::object row_reader::describe(const thread_key& key, const stored_checkpoint& point) {
  const auto& names = layout(point.layout).names;
  return detail::describe(key, point.header, names.graph, next_nodes(point.row, names),
                          metadata_in(point.row));
}

std::optional<json::object> row_reader::show(const thread_key& key, std::string_view id) {
  const auto thread = thread_no(key);
  const auto wanted = id.empty() ? head(key).id : std::string{id};
  if (thread == 0 || wanted.empty() || chain_of(thread, wanted, {}, key).empty())
    return std::nullopt;
  const auto point = whole_row(key, wanted);
  auto out = describe(key, point);
  out["values"] = values_in(point.row);
  auto tasks = json::array{};
  for (auto& t : tasks_of(thread, wanted, key))
    tasks.push_back(std::move(t.row));
  out["tasks"] = std::move(tasks);
  return out;
}

std::vector<json::object> row_reader::history(const thread_key& key,
                                              const checkpoint_query& query) {
  auto out = std::vector<json::object>{};
  const auto thread = thread_no(key);
  if (thread == 0)
    return out;
  for (const auto& id : ids_of(thread, query, key)) {
    try {
      if (const auto row = row_at(thread, id, key)) // nullopt if another process has deleted it
        out.push_back(describe(key, *row));
    } catch (const checkpoint_error& e) {
      if (e.code() != checkpoint_errc::corrupt)
        throw;
      out.push_back({{"thread", key.thread_id}, {"ns", key.ns}, {"id", id}, {"error", e.what()}});
    }
  }
  return out;
}

} // namespace superstep::detail
