// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep::cli {

/// Makes std::terminate() end the process with exit_code::shortage if memory, threads or another
/// resource of the machine ran out where the error cannot be handled. Files are as after a kill, so
/// a job can be resumed. Other causes are passed to the previous handler. To be called once.
void end_with_shortage_on_terminate();

} // namespace superstep::cli
