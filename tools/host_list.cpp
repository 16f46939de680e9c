// SPDX-License-Identifier: Apache-2.0
// Decides which hosts http_get may contact, and computes the targets of redirects.
#include "host_list.hpp"

#include "base/ascii_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace superstep::detail {

namespace {

/// Removes the segments `.` and `..` from an absolute path (RFC 3986, 5.2.4).
std::string without_dots(std::string_view path) {
  auto out = std::string{};
  while (!path.empty()) {
    const auto segment = path.substr(0, path.find('/', 1)); // with the slash before it
    path.remove_prefix(segment.size());
    const auto is_up = segment == "/..";
    if (is_up)
      out.resize(out.empty() ? 0 : out.rfind('/'));
    if (!is_up && segment != "/.")
      out += segment;
    else if (path.empty())
      out += '/';
  }
  return out;
}

} // namespace

result<host_list> host_list::make(const std::vector<std::string>& patterns) {
  auto list = host_list{};
  for (const auto& pattern : patterns) {
    auto one = entry{ascii_lower(pattern), 0};
    const auto refused =
        error{errc::invalid_argument, "allow_hosts: '" + pattern +
                                          "' is not a valid host; write example.org, "
                                          "*.example.org, [::1] or one of them with :port"};
    const auto bracket = one.host.rfind(']');
    if (const auto colon = one.host.rfind(':');
        colon != std::string::npos && (bracket == std::string::npos || colon > bracket)) {
      const auto* first = one.host.data() + colon + 1;
      const auto* last = one.host.data() + one.host.size();
      const auto [end, ec] = std::from_chars(first, last, one.port);
      if (ec != std::errc{} || end != last || one.port == 0)
        return refused;
      one.host.resize(colon);
    }
    const auto bracketed = one.host.starts_with('[') && one.host.ends_with(']');
    if (bracketed)
      one.host = one.host.substr(1, one.host.size() - 2);
    else if (one.host.find_first_of("[]:") != std::string::npos)
      return refused;
    if (one.host.starts_with("*."))
      one.host.erase(0, 1);
    if (one.host.empty() || one.host == "." || one.host.find_first_of("*/@ ") != std::string::npos)
      return refused;
    list.entries_.push_back(std::move(one));
  }
  if (list.entries_.empty())
    return error{errc::invalid_argument, "allow_hosts: is empty; list at least one host"};
  return list;
}

bool host_list::allows(const url& address) const noexcept {
  const auto own_port = address.is_tls ? 443 : 80;
  return std::any_of(entries_.begin(), entries_.end(), [&](const entry& e) {
    const auto below = e.host.starts_with('.') && address.host.ends_with(e.host);
    return (below || address.host == e.host) && address.port == (e.port == 0 ? own_port : e.port);
  });
}

std::string redirect_target(const url& base, std::string_view location) {
  const auto scheme = std::string{base.is_tls ? "https:" : "http:"};
  const auto end_of_scheme = location.find_first_of(":/?#");
  if (end_of_scheme != std::string_view::npos && location[end_of_scheme] == ':')
    return std::string{location}; // parse_url() rejects schemes other than http and https
  if (location.starts_with("//"))
    return scheme + std::string{location};
  const auto origin = scheme + "//" + base.authority();
  if (location.empty() || location.starts_with('#'))
    return origin + base.target;
  const auto path = base.target.substr(0, base.target.find('?'));
  if (location.starts_with('?'))
    return origin + path + std::string{location};
  const auto end = std::min(location.find_first_of("?#"), location.size());
  const auto folder =
      location.starts_with('/') ? std::string{} : path.substr(0, path.rfind('/') + 1);
  return origin + without_dots(folder + std::string{location.substr(0, end)}) +
         std::string{location.substr(end)};
}

} // namespace superstep::detail
