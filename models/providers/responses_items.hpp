// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

namespace superstep::providers {

/// Converts the standard blocks of an answer back to the items of the Responses API. Reasoning that
/// was divided into several blocks becomes one item.
[[nodiscard]] json::array responses_blocks(const json::array& standard, const message& m);

/// Converts an annotation to the form for a block. Renames the `index` of a file citation to
/// `file_index`. Otherwise the merging of pieces, which combines elements with the same `index`,
/// would combine different citations.
[[nodiscard]] json::object annotation_of(json::object given);
/// Reverses annotation_of().
[[nodiscard]] json::object own_annotation(json::object annotation);

} // namespace superstep::providers
