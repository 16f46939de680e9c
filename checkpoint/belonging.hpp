// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Whose a checkpoint is: of which run, and below which checkpoint of a parent.
namespace superstep::detail {

/// Whether a checkpoint's metadata, null for none, has one of these as run_id.
inline bool is_of_runs(const json::object* metadata, const std::vector<std::string>& run_ids) {
  const auto* id = metadata != nullptr ? metadata->if_contains("run_id") : nullptr;
  return id != nullptr && id->is_string() &&
         std::ranges::find(run_ids, std::string_view{id->get_string()}) != run_ids.end();
}

/// The metadata in a row; null: none.
inline const json::object* metadata_in(const json::object& row) {
  const auto* said = row.if_contains("m");
  return said != nullptr ? said->if_object() : nullptr;
}

/// Where the subgraph of a namespace hangs: in the parent's namespace, below a checkpoint.
struct ns_owner {
  std::string_view parent;
  std::string_view id; ///< of a second call of one task it ends with a dot and a number
};

/// A subgraph that keeps nothing between calls belongs to one checkpoint of its parent: its
/// namespace ends with `node:task@checkpoint`. That of another, which belongs to none, ends with
/// the node alone, in whose name there is no colon, but all else there may be.
inline std::optional<ns_owner> owner_of(std::string_view ns) {
  const auto bar = ns.rfind('|');
  const auto own = ns.substr(bar == std::string_view::npos ? 0 : bar + 1);
  const auto at = own.rfind('@');
  if (own.find(':') == std::string_view::npos || at == std::string_view::npos)
    return std::nullopt;
  return ns_owner{ns.substr(0, bar == std::string_view::npos ? 0 : bar), own.substr(at + 1)};
}

/// Whether the owner is there, as has(id) tells of the parent's checkpoints.
template <class Has>
bool has_owner(std::string_view id, Has has) {
  if (has(id))
    return true;
  const auto dot = id.rfind('.');
  return dot != std::string_view::npos && has(id.substr(0, dot));
}

} // namespace superstep::detail
