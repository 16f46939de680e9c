// SPDX-License-Identifier: Apache-2.0
// Checks addresses of databases before a connection is made: no password in the list of processes,
// no connection to another machine without a verified certificate.
#include "pg_address.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>

#include <libpq-fe.h>

namespace superstep::detail {
namespace {

using value_map = std::map<std::string, std::string>;

/// Returns the values that are set in a list of libpq, and frees the list.
value_map take_values(PQconninfoOption* options) {
  auto out = value_map{};
  for (auto* each = options; each != nullptr && each->keyword != nullptr; ++each)
    if (each->val != nullptr)
      out[each->keyword] = each->val;
  PQconninfoFree(options);
  return out;
}

std::string value_of(const value_map& given, const value_map& defaults, const char* key) {
  if (const auto found = given.find(key); found != given.end())
    return found->second;
  const auto found = defaults.find(key);
  return found != defaults.end() ? found->second : std::string{};
}

/// Whether one host is this machine: a folder with a Unix socket, or a loopback address.
bool is_local_host(std::string_view host) {
  return host.empty() || host.front() == '/' || host.front() == '@' || host == "localhost" ||
         host == "::1" || host.starts_with("127.");
}

/// Returns the items of a list that is separated by commas; one empty item for an empty text.
std::vector<std::string_view> split(std::string_view list) {
  auto out = std::vector<std::string_view>{};
  while (true) {
    const auto comma = list.find(',');
    out.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos)
      return out;
    list.remove_prefix(comma + 1);
  }
}

/// Whether all hosts of a list are this machine.
bool are_local(std::string_view hosts) {
  return std::ranges::all_of(split(hosts), is_local_host);
}

std::string* value_of(pg_keywords& keywords, std::string_view key) {
  const auto found = std::ranges::find(keywords, key, &pg_keywords::value_type::first);
  return found == keywords.end() ? nullptr : &found->second;
}

/// Appends an attempt for each of `count` hosts.
/// @param attributes the value of `target_session_attrs`; null to keep the given one
void add_attempts(std::vector<pg_keywords>& out, const pg_keywords& given, std::size_t count,
                  const char* attributes) {
  for (auto i = std::size_t{0}; i < count; ++i) {
    auto& one = out.emplace_back(given);
    for (const auto* key : {"host", "hostaddr", "port"})
      if (auto* const list = value_of(one, key)) {
        const auto items = split(*list);
        *list = std::string{items[items.size() == 1 ? 0 : i]};
      }
    if (attributes != nullptr)
      *value_of(one, "target_session_attrs") = attributes;
  }
}

} // namespace

bool is_postgres_url(std::string_view text) noexcept {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

result<pg_address> check_address(const std::string& url, bool is_insecure_allowed,
                                 const address_use& use) {
  const auto invalid = [&](const std::string& text) {
    const auto prefix = use.option.empty() ? std::string{} : std::string{use.option} + ": ";
    return error{errc::invalid_argument, prefix + text};
  };
  if (!is_postgres_url(url))
    return invalid("must start with postgresql://");
  char* why = nullptr;
  auto* parsed = PQconninfoParse(url.c_str(), &why);
  const auto text = std::unique_ptr<char, decltype(&PQfreemem)>{why, PQfreemem};
  // libpq repeats the address in some of its errors, which may contain a password.
  if (parsed == nullptr)
    return invalid("not a valid address; it has the form "
                   "postgresql://[user@]host[:port]/database[?key=value&...]");
  auto given = take_values(parsed);
  for (const auto* key : {"password", "sslpassword"})
    if (given.contains(key))
      return invalid(std::string{"must not contain a "} + key +
                     ", because other users can read it in the list of processes; use a password "
                     "file (~/.pgpass, PGPASSFILE), a service file, or PGPASSWORD");
  const auto defaults = take_values(PQconndefaults());
  const auto host = value_of(given, defaults, "host");
  const auto address = value_of(given, defaults, "hostaddr");
  // The service file may name any host.
  const auto is_local = are_local(host) && are_local(address) && !given.contains("service");
  if (!is_local && !is_insecure_allowed) {
    if (given.contains("sslmode") && given["sslmode"] != "verify-full")
      return invalid("sslmode=" + given["sslmode"] +
                     " does not verify the server; use sslmode=verify-full" +
                     (use.insecure_option.empty()
                          ? std::string{}
                          : ", or accept the risk with " + std::string{use.insecure_option}));
    given["sslmode"] = "verify-full";
  }
  auto out = pg_address{};
  out.name = (host.empty() ? "local server" : host) + "/" + value_of(given, defaults, "dbname");
  if (!given.contains("application_name"))
    given["application_name"] = "superstep";
  given["client_encoding"] = "UTF8";
  // A peer that has disappeared is noticed after about 30 seconds.
  given.emplace("connect_timeout", "10");
  given.emplace("tcp_user_timeout", "30000");
  given.emplace("keepalives_idle", "15");
  given.emplace("keepalives_interval", "5");
  given.emplace("keepalives_count", "3");
  out.parameters.assign(given.begin(), given.end());
  return out;
}

std::vector<pg_keywords> connection_attempts(const pg_address& address) {
  auto given = address.parameters;
  auto count = std::size_t{1};
  for (const auto* key : {"host", "hostaddr"})
    if (const auto* const list = value_of(given, key))
      count = std::max(count, split(*list).size());
  for (const auto* key : {"host", "hostaddr", "port"})
    if (const auto* const list = value_of(given, key))
      if (const auto size = split(*list).size(); size != count && (size > 1 || key[0] == 'h'))
        return {given}; // libpq reports the error
  auto out = std::vector<pg_keywords>{};
  const auto* const attributes = value_of(given, "target_session_attrs");
  if (attributes != nullptr && *attributes == "prefer-standby") {
    add_attempts(out, given, count, "standby");
    add_attempts(out, given, count, "any");
  } else {
    add_attempts(out, given, count, nullptr);
  }
  return out;
}

std::chrono::seconds connect_timeout_of(const pg_keywords& keywords) noexcept {
  constexpr auto shortest = 2; // as in libpq
  constexpr auto longest = 24 * 60 * 60;
  for (const auto& [key, value] : keywords)
    if (auto seconds = 0;
        key == "connect_timeout" &&
        std::from_chars(value.data(), value.data() + value.size(), seconds).ec == std::errc{} &&
        seconds > 0)
      return std::chrono::seconds{std::clamp(seconds, shortest, longest)};
  return std::chrono::seconds{0};
}

} // namespace superstep::detail
