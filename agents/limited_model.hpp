// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_limits.hpp>

#include <memory>

namespace superstep::detail {

/// Puts the limits of an agent file before a model that has none of its own, so that they mean the
/// same whatever the provider is.
[[nodiscard]] chat_model_ptr limit_model(chat_model_ptr model, model_limits_options options);

} // namespace superstep::detail
