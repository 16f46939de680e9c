// SPDX-License-Identifier: Apache-2.0
// The functions of row_reader that return checkpoints as JSON. They do not need the graph that
// wrote the checkpoints. The command `superstep threads` calls them through checkpointer::show()
// and history().
#include "ownership.hpp"
#include "row_reader.hpp"

#include <utility>

namespace superstep::detail {

namespace {

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

json::object row_reader::describe(const thread_key& key, const stored_checkpoint& point) {
  const auto& names = layout(point.layout).names;
  auto next = json::array{}; // what runs next: START for a new input, Sends, then triggered nodes
  if (point.row.contains("h"))
    next.emplace_back("__start__");
  add_nodes(next, point.row, "s", names);
  add_nodes(next, point.row, "t", names);
  auto out = json::object{{"thread", key.thread_id},
                          {"ns", key.ns},
                          {"id", point.header.id},
                          {"parent", point.header.parent},
                          {"source", to_text(point.header.source)},
                          {"step", point.header.step},
                          {"graph", names.graph},
                          {"next", std::move(next)}};
  if (const auto* metadata = metadata_in(point.row))
    out["metadata"] = *metadata;
  return out;
}

std::optional<json::object> row_reader::show(const thread_key& key, std::string_view id) {
  const auto thread = thread_no(key);
  const auto wanted = id.empty() ? head(key).id : std::string{id};
  if (thread == 0 || wanted.empty() || chain_of(thread, wanted, {}, key).empty())
    return std::nullopt;
  const auto point = whole_row(key, wanted);
  auto out = describe(key, point);
  auto values = json::object{};
  for (const auto& [name, held] : point.row.at("c").as_object())
    if (held.is_array() && held.get_array().size() == 1)
      values[name] = held.get_array()[0];
  out["values"] = std::move(values);
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
  for (const auto& id : ids_of(thread, query, key))
    if (const auto row = row_at(thread, id, key)) // nullopt if another process has deleted it
      out.push_back(describe(key, *row));
  return out;
}

} // namespace superstep::detail
