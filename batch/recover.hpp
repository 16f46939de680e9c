// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Brings the files of an interrupted job back to where the journal stands, or further: a row whose
/// complete output line was written but not yet journaled has finished, and running it again would
/// repeat its calls, so its line is kept and journaled now. All that follows is cut.
///
/// A journal that is damaged is derived from the output again; with batch_options::force so is one
/// whose output has lost lines. With batch_options::retry_dead, failed rows that may succeed when
/// they run again are not done afterwards.
[[nodiscard]] result<void> recover(job_files& files, const batch_options& options);

} // namespace superstep::detail
