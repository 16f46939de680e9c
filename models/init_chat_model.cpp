// SPDX-License-Identifier: Apache-2.0
// Selects the provider of a model by the model's name.
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <array>
#include <optional>
#include <string>
#include <utility>

namespace superstep {

namespace {

struct named_api {
  std::string_view name;
  provider_api api;
};

constexpr auto named_apis = std::array{
    named_api{"openai", provider_api::openai_chat},
    named_api{"openai-responses", provider_api::openai_responses},
    named_api{"anthropic", provider_api::anthropic}, named_api{"ollama", provider_api::ollama}};

/// Beginnings of model names that identify a provider.
constexpr auto beginnings = std::array{
    named_api{"gpt-", provider_api::openai_chat}, named_api{"chatgpt-", provider_api::openai_chat},
    named_api{"o1", provider_api::openai_chat},   named_api{"o3", provider_api::openai_chat},
    named_api{"o4", provider_api::openai_chat},   named_api{"claude", provider_api::anthropic}};

/// The name may be the content of a file, so only its beginning is shown.
error unknown(std::string_view name) {
  return {model_errc::bad_configuration,
          "model \"" + std::string{name.substr(0, 200)} +
              "\" has no known provider; write openai:NAME, openai-responses:NAME, "
              "anthropic:NAME or ollama:NAME"};
}

} // namespace

result<chat_model_ptr> init_chat_model(std::string_view name, io_runtime& io,
                                       provider_model_options options,
                                       std::shared_ptr<model_limits> limits) {
  const auto colon = name.find(':');
  auto api = std::optional<provider_api>{};
  if (colon != name.npos) {
    for (const auto& known : named_apis)
      if (name.substr(0, colon) == known.name)
        api = known.api;
  } else {
    for (const auto& known : beginnings)
      if (name.starts_with(known.name))
        api = known.api;
  }
  if (!api)
    return unknown(name);
  options.api = *api;
  options.model = colon == name.npos ? name : name.substr(colon + 1);
  if (!limits)
    limits = std::make_shared<model_limits>(model_limits_options{});
  return make_provider_model(std::move(options), io, std::move(limits));
}

} // namespace superstep
