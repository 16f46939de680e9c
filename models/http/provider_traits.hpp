// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/provider_model.hpp>
#include <superstep/net/http_client.hpp>

#include <string_view>

namespace superstep::models {

/// Properties of a provider besides the format of its JSON.
struct provider_traits {
  std::string_view name;        ///< name in fingerprints and messages
  std::string_view base_url;    ///< URL of the provider's own server
  std::string_view path;        ///< appended to the base URL
  std::string_view key_env;     ///< environment variable of the key by default; empty = none
  std::string_view stream_type; ///< media type of a streamed answer
  bool always_streams = false;
};

[[nodiscard]] const provider_traits& traits_of(provider_api api) noexcept;

/// Adds the header with the key, and the other headers that the API requires.
void add_headers(http_headers& headers, provider_api api, std::string_view key);

} // namespace superstep::models
