// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Relations between checkpoints that deletion must respect: the run that made a checkpoint, and the
// parent checkpoint that a subgraph's namespace belongs to. Used by in_memory_checkpointer and by
// sqlite_maintenance.cpp.
namespace superstep::detail {

/// Whether a checkpoint's metadata (may be null) contains one of these as `run_id`.
inline bool is_of_runs(const json::object* metadata, const std::vector<std::string>& run_ids) {
  const auto* id = metadata != nullptr ? metadata->if_contains("run_id") : nullptr;
  return id != nullptr && id->is_string() &&
         std::ranges::find(run_ids, std::string_view{id->get_string()}) != run_ids.end();
}

/// Returns the metadata member of a row, or null.
inline const json::object* metadata_in(const json::object& row) {
  const auto* metadata = row.if_contains("m");
  return metadata != nullptr ? metadata->if_object() : nullptr;
}

/// The checkpoint that a subgraph's namespace belongs to.
struct ns_owner {
  std::string_view parent; ///< namespace of the parent graph
  std::string_view id; ///< checkpoint of the parent; `id.N` if the task called the graph repeatedly
};

/// Parses the owner from a namespace. A subgraph without state between calls belongs to one
/// checkpoint of its parent, and its namespace ends with `node:task@checkpoint`. The namespace of a
/// `per_thread` subgraph ends with the node name and has no owner. Node names may contain '@' but
/// no colon, so the colon distinguishes the two forms.
inline std::optional<ns_owner> owner_of(std::string_view ns) {
  const auto bar = ns.rfind('|');
  const auto own = ns.substr(bar == std::string_view::npos ? 0 : bar + 1);
  const auto at = own.rfind('@');
  if (own.find(':') == std::string_view::npos || at == std::string_view::npos)
    return std::nullopt;
  return ns_owner{ns.substr(0, bar == std::string_view::npos ? 0 : bar), own.substr(at + 1)};
}

/// Whether the owner exists.
/// @param has returns whether the parent namespace has a checkpoint with the given id
template <class Has>
bool has_owner(std::string_view id, Has has) {
  if (has(id))
    return true;
  const auto dot = id.rfind('.');
  return dot != std::string_view::npos && has(id.substr(0, dot));
}

} // namespace superstep::detail
