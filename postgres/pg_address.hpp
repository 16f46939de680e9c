// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::detail {

/// Keywords and values for PQconnectdbParams().
using pg_keywords = std::vector<std::pair<std::string, std::string>>;

/// The checked address of a PostgreSQL database.
struct pg_address {
  pg_keywords parameters;
  /// The host and the database, without user and password, for texts.
  std::string name;
};

/// The origin of the address of a database, for the texts of errors.
struct address_use {
  /// The option or key with the address, with which an error starts; may be empty.
  std::string_view option = "--ledger";
  /// The option that accepts the risk of a server that is not verified; may be empty.
  std::string_view insecure_option = "--insecure-ledger";
};

/// Whether a text is the URL of a PostgreSQL database, and not for example the path of a file.
[[nodiscard]] bool is_postgres_url(std::string_view text) noexcept;

/// Checks the address of a database, a URL `postgresql://…`. Values that it does not contain come
/// from the environment variables of libpq, such as PGHOST.
///
/// A password in the URL is rejected, because every user of the machine can read it in the list of
/// processes. If the server is on another machine, the connection must use TLS and verify the
/// server's name (`sslmode=verify-full`), which is the default here.
/// @param is_insecure_allowed whether any sslmode is accepted
[[nodiscard]] result<pg_address> check_address(const std::string& url, bool is_insecure_allowed,
                                               const address_use& use = {});

/// Returns the keywords of each attempt to connect to an address, in order: one per host. libpq
/// would try several hosts in one attempt, but applies `connect_timeout` only if it may block.
[[nodiscard]] std::vector<pg_keywords> connection_attempts(const pg_address&);

/// Returns the time limit of an attempt, `connect_timeout`; 0 if there is none.
[[nodiscard]] std::chrono::seconds connect_timeout_of(const pg_keywords&) noexcept;

} // namespace superstep::detail
