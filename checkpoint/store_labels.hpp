// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/checkpoint/store.hpp>

namespace superstep::detail {

/// Throws std::invalid_argument for labels that no namespace has.
void check_labels(const store_namespace& ns);
/// The same for a namespace that is written to, which is not empty.
void check_target(const store_namespace& ns);

} // namespace superstep::detail
