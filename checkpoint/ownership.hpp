// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Relations between checkpoints that matter when checkpoints are deleted: which run wrote a
// checkpoint, and which checkpoint of a parent graph a subgraph's namespace belongs to.
namespace superstep::detail {

/// Whether one of these runs wrote a checkpoint with this metadata, according to its member
/// `run_id`. The pointer may be null.
inline bool is_of_runs(const json::object* metadata, const std::vector<std::string>& run_ids) {
  const auto* id = metadata != nullptr ? metadata->if_contains("run_id") : nullptr;
  return id != nullptr && id->is_string() &&
         std::ranges::find(run_ids, std::string_view{id->get_string()}) != run_ids.end();
}

/// Returns the metadata in the JSON row of a checkpoint, or null.
inline const json::object* metadata_in(const json::object& row) {
  const auto* metadata = row.if_contains("m");
  return metadata != nullptr ? metadata->if_object() : nullptr;
}

/// Returns the counts of updates since the last stored value, by channel, in the metadata of a
/// checkpoint with DeltaChannels of LangGraph; null if there are none. The values of these channels
/// are in older checkpoints, back to one without counts. The pointer may be null.
inline const json::object* delta_counts(const json::object* metadata) {
  const auto* found =
      metadata != nullptr ? metadata->if_contains("counters_since_delta_snapshot") : nullptr;
  const auto* counts = found != nullptr ? found->if_object() : nullptr;
  return counts != nullptr && !counts->empty() ? counts : nullptr;
}

/// Whether channels of a checkpoint with this metadata have their values in older checkpoints.
inline bool needs_older_checkpoints(const json::object* metadata) {
  return delta_counts(metadata) != nullptr;
}

/// The owner of a subgraph's namespace: the checkpoint of the parent graph during whose super-step
/// the subgraph ran.
struct ns_owner {
  std::string_view parent; ///< namespace of the parent graph
  std::string_view id;     ///< checkpoint of the parent; `id.N` for a later call by the same task
};

/// Returns the owner of a namespace, which is part of the namespace's name. The namespace of a
/// subgraph that starts empty in each call ends with `node:task@checkpoint`. The namespace of a
/// `per_thread` subgraph, whose state lasts as long as the thread, ends with the node name and has
/// no owner. A node name may contain `@` but no colon. LangGraph's namespaces end with `node:uuid`
/// and name no owner either.
inline std::optional<ns_owner> owner_of(std::string_view ns) {
  const auto bar = ns.rfind('|');
  const auto own = ns.substr(bar == std::string_view::npos ? 0 : bar + 1);
  const auto colon = own.find(':');
  const auto at = own.rfind('@');
  if (colon == std::string_view::npos || at == std::string_view::npos || at < colon)
    return std::nullopt;
  return ns_owner{ns.substr(0, bar == std::string_view::npos ? 0 : bar), own.substr(at + 1)};
}

/// Whether the owner with this id exists. For `id.N`, that is the checkpoint `id`.
/// @param has returns whether the parent's namespace has a checkpoint with a given id
template <class Has>
bool has_owner(std::string_view id, Has has) {
  if (has(id))
    return true;
  const auto dot = id.rfind('.');
  return dot != std::string_view::npos && has(id.substr(0, dot));
}

} // namespace superstep::detail
