// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// Options of make_http_get().
struct http_get_options {
  /// The allowed hosts: `example.org`, `*.example.org` (hosts below it), or either with `:port`
  /// (without it, only the scheme's default port). Every other host is rejected, also in redirects.
  std::vector<std::string> allow_hosts;
  std::size_t max_bytes = 1024 * 1024; ///< of a response body; a longer one is an error result
  std::uint32_t timeout_ms = 10'000;   ///< of one call, including redirects
  std::uint32_t redirects_max = 5;     ///< redirects to follow in one call
};

/// Makes the tool `http_get` with the argument `url` (http or https). Its result is the body of the
/// response. A status other than 2xx is an error result with the status and the start of the body.
/// @param client may be shared with other users
/// @return an error for an empty or malformed list of hosts, or a limit of 0
[[nodiscard]] result<tool_ptr> make_http_get(std::shared_ptr<const http_client> client,
                                             http_get_options options);

} // namespace superstep
