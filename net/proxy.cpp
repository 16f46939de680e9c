// SPDX-License-Identifier: Apache-2.0
// Selects the proxy for a request, from an option or the usual environment variables. exchange.cpp
// connects to it.
#include "net/proxy.hpp"

#include "base/base64.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace superstep {

namespace {

std::string lower(std::string_view text) {
  auto out = std::string{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Decodes percent-encoded characters (RFC 3986).
std::string unescaped(std::string_view text) {
  auto out = std::string{};
  const auto digit = [](char c) {
    return std::isdigit(static_cast<unsigned char>(c))
               ? c - '0'
               : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10;
  };
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    const auto is_code = text[i] == '%' && i + 2 < text.size() &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 1])) &&
                         std::isxdigit(static_cast<unsigned char>(text[i + 2]));
    out += is_code ? static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2])) : text[i];
    i += is_code ? 2 : 0;
  }
  return out;
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" ||
         host.starts_with("127.");
}

} // namespace

result<proxy_address> parse_proxy(std::string_view text) {
  auto rest = text;
  auto out = proxy_address{};
  if (const auto scheme = rest.find("://"); scheme != rest.npos) {
    if (lower(rest.substr(0, scheme)) != "http")
      return error{errc::invalid_argument, "the proxy address must begin with http://; other "
                                           "kinds of proxies are not supported"};
    rest.remove_prefix(scheme + 3);
  }
  if (const auto at = rest.rfind('@'); at != rest.npos) {
    out.authorization = "Basic " + to_base64(unescaped(rest.substr(0, at)));
    rest.remove_prefix(at + 1);
  }
  const auto address = parse_url("http://" + std::string{rest});
  if (!address || address->target != "/")
    return error{errc::invalid_argument,
                 "the proxy address is not valid; expected http://[user:password@]host[:port]"};
  out.host = address->host;
  out.port = address->port;
  return out;
}

result<proxy_rules> proxy_rules::for_all(std::string_view proxy) {
  auto out = proxy_rules{};
  if (proxy.empty())
    return out;
  auto address = parse_proxy(proxy);
  if (!address)
    return std::move(address).error();
  out.plain_ = *address;
  out.secure_ = *std::move(address);
  return out;
}

proxy_rules proxy_rules::from(const environment& variables) {
  auto out = proxy_rules{};
  out.spares_this_machine_ = true;
  // returns the name of the variable that is set, in lower or upper case, and its value
  const auto look = [&](const char* name) {
    auto capitals = std::string{name};
    std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    auto text = variables(name);
    if (!text.empty())
      return std::pair{std::string{name}, std::move(text)};
    text = variables(capitals.c_str());
    return std::pair{std::move(capitals), std::move(text)};
  };
  const auto all = look("all_proxy");
  for (const auto& [own, into] :
       {std::pair{"http_proxy", &out.plain_}, std::pair{"https_proxy", &out.secure_}}) {
    auto found = look(own);
    if (found.second.empty())
      found = all;
    const auto& [name, text] = found;
    if (text.empty())
      continue;
    auto address = parse_proxy(text);
    if (address)
      into->emplace(*std::move(address));
    else
      into->emplace(error{address.error().code,
                          "environment variable " + name + ": " + address.error().text});
  }
  const auto exceptions = lower(look("no_proxy").second);
  for (auto begin = std::size_t{0}; begin < exceptions.size();) {
    const auto end = std::min(exceptions.find_first_of(", ", begin), exceptions.size());
    auto one = std::string_view{exceptions}.substr(begin, end - begin);
    begin = end + 1;
    out.spares_all_ = out.spares_all_ || one == "*";
    if (one.starts_with("*"))
      one.remove_prefix(1);
    if (one.starts_with("."))
      one.remove_prefix(1);
    if (!one.empty())
      out.exceptions_.emplace_back(one);
  }
  return out;
}

bool proxy_rules::is_excepted(const url& target) const {
  if (spares_all_ || (spares_this_machine_ && is_this_machine(target.host)))
    return true;
  const auto with_port = target.host + ':' + std::to_string(target.port);
  const auto fits = [](std::string_view host, std::string_view rule) {
    return host == rule || (host.size() > rule.size() && host.ends_with(rule) &&
                            host[host.size() - rule.size() - 1] == '.');
  };
  return std::any_of(exceptions_.begin(), exceptions_.end(), [&](const std::string& rule) {
    return fits(target.host, rule) || fits(with_port, rule);
  });
}

result<const proxy_address*> proxy_rules::find(const url& target) const {
  const auto& proxy = target.is_tls ? secure_ : plain_;
  if (!proxy || is_excepted(target))
    return nullptr;
  if (proxy->has_error())
    return proxy->error();
  return &**proxy;
}

} // namespace superstep
