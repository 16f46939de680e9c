// SPDX-License-Identifier: Apache-2.0
// Parsing of URLs and lookup of headers.
#include "net/url.hpp"

#include <superstep/net/http_client.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string_view>
#include <vector>

namespace {

struct good_case {
  std::string_view text;
  std::string_view host;
  int port;
  std::string_view target;
  std::string_view authority;
};
std::ostream& operator<<(std::ostream& out, const good_case& c) {
  return out << c.text;
}

const auto good_cases = std::vector<good_case>{
    {"http://example.org", "example.org", 80, "/", "example.org"},
    {"HTTPS://Example.ORG/a?b=c#d", "example.org", 443, "/a?b=c", "example.org"},
    {"http://127.0.0.1:8080/v1", "127.0.0.1", 8080, "/v1", "127.0.0.1:8080"},
    {"https://[::1]:444/x", "::1", 444, "/x", "[::1]:444"},
    {"http://host?q", "host", 80, "/?q", "host"},
    {"http://host/stra\u00dfe?q=\u20ac#\u00e4", "host", 80, "/stra%C3%9Fe?q=%E2%82%AC", "host"},
    {"http://host/%C3%9F", "host", 80, "/%C3%9F", "host"},
    {"http://host?\xff", "host", 80, "/?%FF", "host"},
};

const auto bad_cases = std::vector<std::string_view>{
    "",
    "example.org",
    "ftp://example.org",
    "file:///etc/passwd",
    "http://",
    "http://:80/",
    "http://user:secret@host/",
    "ftp://user:secret@host/",
    "http://user:secret@ho st/",
    "user:secret@host",
    "http://host:0/",
    "http://host:70000/",
    "http://host:/",
    "http://a b/",
    "http://host/\r\nX: y",
    "http://[::1",
    "http://[x]/",
    "http://ho\"st/",
    "http://stra\u00dfe.org/",
    "http://host/\x7f",
};

} // namespace

BOOST_DATA_TEST_CASE(url_is_parsed_into_host_port_and_target,
                     boost::unit_test::data::make(good_cases), c) {
  const auto parsed = superstep::parse_url(c.text);
  BOOST_REQUIRE(parsed.has_value());
  BOOST_TEST(parsed->host == c.host);
  BOOST_TEST(parsed->port == c.port);
  BOOST_TEST(parsed->target == c.target);
  BOOST_TEST(parsed->authority() == c.authority);
}

BOOST_DATA_TEST_CASE(invalid_url_is_rejected_without_exposing_credentials,
                     boost::unit_test::data::make(bad_cases), text) {
  const auto parsed = superstep::parse_url(text);
  BOOST_REQUIRE(parsed.has_error());
  BOOST_TEST(parsed.error().text.find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(international_host_is_rejected_with_its_reason) {
  const auto parsed = superstep::parse_url("http://stra\u00dfe.org/");
  BOOST_TEST(parsed.error().text.find("the host contains an invalid character") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(find_header_ignores_case_and_returns_first_match) {
  const auto headers = superstep::http_headers{{"Retry-After", "3"}, {"retry-after", "4"}};
  BOOST_TEST(*superstep::find_header(headers, "RETRY-AFTER") == "3");
  BOOST_TEST(superstep::find_header(headers, "Retry") == nullptr);
}
