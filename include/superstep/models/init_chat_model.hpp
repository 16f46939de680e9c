// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/provider_model.hpp>

#include <memory>
#include <string_view>

namespace superstep {

/// Creates a provider model from a name `provider:model`, where provider is openai,
/// openai-responses, anthropic or ollama. Without a provider, names that begin with gpt-, chatgpt-,
/// o1, o3 or o4 select OpenAI, and those that begin with claude select Anthropic.
///
/// @param io must outlive the model
/// @param options `api` and `model` are overwritten from the name
/// @param limits shared with other models of the same provider and key; null: the model gets its
/// own, with default options
/// @return model_errc::bad_configuration for an unknown provider, or an error of
/// make_provider_model()
/// Source: `init_chat_model` in langchain 1.x, chat_models/base.py.
[[nodiscard]] result<chat_model_ptr>
init_chat_model(std::string_view name, io_runtime& io, provider_model_options options = {},
                std::shared_ptr<model_limits> limits = nullptr);

} // namespace superstep
