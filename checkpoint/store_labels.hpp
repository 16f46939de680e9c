// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

#include <vector>

namespace superstep::detail {

/// Throws std::invalid_argument for labels that no namespace has, in the reference's words.
void check_labels(const store_namespace& ns);
/// The same for a namespace that is written to: not empty, and not of the reserved root.
void check_target(const store_namespace& ns);

/// What a listing shows of these namespaces.
[[nodiscard]] std::vector<store_namespace> listed(std::vector<store_namespace> all,
                                                  const namespace_query& query);

} // namespace superstep::detail
