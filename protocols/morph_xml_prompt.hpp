// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <vector>

namespace superstep::morph_xml {

/// A paragraph per tool.
[[nodiscard]] std::string tool_paragraphs(const std::vector<protocol_tool>& tools);
[[nodiscard]] std::string system_prompt(const std::vector<protocol_tool>& tools);

} // namespace superstep::morph_xml
