// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Derives the journal from the output and the dead letters, if it is damaged, if lines of the
/// output were lost, or if failed rows are to run again.
///
/// Afterwards the output has one line per finished row, and the dead letters have those of failed
/// rows and invalid lines. With `retries_dead`, rows that may succeed in another run
/// (may_succeed_again()) lose both lines and are not done. If any other line is dropped, a copy of
/// the old file is kept.
///
/// The process may die at any point: the journal records the start and the end of a rebuild, and an
/// incomplete rebuild is repeated.
[[nodiscard]] result<void> rebuild(job_files& files, bool retries_dead);

} // namespace superstep::detail
