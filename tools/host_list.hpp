// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/url.hpp"

#include <superstep/base/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// The allowed hosts of the tool http_get; see http_get_options::allow_hosts.
class host_list {
public:
  /// Parses the patterns. Returns an error for an invalid pattern or an empty list.
  [[nodiscard]] static result<host_list> make(const std::vector<std::string>& patterns);
  /// Whether the host and port of an address are allowed.
  [[nodiscard]] bool allows(const url& address) const noexcept;

private:
  struct entry {
    std::string host;       ///< in lower case; a leading dot selects all hosts below that domain
    std::uint16_t port = 0; ///< 0 means the default port of the scheme
  };
  std::vector<entry> entries_;
};

/// Returns the target of a redirect (RFC 9110, section 10.2.2). A relative `location` is resolved
/// against `base`.
[[nodiscard]] std::string redirect_target(const url& base, std::string_view location);

} // namespace superstep::detail
