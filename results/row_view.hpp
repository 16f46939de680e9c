// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <optional>
#include <string>

namespace superstep::results {

/// Finds the row with an id in an output file, in constant memory. If several lines have the id,
/// returns the last one. nullopt if there is none.
[[nodiscard]] result<std::optional<json::object>> find_row(const std::string& path,
                                                           const std::string& key);

/// Returns a row as text for a terminal: its numbers, its conversation by super-step, and its
/// error. No trailing newline.
[[nodiscard]] std::string row_text(const json::object& line);

/// Returns the model and tool calls of a row in an event log (`superstep run --events`), as text:
/// start, duration and id of each call. Empty if the log has none.
[[nodiscard]] result<std::string> row_timeline(const std::string& events, const std::string& key);

} // namespace superstep::results
