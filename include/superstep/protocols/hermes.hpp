// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

namespace superstep {

/// Calls are JSON objects with `name` and `arguments` between `<tool_call>` tags. The one protocol
/// here that checks arguments against the schema: JSON that matches none is taken for prose.
[[nodiscard]] tool_protocol_ptr make_hermes();

} // namespace superstep
