// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

namespace superstep {

/// The parts of a model's whole answer: what the protocol finds; when it finds no call, a call that
/// stands in the text as plain JSON. Arguments are bent to the schema of their tool.
[[nodiscard]] std::vector<parsed_part> parse_answer(const tool_protocol& protocol,
                                                    std::string_view text,
                                                    const std::vector<protocol_tool>& tools,
                                                    const protocol_error_handler& on_error);

} // namespace superstep
