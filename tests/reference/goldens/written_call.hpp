// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

namespace superstep::conformance {

/// Returns a call as a model would write it. In XML, one element per item cannot represent an empty
/// list or a list of one item, so lists are written as JSON text, which every parser accepts.
inline std::string written_call(const tool_protocol& protocol, std::string_view tool,
                                const json::object& arguments) {
  const auto is_xml = protocol.name() == "morph_xml" || protocol.name() == "qwen3_coder";
  auto written = arguments;
  for (auto& member : written)
    if (is_xml && member.value().is_array()) {
      const auto list = json::serialize(member.value());
      member.value() = list;
    }
  return protocol.format_call(tool, json::serialize(written));
}

} // namespace superstep::conformance
