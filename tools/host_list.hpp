// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/url.hpp"

#include <superstep/base/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// The hosts that may be asked; see http_get_options::allow_hosts.
class host_list {
public:
  [[nodiscard]] static result<host_list> make(const std::vector<std::string>& patterns);
  [[nodiscard]] bool allows(const url& address) const noexcept;

private:
  struct entry {
    std::string host;       ///< in lower case; with a leading dot: what ends in it
    std::uint16_t port = 0; ///< 0: the port of the scheme
  };
  std::vector<entry> entries_;
};

/// Where a redirect from `base` leads: an absolute address, or what stands in for its last part.
[[nodiscard]] std::string redirect_target(const url& base, std::string_view location);

} // namespace superstep::detail
