// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>

#include <string_view>

namespace superstep {

/// Makes a model from a text:
///
/// - `openai:gpt-4o-mini`, `anthropic:…`, `ollama:…`, or a well-known name alone: init_chat_model()
///   with its default options. Its connections are served by shared_io_runtime().
/// - `scripted:rules.yaml`: make_scripted_model() with that file; or with the rules themselves, if
///   the text after the colon contains a line break or starts with `{`.
///
/// @returns the model; model_errc::bad_configuration if the text names no provider, or what the
/// functions above return. A missing API key is reported by the provider, with the first call.
[[nodiscard]] result<chat_model_ptr> make_model(std::string_view spec);

} // namespace superstep
