// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep {

/// An http or https address in the parts a client needs.
struct url {
  bool is_tls = false;
  std::string host;         ///< in lower case; an IPv6 address without its brackets
  std::uint16_t port = 0;   ///< 80 or 443 unless the address names one
  std::string target = "/"; ///< path and query, without the fragment

  /// Value of the Host header: the port only when it is not the scheme's own.
  [[nodiscard]] std::string authority() const;

  friend bool operator==(const url&, const url&) = default;
};

/// Refuses other schemes, a missing host, blanks and control characters, and a user name or
/// password (which would end up in logs).
[[nodiscard]] result<url> parse_url(std::string_view text);

} // namespace superstep
