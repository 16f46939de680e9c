// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"

namespace superstep::testing {

/// The assistant messages, calls and tool results of an output row are those of its recording
/// (results as numbers within 1 %), and its last message holds the known answer.
void check_gsm8k_row(const json::object& row, const json::object& recorded);

/// The recordings by key; only those that the first `limit` rows of the input need, 0 = all.
[[nodiscard]] rows_by_key gsm8k_recordings(std::size_t limit = 0);

} // namespace superstep::testing
