// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process.hpp"

namespace superstep::testing {

/// Checks that the assistant messages, calls and tool results of an output row equal those of its
/// recording (results as numbers within 1 %), and that its last message contains the known answer.
void check_gsm8k_row(const json::object& row, const json::object& recorded);

/// Returns the recordings by key; only those of the first `limit` rows of the input, 0 = all.
[[nodiscard]] rows_by_key gsm8k_recordings(std::size_t limit = 0);

} // namespace superstep::testing
