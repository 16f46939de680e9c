// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/provider_model.hpp>

#include <memory>
#include <string_view>

namespace superstep {

/// Makes the model that a name stands for: `provider:model`, with openai, openai-responses,
/// anthropic or ollama before the first colon. Without a provider, names that begin with gpt-, o1,
/// o3, o4 or chatgpt- are OpenAI's, and those that begin with claude Anthropic's.
///
/// `options.api` and `options.model` are set from the name; the rest is yours. Without `limits` the
/// model has limits of its own.
[[nodiscard]] result<chat_model_ptr>
init_chat_model(std::string_view name, io_runtime& io, provider_model_options options = {},
                std::shared_ptr<model_limits> limits = nullptr);

} // namespace superstep
