// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_files.hpp"

namespace superstep::detail {

/// Whether a file is the output of OpenAI's Batch API or of vLLM's run-batch: it has at least one
/// line, and each line is an object with `custom_id` and `response`. An incomplete last line is
/// ignored. Fails if the file cannot be read.
[[nodiscard]] result<bool> is_batch_output(const std::string& path);

/// Makes the output of another program the output of a new job, so that --retry-dead can run its
/// failed rows. A copy of the file is kept. Afterwards the journal has a header and the start of a
/// rebuild, and recover() finds out which rows have an answer.
/// @pre is_batch_output() is true for the job's output, and the journal is open and empty
[[nodiscard]] result<void> adopt_output(job_files& files, const job_header& wanted);

} // namespace superstep::detail
