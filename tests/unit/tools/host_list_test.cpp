// SPDX-License-Identifier: Apache-2.0
// The list of allowed hosts of http_get, and redirects.
#include "tools/host_list.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <string>
#include <vector>

using superstep::detail::host_list;
using superstep::detail::redirect_target;
using superstep::parse_url;

BOOST_AUTO_TEST_SUITE(host_lists)

namespace {

struct host_case {
  std::string pattern, address;
  bool allowed = false;
};
std::ostream& operator<<(std::ostream& out, const host_case& c) {
  return out << c.pattern << ' ' << c.address;
}

const auto hosts = std::vector<host_case>{
    {"example.org", "http://example.org/x", true},
    {"example.org", "https://EXAMPLE.org/x", true},
    {"Example.Org", "https://example.org", true},
    {"example.org", "http://example.org:8080/", false},
    {"example.org:8080", "http://example.org:8080/", true},
    {"example.org:8080", "http://example.org/", false},
    {"example.org", "http://sub.example.org/", false},
    {"example.org", "http://notexample.org/", false},
    {"example.org", "http://example.org.evil.net/", false},
    {"*.example.org", "http://a.b.example.org/", true},
    {"*.example.org", "http://example.org/", false},
    {"*.example.org", "http://notexample.org/", false},
    {"127.0.0.1:80", "http://127.0.0.1/", true},
    {"[::1]:81", "http://[::1]:81/", true},
    {"[::1]", "http://[::1]/", true},
};

struct redirect_case {
  std::string base, location, target;
};
std::ostream& operator<<(std::ostream& out, const redirect_case& c) {
  return out << c.location;
}

const auto redirects = std::vector<redirect_case>{
    {"http://a.org/x/y?q=1", "http://b.org/z", "http://b.org/z"},
    {"https://a.org/x", "//b.org/z", "https://b.org/z"},
    {"https://a.org:444/x/y", "/z?p", "https://a.org:444/z?p"},
    {"http://a.org/x/y?q=/1", "z", "http://a.org/x/z"},
    {"http://a.org/x/y?q=1", "?p", "http://a.org/x/y?p"},
    {"http://a.org", "z", "http://a.org/z"},
    {"http://a.org/x/y?q", "", "http://a.org/x/y?q"},
    {"http://a.org/x/y?q", "#part", "http://a.org/x/y?q"},
    {"http://a.org/x/y/z", "../w?p=/../1", "http://a.org/x/w?p=/../1"},
    {"http://a.org/x/y/z", "./w/./v", "http://a.org/x/y/w/v"},
    {"http://a.org/x/y/z", "..", "http://a.org/x/"},
    {"http://a.org/x/y/z", ".", "http://a.org/x/y/"},
    {"http://a.org/x/y/z", "../../../../w", "http://a.org/w"},
    {"http://a.org/x", "/b/c/../d/./e#f", "http://a.org/b/d/e#f"},
    {"http://a.org/x", "/b//../c..", "http://a.org/b/c.."},
    {"http://a.org/x", "/..b/...", "http://a.org/..b/..."},
    {"http://a.org/x", "file:///etc/passwd", "file:///etc/passwd"},
};

} // namespace

BOOST_DATA_TEST_CASE(only_urls_of_listed_hosts_are_allowed, boost::unit_test::data::make(hosts),
                     c) {
  const auto list = host_list::make({c.pattern});
  BOOST_REQUIRE(list.has_value());
  const auto address = parse_url(c.address);
  BOOST_REQUIRE(address.has_value());
  BOOST_TEST(list->allows(*address) == c.allowed);
}

BOOST_AUTO_TEST_CASE(empty_list_or_invalid_host_pattern_is_rejected) {
  BOOST_TEST(host_list::make({}).has_error());
  for (const auto* pattern : {"", "*", "*.", "http://a.org", "a.org/x", "a.org:", "a.org:0",
                              "a.org:99999", "a.org:8o", "u@a.org", "::1", "[::1"})
    BOOST_TEST(host_list::make({pattern}).has_error(), pattern);
}

BOOST_DATA_TEST_CASE(redirect_location_is_resolved_against_the_url,
                     boost::unit_test::data::make(redirects), c) {
  BOOST_TEST(redirect_target(*parse_url(c.base), c.location) == c.target);
}

BOOST_AUTO_TEST_SUITE_END()
