// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/batch/batch.hpp>

namespace superstep::cli {

/// Returns the stop request of the process, which Ctrl-C and SIGTERM raise after
/// install_interrupts().
[[nodiscard]] stop_request& interrupts();

/// Installs the handlers of SIGINT and SIGTERM, and ignores SIGPIPE: a closed pipe is reported as a
/// write error.
void install_interrupts();

} // namespace superstep::cli
