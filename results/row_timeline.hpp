// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <string>

namespace superstep::results {

/// Returns the model and tool calls of a row in an event log (`superstep run --events`), as text:
/// time, start, duration, status, attempts and tokens of each call, the failed attempts, and the
/// answers that were rejected. The calls are grouped by the starts of the row. Reads the log in
/// constant memory and returns at most 10,000 calls. Empty if the log has no call of the row. No
/// trailing newline.
[[nodiscard]] result<std::string> row_timeline(const std::string& events, const std::string& key);

} // namespace superstep::results
