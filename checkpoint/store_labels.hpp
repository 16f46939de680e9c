// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// Throws std::invalid_argument for labels that no namespace has, in the reference's words.
void check_labels(const store_namespace& ns);
/// The same for a namespace that is written to: not empty, and not of the reserved root.
void check_target(const store_namespace& ns);

/// What can be put into every store: text that is UTF-8, and no deeper than can be read again; to
/// be there for some time. Throws std::invalid_argument, naming the item.
void check_item(const store_namespace& ns, std::string_view key, const json::object& value,
                std::chrono::milliseconds ttl);
/// A time and what is added to it, or the last there is.
[[nodiscard]] std::int64_t later_by(std::int64_t now, std::int64_t more) noexcept;
template <class Clock>
[[nodiscard]] std::chrono::time_point<Clock> later_by(std::chrono::time_point<Clock> now,
                                                      std::chrono::milliseconds more) {
  using moment = std::chrono::time_point<Clock>;
  return more > std::chrono::floor<std::chrono::milliseconds>(moment::max() - now) ? moment::max()
                                                                                   : now + more;
}

/// What a listing shows of these namespaces.
[[nodiscard]] std::vector<store_namespace> listed(std::vector<store_namespace> all,
                                                  const namespace_query& query);

} // namespace superstep::detail
