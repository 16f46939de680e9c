// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Brings the files of an interrupted job into the state that the journal describes, or a later
/// one. A row whose complete output line was written but not journaled has finished, and running it
/// again would repeat its calls. So its line is kept and journaled now. Everything after it is cut.
///
/// A damaged journal is derived from the output; with batch_options::force so is one whose output
/// has lost lines. With batch_options::retry_dead, failed rows that may succeed in another run are
/// not done afterwards.
[[nodiscard]] result<void> recover(job_files& files, const batch_options& options);

} // namespace superstep::detail
