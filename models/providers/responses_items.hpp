// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

namespace superstep::providers {

/// The blocks of an answer in the standard form as the items they came from: reasoning that was
/// taken apart is put together, calls and what the provider ran are items again.
[[nodiscard]] json::array responses_blocks(const json::array& standard, const message& m);

/// An annotation of an answer as a block holds it. The place of a file citation has another name
/// there: pieces of a stream meet by `index`, and two citations of one place are not one.
[[nodiscard]] json::object annotation_of(json::object given);
/// The same as the API had it.
[[nodiscard]] json::object own_annotation(json::object annotation);

} // namespace superstep::providers
