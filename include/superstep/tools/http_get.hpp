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

struct http_get_options {
  /// What may be asked: `example.org`, `*.example.org` (hosts below it), or either with `:port`
  /// (else the port of the scheme alone). Nothing else is, redirects included.
  std::vector<std::string> allow_hosts;
  std::size_t max_bytes = 1024 * 1024; ///< of one answer; a longer one is an error result
  std::uint32_t timeout_ms = 10'000;   ///< of one call, its redirects included
  std::uint32_t redirects_max = 5;
};

/// `http_get`, with the argument `url` (http or https): the body of the answer. A status other than
/// 2xx is an error result with the status and the start of the body. The client may be shared.
/// Errors: an empty or malformed list of hosts, a bound of 0.
[[nodiscard]] result<tool_ptr> make_http_get(std::shared_ptr<const http_client> client,
                                             http_get_options options);

} // namespace superstep
