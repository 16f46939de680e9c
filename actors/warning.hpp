// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace superstep {

/// Writes a line to standard error about a problem that no run reports, because the engine works in
/// spite of it. The text states the problem, its effect and what to do.
void warn(const std::string& text) noexcept;

} // namespace superstep
