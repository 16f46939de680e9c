// SPDX-License-Identifier: Apache-2.0
// Errors of attempts to connect to a PostgreSQL server.
#include "system/postgres/postgres_place.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <string>

namespace ss = superstep;
namespace st = superstep::testing;

namespace {

/// Returns the error of a checkpointer that cannot be used, and checks that it did not wait until
/// its reconnect_timeout of 30 s.
std::string immediate_error(const std::string& url) {
  const auto begin = std::chrono::steady_clock::now();
  auto text = std::string{};
  try {
    const auto saver = ss::postgres_checkpointer(url);
    static_cast<void>(saver->threads());
  } catch (const std::exception& e) {
    text = e.what();
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds{15}), text);
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_SUITE(postgres_connect)

BOOST_AUTO_TEST_CASE(reports_unknown_database_at_once) {
  auto url = st::shared_server().url();
  url.replace(url.find("/postgres?"), 9, "/nowhere");
  const auto text = immediate_error(url);
  BOOST_TEST(contains(text, R"(database "nowhere" does not exist (SQLSTATE 3D000))"), text);
}

BOOST_AUTO_TEST_CASE(reports_unknown_role_at_once) {
  const auto text = immediate_error(st::shared_server().url("nobody_here"));
  BOOST_TEST(contains(text, R"(role "nobody_here" does not exist (SQLSTATE 28000))"), text);
}

BOOST_AUTO_TEST_CASE(reports_wrong_or_missing_password_at_once) {
  const auto& server = st::shared_server();
  server.run("create role guest login password 'right'");
  const auto rules = server.value("show hba_file");
  const auto before = st::read_file(rules);
  st::write_file(rules, "local all guest scram-sha-256\n" + before);
  server.run("select pg_reload_conf()");
  ::setenv("PGPASSWORD", "wrong", 1);
  const auto wrong = immediate_error(server.url("guest"));
  BOOST_TEST(contains(wrong, R"(password authentication failed for user "guest" (SQLSTATE 28P01))"),
             wrong);
  ::unsetenv("PGPASSWORD");
  const auto missing = immediate_error(server.url("guest"));
  BOOST_TEST(contains(missing, "no password supplied"), missing);
  st::write_file(rules, before);
  server.run("select pg_reload_conf()");
  server.run("drop role guest");
}

BOOST_AUTO_TEST_SUITE_END()
