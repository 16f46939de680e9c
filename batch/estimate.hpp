// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "row_selection.hpp"

#include <superstep/batch/batch.hpp>

#include <functional>

namespace superstep::detail {

/// The content of an input, as far as it is known before a row runs.
struct input_estimate {
  row_numbers rows;            ///< as in input_facts
  std::uint64_t runs = 0;      ///< wanted runs without invalid lines
  std::int64_t tokens = 0;     ///< sum over these runs
  std::int64_t tokens_max = 0; ///< largest number of tokens of a run
};

/// Checks all lines of an input as run_batch() does, and adds up the tokens of the rows that would
/// run. Starts no row, and leaves no files.
/// @param options the options of the job; `output` is ignored
/// @param tokens_of returns the number of tokens of a row
[[nodiscard]] result<input_estimate>
estimate_input(const batch_options& options,
               const std::function<std::int64_t(const row_request&)>& tokens_of,
               const stop_request& stop);

} // namespace superstep::detail
