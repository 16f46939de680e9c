// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

namespace superstep {

/// Calls are `<function=NAME>` elements with a `<parameter=KEY>` element per argument, in a
/// `<tool_call>` block or without one. Reads the many spellings that models make of it.
[[nodiscard]] tool_protocol_ptr make_qwen3_coder();

} // namespace superstep
