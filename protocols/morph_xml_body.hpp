// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/call_body.hpp"

namespace superstep::morph_xml {

/// Arguments as elements; see parse_tool_xml().
class body final : public call_body {
public:
  [[nodiscard]] bool close_has_spaces() const noexcept override { return true; }
  [[nodiscard]] result<json::value> read(std::string_view body,
                                         const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<call_facts> facts(const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<body_progress> progress(const protocol_tool& tool,
                                                        const call_facts* facts,
                                                        stream_output& output) const override;
};

} // namespace superstep::morph_xml
