// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace superstep::results {

/// The result of find_row().
struct found_row {
  std::optional<std::string> line; ///< the line as it is in the file; nullopt if there is none
  bool is_torn = false;            ///< whether the file ends with an incomplete line
};

/// Finds the row with an id in an output file, in constant memory. If several lines have the id,
/// returns the last one.
[[nodiscard]] result<found_row> find_row(const std::string& path, const std::string& key);

/// The ids of an output file that an unknown id may mean.
struct known_ids {
  std::string first;                ///< id of the first row; empty if there is none
  std::vector<std::string> similar; ///< the nearest ids first; at most three
};

/// Searches the ids of an output file for those that are similar to an unknown id. Needs constant
/// memory.
[[nodiscard]] result<known_ids> find_similar_ids(const std::string& path, const std::string& key);

/// Returns a row as text for a terminal: its numbers, its conversation by super-step, and its
/// error. No trailing newline.
[[nodiscard]] std::string row_text(const json::object& line);

} // namespace superstep::results
