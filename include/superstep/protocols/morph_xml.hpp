// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

namespace superstep {

/// A call is an element named after the tool, with an element per parameter in it.
[[nodiscard]] tool_protocol_ptr make_morph_xml();

} // namespace superstep
