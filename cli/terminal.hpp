// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/batch/batch.hpp>

namespace superstep::cli {

/// Whether standard error is a terminal that can redraw a line. False if it is not a terminal, if
/// TERM is `dumb` or not set, or if NO_COLOR is set. Reads the environment, so it is not safe while
/// another thread calls setenv().
[[nodiscard]] bool has_redrawable_terminal();

/// Returns the terminal at standard error. Installs a handler of SIGWINCH.
[[nodiscard]] progress_terminal terminal_of_standard_error();

} // namespace superstep::cli
