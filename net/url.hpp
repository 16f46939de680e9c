// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep {

/// The parts of an http or https URL.
struct url {
  bool is_tls = false;      ///< whether the scheme is https
  std::string host;         ///< in lower case; IPv6 addresses without brackets
  std::uint16_t port = 0;   ///< 80 or 443 unless the URL specifies one
  std::string target = "/"; ///< path and query, without the fragment

  /// Returns the value of the Host header (RFC 9110, section 7.2): with the port only if it is not
  /// the default of the scheme.
  [[nodiscard]] std::string authority() const;

  friend bool operator==(const url&, const url&) = default;
};

/// Parses a URL (RFC 3986). Fails for schemes other than http and https, a missing host, blanks and
/// control characters. Bytes above 127 of path and query become %XX. Also fails for a user name or
/// password, because it would appear in logs.
[[nodiscard]] result<url> parse_url(std::string_view text);

} // namespace superstep
