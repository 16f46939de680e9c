// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::cli {

/// Makes std::terminate() end the process with exit_code::shortage if memory, threads or another
/// resource of the machine ran out where the error cannot be handled. The files of a job are then
/// in the same state as after a kill, so the job can be resumed. For any other error, the previous
/// terminate handler is called. Call this function only once.
void end_with_shortage_on_terminate();

/// Specifies whether the process runs a job that can be resumed, for the text of that error. No by
/// default.
void set_resumable(bool is_job) noexcept;

} // namespace superstep::cli
