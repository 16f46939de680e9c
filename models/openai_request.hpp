// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/openai_model.hpp>

#include <string>

namespace superstep::models {

/// The body of POST /chat/completions. The same request gives the same bytes: tools stand in the
/// order of their definitions, parameters in the order of the options and then of the request.
[[nodiscard]] result<std::string> write_request(const openai_model_options& options,
                                                const model_request& request);

} // namespace superstep::models
