// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/call_body.hpp"

namespace superstep::yaml_xml {

/// Arguments as a YAML mapping.
class body final : public call_body {
public:
  [[nodiscard]] bool close_has_spaces() const noexcept override { return false; }
  [[nodiscard]] result<json::value> read(std::string_view text,
                                         const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<call_facts> facts(const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<body_progress> progress(const protocol_tool& tool,
                                                        const call_facts* facts,
                                                        stream_output& output) const override;
};

} // namespace superstep::yaml_xml
