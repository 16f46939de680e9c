// SPDX-License-Identifier: Apache-2.0
// Addresses of ledgers: passwords on the command line and connections without verification are
// rejected before a connection is made.
#include "postgres/pg_address.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <string>

namespace {

using superstep::detail::check_address;
using superstep::detail::connect_timeout_of;
using superstep::detail::connection_attempts;
using superstep::detail::pg_address;

struct address_case {
  std::string url;
  bool is_accepted = true;
  std::string text{}; ///< part of the error, or the sslmode of an accepted address
};
std::ostream& operator<<(std::ostream& out, const address_case& c) {
  return out << c.url;
}

std::string value_of(const pg_address& address, const std::string& key) {
  const auto found =
      std::ranges::find(address.parameters, key, &std::pair<std::string, std::string>::first);
  return found == address.parameters.end() ? std::string{} : found->second;
}

const auto addresses = std::vector<address_case>{
    {"postgresql:///jobs?host=/tmp"},
    {"postgresql://localhost/jobs"},
    {"postgresql://127.0.0.1:5433/jobs"},
    {"postgresql://[::1]/jobs"},
    {"postgresql://db.example.com/jobs", true, "verify-full"},
    {"postgresql://db.example.com/jobs?sslmode=verify-full", true, "verify-full"},
    {"postgresql://localhost,db.example.com/jobs", true, "verify-full"},
    {"postgresql:///jobs?service=main", true, "verify-full"},
    {"postgresql://localhost/jobs?hostaddr=10.0.0.1", true, "verify-full"},
    {"postgresql://db.example.com/jobs?sslmode=require", false, "--insecure-ledger"},
    {"postgresql://localhost,db.example.com/jobs?sslmode=disable", false, "--insecure-ledger"},
    {"postgresql://me:hunter2@localhost/jobs", false, "must not contain a password"},
    {"postgresql://localhost/jobs?password=hunter2", false, "must not contain a password"},
    {"postgresql://me:hunter2@[broken/jobs", false, "not a valid address"},
    {"host=localhost password=hunter2", false, "must start with postgresql://"}};

} // namespace

BOOST_DATA_TEST_CASE(address_is_checked_before_connecting, boost::unit_test::data::make(addresses),
                     c) {
  const auto checked = check_address(c.url, false);
  BOOST_TEST_REQUIRE(checked.has_value() == c.is_accepted);
  if (checked) {
    BOOST_TEST(value_of(*checked, "sslmode") == c.text);
    return;
  }
  BOOST_TEST(checked.error().text.find(c.text) != std::string::npos, checked.error().text);
  BOOST_TEST(checked.error().text.find("hunter2") == std::string::npos, checked.error().text);
}

BOOST_AUTO_TEST_CASE(insecure_address_is_accepted_on_request) {
  const auto checked = check_address("postgresql://db.example.com/jobs?sslmode=disable", true);
  BOOST_TEST_REQUIRE(checked.has_value());
  BOOST_TEST(value_of(*checked, "sslmode") == "disable");
}

BOOST_AUTO_TEST_CASE(name_of_address_contains_no_user) {
  const auto checked = check_address("postgresql://secret_user@localhost/jobs", false);
  BOOST_TEST_REQUIRE(checked.has_value());
  BOOST_TEST(checked->name == "localhost/jobs");
}

BOOST_AUTO_TEST_CASE(each_host_is_one_attempt_to_connect) {
  const auto hosts_of = [](const char* url) {
    auto out = std::string{};
    for (const auto& keywords : connection_attempts(*check_address(url, true))) {
      const auto one = pg_address{keywords, {}};
      out += value_of(one, "host") + ':' + value_of(one, "port") + ' ' +
             value_of(one, "target_session_attrs") + ';';
    }
    return out;
  };
  BOOST_TEST(hosts_of("postgresql://a/jobs") == "a: ;");
  BOOST_TEST(hosts_of("postgresql:///jobs") == ": ;");
  BOOST_TEST(hosts_of("postgresql://a:1,b:2/jobs") == "a:1 ;b:2 ;");
  BOOST_TEST(hosts_of("postgresql:///jobs?host=a,b&port=3") == "a:3 ;b:3 ;");
  BOOST_TEST(hosts_of("postgresql://a,b/jobs?target_session_attrs=prefer-standby") ==
             "a: standby;b: standby;a: any;b: any;");
  BOOST_TEST(hosts_of("postgresql:///jobs?host=a,b,c&port=1,2") == "a,b,c:1,2 ;"); // an error
}

BOOST_AUTO_TEST_CASE(attempt_to_connect_is_limited) {
  const auto limit = [](const char* url) {
    return connect_timeout_of(check_address(url, true)->parameters).count();
  };
  BOOST_TEST(limit("postgresql://a/jobs") == 10);
  BOOST_TEST(limit("postgresql://a/jobs?connect_timeout=3") == 3);
  BOOST_TEST(limit("postgresql://a/jobs?connect_timeout=1") == 2);
  BOOST_TEST(limit("postgresql://a/jobs?connect_timeout=0") == 0);
}
