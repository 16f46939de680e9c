// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Checks of namespaces and items, and the selection of namespaces, for memory_store and
// sqlite_store. The caches use add_saturated() as well.
namespace superstep::detail {

/// Returns a namespace as a JSON list, for error texts.
[[nodiscard]] std::string shown(const store_namespace& ns);
/// Throws std::invalid_argument if a label of the namespace is invalid: it is empty, or contains a
/// period or a zero byte.
void check_labels(const store_namespace& ns);
/// Throws std::invalid_argument for a namespace that cannot be written to: it has an invalid label,
/// is empty, or starts with the reserved label "langgraph".
void check_writable(const store_namespace& ns);

/// Throws std::invalid_argument for an item that no store accepts: text that is not UTF-8, more
/// than 1,000 nested lists and objects, or a negative lifetime. The error text names the item.
void check_item(const store_namespace& ns, std::string_view key, const json::object& value,
                std::chrono::milliseconds ttl);
/// Returns `now + more`, or the largest value if the sum would overflow: users may specify any
/// lifetime.
[[nodiscard]] std::int64_t add_saturated(std::int64_t now, std::int64_t more) noexcept;
template <class Clock>
[[nodiscard]] std::chrono::time_point<Clock> add_saturated(std::chrono::time_point<Clock> now,
                                                           std::chrono::milliseconds more) {
  using moment = std::chrono::time_point<Clock>;
  return more > std::chrono::floor<std::chrono::milliseconds>(moment::max() - now) ? moment::max()
                                                                                   : now + more;
}

/// Returns the namespaces that the query selects, shortened to its maximum depth, sorted, and
/// without duplicates.
[[nodiscard]] std::vector<store_namespace> select_namespaces(std::vector<store_namespace> all,
                                                             const namespace_query& query);

} // namespace superstep::detail
