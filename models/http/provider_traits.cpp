// SPDX-License-Identifier: Apache-2.0
// A table of the providers' names, URLs, key variables and headers.
#include "models/http/provider_traits.hpp"

#include <superstep/base/detail/assert.hpp>

#include <array>
#include <string>

namespace superstep::models {

namespace {

constexpr auto events = std::string_view{"text/event-stream"};

// Indexed by provider_api.
constexpr auto all = std::array{
    provider_traits{"openai", "https://api.openai.com/v1", "/chat/completions", "OPENAI_API_KEY",
                    events, false},
    provider_traits{"openai-responses", "https://api.openai.com/v1", "/responses", "OPENAI_API_KEY",
                    events, false},
    provider_traits{"anthropic", "https://api.anthropic.com", "/v1/messages", "ANTHROPIC_API_KEY",
                    events, false},
    provider_traits{"ollama", "http://localhost:11434", "/api/chat", "", "application/x-ndjson",
                    true},
};

} // namespace

const provider_traits& traits_of(provider_api api) noexcept {
  const auto index = static_cast<std::size_t>(api);
  SUPERSTEP_ASSERT(index < all.size());
  return all[index];
}

void add_headers(http_headers& headers, provider_api api, std::string_view key) {
  if (api == provider_api::anthropic)
    headers.emplace_back("anthropic-version", "2023-06-01");
  if (key.empty())
    return;
  if (api == provider_api::anthropic)
    headers.emplace_back("x-api-key", key);
  else
    headers.emplace_back("Authorization", "Bearer " + std::string{key});
}

} // namespace superstep::models
