// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Brings the files of an interrupted job into a consistent state.
///
/// A row whose complete output line was written before a crash has finished, even if the journal
/// does not mention it. Running the row again would repeat its model and tool calls. So the line is
/// kept and recorded in the journal now. Everything after the last such line is cut off.
///
/// A damaged journal is rebuilt from the output (rebuild.hpp). With batch_options::force, the
/// journal is also rebuilt if lines of the output are missing; otherwise that is an error. With
/// batch_options::retry_dead, failed rows of the input that may succeed in another run become
/// unfinished. Those of an earlier input keep their lines, because they would not run.
/// @param find finds the finished rows that the input has
[[nodiscard]] result<void> recover(job_files& files, const batch_options& options,
                                   const row_finder& find);

} // namespace superstep::detail
