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

/// An HTTP proxy.
struct proxy_address {
  std::string host;
  std::uint16_t port = 0;
  std::string authorization; ///< value of Proxy-Authorization; empty: none. Not to be shown
};

/// Reads `[http://][user:password@]host[:port][/]`. The error does not repeat the text, which may
/// hold a password.
[[nodiscard]] result<proxy_address> parse_proxy(std::string_view text);

/// Which requests go through which proxy.
class proxy_rules {
public:
  using environment = std::function<std::string(const char* name)>; ///< "" when it is not set

  /// One proxy for all; empty: none.
  [[nodiscard]] static result<proxy_rules> for_all(std::string_view proxy);
  /// http_proxy, https_proxy and all_proxy, no_proxy for the exceptions, each also in capitals.
  /// Requests to this machine itself never leave it.
  [[nodiscard]] static result<proxy_rules> from(const environment& variables);

  /// The proxy for an address; nullptr: none. Valid as long as the rules.
  [[nodiscard]] const proxy_address* find(const url& target) const;

private:
  [[nodiscard]] bool is_excepted(const url& target) const;

  std::optional<proxy_address> plain_;
  std::optional<proxy_address> secure_;
  std::vector<std::string> exceptions_; ///< lower case, without a dot or star in front
  bool spares_this_machine_ = false;
  bool spares_all_ = false;
};

} // namespace superstep
