// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <optional>
#include <string_view>
#include <vector>

namespace superstep {

/// The first call that stands in a text as JSON (in `<tool_call>` tags, in a code fence or bare),
/// with the text around it. Nothing: there is none.
[[nodiscard]] std::optional<std::vector<parsed_part>>
recover_json_call(std::string_view text, const std::vector<protocol_tool>& tools);

} // namespace superstep
