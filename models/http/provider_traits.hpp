// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/provider_model.hpp>
#include <superstep/net/http_client.hpp>

#include <string_view>

namespace superstep::models {

/// What tells the providers apart before any JSON is looked at.
struct provider_traits {
  std::string_view name;        ///< in fingerprints and messages
  std::string_view base_url;    ///< the provider's own server
  std::string_view path;        ///< is added to the base URL
  std::string_view key_env;     ///< where the key usually is; empty: nowhere
  std::string_view stream_type; ///< media type of a streamed answer
  bool always_streams = false;
};

[[nodiscard]] const provider_traits& traits_of(provider_api api) noexcept;

/// Adds the headers that carry the key, and those the API asks for.
void add_headers(http_headers& headers, provider_api api, std::string_view key);

} // namespace superstep::models
