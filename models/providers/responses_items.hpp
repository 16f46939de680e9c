// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

namespace superstep::providers {

/// Converts the standard blocks of an answer back to the items they came from. Reasoning that was
/// split into several blocks is joined again.
[[nodiscard]] json::array responses_blocks(const json::array& standard, const message& m);

/// Converts an annotation for use in a block. The `index` of a file citation is renamed to
/// `file_index`, because pieces of a stream are merged by `index`, and two citations may have the
/// same position.
[[nodiscard]] json::object annotation_of(json::object given);
/// Reverses annotation_of().
[[nodiscard]] json::object own_annotation(json::object annotation);

} // namespace superstep::providers
