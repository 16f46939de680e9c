// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <cstddef>
#include <memory>

namespace superstep::detail {

/// Puts the limits of an agent file before a model that has none of its own, so that they mean the
/// same whatever the provider is. An answer with more than `calls_max` tool calls is an error; 0 = no
/// limit.
[[nodiscard]] chat_model_ptr limit_model(chat_model_ptr model, model_limits_options options,
                                         std::size_t calls_max = 0);

} // namespace superstep::detail
