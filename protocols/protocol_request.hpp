// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/described_tools.hpp"

#include <superstep/protocols/protocol_middleware.hpp>

namespace superstep {

/// The choice in `parameters.tool_choice`, in the words of forced_response_format(). `{type: auto}`
/// when there is none.
[[nodiscard]] result<json::object> tool_choice_of(const model_request& request);

/// The request in words that a model without tools understands.
/// @param described its tools
[[nodiscard]] result<model_request> protocol_request(model_request request,
                                                     const described_tools& described,
                                                     const protocol_options& options);

} // namespace superstep
