// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/validation_node.hpp>

namespace superstep::conformance {

/// Builds the validation node that a case describes.
[[nodiscard]] validation_node make_validation_node(const json::object& node);

} // namespace superstep::conformance
