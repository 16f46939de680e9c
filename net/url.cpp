// SPDX-License-Identifier: Apache-2.0
// Parses http and https URLs (RFC 3986, without user information).
#include "net/url.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace superstep {

namespace {

/// The error does not contain a text with an '@', because this may be a URL with a password.
error bad_url(std::string_view text, std::string_view why) {
  const auto shown = text.find('@') == text.npos ? '"' + std::string{text.substr(0, 200)} + '"'
                                                 : std::string{"the text (not shown)"};
  return {errc::invalid_argument, shown + " is not a valid URL: " + std::string{why} +
                                      "; expected http(s)://host[:port][/path]"};
}

char lower(char c) noexcept {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool starts_with_scheme(std::string_view text, std::string_view scheme) noexcept {
  return text.size() >= scheme.size() && std::equal(scheme.begin(), scheme.end(), text.begin(),
                                                    [](char a, char b) { return a == lower(b); });
}

bool is_plain(char c) noexcept {
  return static_cast<unsigned char>(c) > ' ' && c != 0x7f;
}

/// Returns the text with each byte above 127 as %XX, as browsers send it (RFC 3987, 3.1).
std::string escaped(std::string_view text) {
  static constexpr auto digits = std::string_view{"0123456789ABCDEF"};
  auto out = std::string{};
  for (const auto c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80)
      out += c;
    else
      out.append({'%', digits[byte >> 4U], digits[byte & 15U]});
  }
  return out;
}

/// Whether a character may be part of a host name or an IPv4 address. Bytes above 127 are rejected,
/// because international names must be in IDNA form.
bool is_host_char(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
}

/// Parses `host`, `host:port` or `[v6]:port` into `into`. Returns what is wrong with the text;
/// empty if it is valid.
std::string_view read_authority(std::string_view text, url& into) {
  auto port = std::string_view{};
  auto has_port = false;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos)
      return "the bracket is not closed";
    into.host = text.substr(1, end - 1);
    const auto is_v6_char = [](char c) {
      return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.';
    };
    if (!std::all_of(into.host.begin(), into.host.end(), is_v6_char))
      return "the brackets do not contain an IPv6 address";
    auto rest = text.substr(end + 1);
    has_port = rest.starts_with(':');
    if (!rest.empty() && !has_port)
      return "there is text after the IPv6 address";
    port = has_port ? rest.substr(1) : rest;
  } else {
    const auto colon = text.find(':');
    has_port = colon != std::string_view::npos;
    into.host = text.substr(0, colon);
    port = has_port ? text.substr(colon + 1) : std::string_view{};
    if (!std::all_of(into.host.begin(), into.host.end(), is_host_char))
      return "the host contains an invalid character";
  }
  if (into.host.empty())
    return "the host is missing";
  std::transform(into.host.begin(), into.host.end(), into.host.begin(), lower);
  into.port = into.is_tls ? 443 : 80;
  if (has_port) {
    const auto end = port.data() + port.size();
    const auto parsed = std::from_chars(port.data(), end, into.port);
    if (parsed.ec != std::errc{} || parsed.ptr != end || into.port == 0)
      return "the port is not a number from 1 to 65535";
  }
  return {};
}

} // namespace

std::string url::authority() const {
  auto out = host.find(':') == std::string::npos ? host : '[' + host + ']';
  if (port != (is_tls ? 443 : 80))
    out += ':' + std::to_string(port);
  return out;
}

result<url> parse_url(std::string_view text) {
  auto out = url{};
  auto rest = text;
  if (starts_with_scheme(text, "https://")) {
    out.is_tls = true;
    rest.remove_prefix(8);
  } else if (starts_with_scheme(text, "http://")) {
    rest.remove_prefix(7);
  } else {
    return bad_url(text, "it does not begin with http:// or https://");
  }
  if (!std::all_of(rest.begin(), rest.end(), is_plain))
    return bad_url(text, "it contains a space or a control character");
  const auto end = std::min(rest.find_first_of("/?#"), rest.size());
  const auto authority = rest.substr(0, end);
  if (authority.find('@') !=
      // the URL is not part of the error text, because it may contain a password
      std::string_view::npos)
    return error{errc::invalid_argument,
                 "a URL must not contain a user name or password; send a header instead"};
  if (const auto why = read_authority(authority, out); !why.empty())
    return bad_url(text, why);
  auto target = rest.substr(end);
  target = target.substr(0, target.find('#'));
  out.target = (target.starts_with('/') ? "" : "/") + escaped(target);
  return out;
}

} // namespace superstep
