// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/url.hpp"

#include <superstep/base/error.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The address of an HTTP proxy.
struct proxy_address {
  std::string host;
  std::uint16_t port = 0;
  /// value of the header Proxy-Authorization, which is secret; empty if there is no password
  std::string authorization;
};

/// Parses `[http://][user:password@]host[:port][/]`. The error does not contain the text, which may
/// include a password.
[[nodiscard]] result<proxy_address> parse_proxy(std::string_view text);

/// Selects the proxy for each request.
class proxy_rules {
public:
  using environment = std::function<std::string(const char* name)>; ///< "" for unset variables

  /// Returns rules with one proxy for all requests; without any proxy if the text is empty.
  [[nodiscard]] static result<proxy_rules> for_all(std::string_view proxy);
  /// Returns the rules of the variables http_proxy, https_proxy, all_proxy and no_proxy, in lower
  /// or upper case. Requests to this machine use no proxy then. A variable that is not valid is an
  /// error of find(), so that it affects only the requests that would use it.
  [[nodiscard]] static proxy_rules from(const environment& variables);

  /// Returns the proxy for an address; null if none is used. Valid as long as this object. Returns
  /// an error if the variable that specifies the proxy is not valid.
  [[nodiscard]] result<const proxy_address*> find(const url& target) const;

private:
  [[nodiscard]] bool is_excepted(const url& target) const;

  std::optional<result<proxy_address>> plain_;
  std::optional<result<proxy_address>> secure_;
  std::vector<std::string> exceptions_; ///< lower case, without leading dot or star
  bool spares_this_machine_ = false;
  bool spares_all_ = false;
};

} // namespace superstep
