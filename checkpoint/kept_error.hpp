// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <exception>
#include <span>
#include <string>
#include <system_error>

// What a task threw, as a member of its record: docs/checkpoint-format.md, `x`.
namespace superstep::detail {

/// Appends a list, outermost exception first. Nothing for a null pointer.
void write_error(std::string& out, const std::exception_ptr&);
/// @param known categories of codes besides those of the standard library and of this component
/// @returns null for an empty list; throws saver_error{corrupt} for what is none
[[nodiscard]] std::exception_ptr read_error(const json::value& from,
                                            std::span<const std::error_category* const> known);

} // namespace superstep::detail
