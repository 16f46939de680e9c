// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <exception>
#include <span>
#include <string>
#include <system_error>

// Converts the exception of a failed task to JSON and back. It is member `x` of a task record; see
// docs/checkpoint-format.md.
namespace superstep::detail {

/// Appends an exception and its nested exceptions as a JSON array, outermost first. Appends an
/// empty array for a null pointer. At most 16 levels are written.
void write_error(std::string& out, const std::exception_ptr&);
/// Restores an exception as restored_error or restored_system_error.
/// @param known error categories to search after the generic and system categories and those of
/// errc, channel_errc and checkpoint_errc
/// @return null for an empty array
/// @throws checkpoint_error{corrupt} if the JSON is not an array of exceptions
[[nodiscard]] std::exception_ptr read_error(const json::value& from,
                                            std::span<const std::error_category* const> known);

} // namespace superstep::detail
