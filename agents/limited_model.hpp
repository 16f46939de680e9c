// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <cstddef>
#include <memory>

namespace superstep::detail {

/// Returns a model that applies limits to `model`, which has none itself.
/// @param calls_max maximum number of tool calls in an answer; an answer with more is an error; 0
/// means no limit
[[nodiscard]] chat_model_ptr limit_model(chat_model_ptr model, std::shared_ptr<model_limits> limits,
                                         std::size_t calls_max = 0);

} // namespace superstep::detail
