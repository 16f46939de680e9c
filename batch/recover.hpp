// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Brings the files of an interrupted job back to where the journal stands, or further: a row whose
/// complete output line was written but not yet journaled has finished, and running it again would
/// repeat its calls, so its line is kept and journaled now. All that follows is cut.
[[nodiscard]] result<void> recover(job_files& files);

} // namespace superstep::detail
