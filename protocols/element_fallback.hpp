// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/xml_calls.hpp"

#include <optional>
#include <string_view>

namespace superstep {

/// A call whose open tag is only a line with the name of the tool, with or without a colon;
/// elements follow up to the end of the call.
[[nodiscard]] std::optional<xml_call> find_line_call(std::string_view text,
                                                     const tool_names& names);

/// A whole text of the form `<name` body `/>`, the first and the last on lines of their own.
[[nodiscard]] std::optional<xml_call> find_torn_call(std::string_view text,
                                                     const tool_names& names);

} // namespace superstep
