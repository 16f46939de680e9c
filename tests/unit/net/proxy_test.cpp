// SPDX-License-Identifier: Apache-2.0
// Proxy selection from the environment, proxy credentials, and decoding of gzip bodies.
#include "net/gunzip.hpp"
#include "net/proxy.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <ostream>
#include <string>
#include <vector>

#include <zlib.h>

using namespace superstep;

namespace {

struct choice_case {
  std::string_view name;
  std::map<std::string, std::string> variables;
  std::string_view target;
  std::string_view proxy; ///< host; empty if no proxy is used
};
std::ostream& operator<<(std::ostream& out, const choice_case& c) {
  return out << c.name;
}
const auto choice_cases = std::vector<choice_case>{
    {"nothing is set", {}, "http://a.org", ""},
    {"http", {{"http_proxy", "http://p:1"}}, "http://a.org", "p"},
    {"the proxy for http is not for https", {{"http_proxy", "http://p:1"}}, "https://a.org", ""},
    {"in capitals", {{"HTTPS_PROXY", "http://p:1/"}}, "https://a.org", "p"},
    {"one for all", {{"ALL_PROXY", "p:1"}}, "https://a.org", "p"},
    {"an exception", {{"http_proxy", "p:1"}, {"no_proxy", "b.org, a.org"}}, "http://a.org", ""},
    {"a domain below an exception",
     {{"http_proxy", "p:1"}, {"no_proxy", ".a.org"}},
     "http://x.a.org",
     ""},
    {"a name that ends like an exception",
     {{"http_proxy", "p:1"}, {"no_proxy", "a.org"}},
     "http://xa.org",
     "p"},
    {"an exception with a port",
     {{"http_proxy", "p:1"}, {"NO_PROXY", "a.org:81"}},
     "http://a.org",
     "p"},
    {"everything is an exception", {{"http_proxy", "p:1"}, {"no_proxy", "*"}}, "http://a.org", ""},
    {"this machine", {{"http_proxy", "p:1"}}, "http://localhost:8000", ""},
    {"this machine by number", {{"http_proxy", "p:1"}}, "http://127.0.0.1:8000", ""},
};

std::string packed(std::string text) {
  auto z = z_stream{};
  BOOST_REQUIRE(::deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  auto out = std::string(::deflateBound(&z, text.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(text.data());
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  BOOST_REQUIRE(::deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}

/// Returns the decompressed text of `bytes`, which are fed in pieces of `size` bytes.
std::string unpacked(gunzip& reader, std::string_view bytes, std::size_t size) {
  auto out = std::string{};
  auto buffer = std::string(4'096, '\0');
  for (auto begin = std::size_t{0}; begin < bytes.size(); begin += size) {
    reader.feed(bytes.substr(begin, size));
    for (auto got = reader.read(buffer.data(), buffer.size()).value(); got > 0;
         got = reader.read(buffer.data(), buffer.size()).value())
      out.append(buffer, 0, got);
  }
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(environment_variables_select_the_proxy,
                     boost::unit_test::data::make(choice_cases), c) {
  const auto rules = proxy_rules::from([&](const char* name) {
    const auto found = c.variables.find(name);
    return found == c.variables.end() ? std::string{} : found->second;
  });
  const auto* found = rules.find(parse_url(c.target).value()).value();
  BOOST_TEST((found ? found->host : std::string{}) == c.proxy);
}

BOOST_AUTO_TEST_CASE(unsupported_proxy_fails_only_requests_that_use_it) {
  for (const auto* name : {"all_proxy", "ALL_PROXY"}) {
    const auto rules = proxy_rules::from([&](std::string_view asked) {
      return std::string{asked == name           ? "socks5h://secret@p:1"
                         : asked == "no_proxy"   ? "b.org"
                         : asked == "http_proxy" ? "http://q:1"
                                                 : ""};
    });
    for (const auto* excepted : {"https://127.0.0.1", "https://b.org"})
      BOOST_TEST(rules.find(parse_url(excepted).value()).value() == nullptr);
    BOOST_TEST(rules.find(parse_url("http://a.org").value()).value()->host == "q");
    const auto refused = rules.find(parse_url("https://a.org").value());
    BOOST_REQUIRE(refused.has_error());
    const auto& text = refused.error().text;
    BOOST_TEST(text.starts_with("environment variable " + std::string{name} + ':'), text);
    BOOST_TEST(text.find("secret") == text.npos, text);
  }
}

BOOST_AUTO_TEST_CASE(credentials_of_proxy_url_become_authorization_header) {
  const auto proxy = parse_proxy("http://user:p%40ss@proxy.org:3128");
  BOOST_REQUIRE(proxy.has_value());
  BOOST_TEST(proxy->host == "proxy.org");
  BOOST_TEST(proxy->port == 3128);
  BOOST_TEST(proxy->authorization == "Basic dXNlcjpwQHNz");
}

BOOST_AUTO_TEST_CASE(unsupported_proxy_urls_are_rejected) {
  for (const auto* text : {"socks5://p:1", "https://p:1", "http://", "p:port", "http://p/path"})
    BOOST_TEST(parse_proxy(text).has_error(), text);
}

BOOST_AUTO_TEST_CASE(gunzip_output_does_not_depend_on_input_splits) {
  auto text = std::string{};
  for (auto i = 0; i < 20'000; ++i)
    text += std::to_string(i * 7919) + ' ';
  const auto bytes = packed(text);
  for (const auto size : {1U, 7U, 1'000U, 100'000U}) {
    auto reader = gunzip{};
    BOOST_TEST((unpacked(reader, bytes, size) == text));
    BOOST_TEST(!reader.is_cut());
  }
}

BOOST_AUTO_TEST_CASE(gunzip_reads_all_members) {
  const auto bytes = packed("first ") + packed("") + packed("second");
  for (const auto size : {1U, 7U, 1'000U}) {
    auto reader = gunzip{};
    BOOST_TEST(unpacked(reader, bytes, size) == "first second");
    BOOST_TEST(!reader.is_cut());
  }
}

BOOST_AUTO_TEST_CASE(gunzip_detects_truncated_second_member) {
  const auto bytes = packed("first ") + packed("second");
  for (const auto size : {1U, 1'000U}) {
    auto reader = gunzip{};
    (void)unpacked(reader, std::string_view{bytes}.substr(0, bytes.size() - 3), size);
    BOOST_TEST(reader.is_cut());
  }
}

BOOST_AUTO_TEST_CASE(gunzip_ignores_padding_after_last_member) {
  const auto bytes = packed("text") + std::string(20, '\0');
  for (const auto size : {1U, 1'000U}) {
    auto reader = gunzip{};
    BOOST_TEST(unpacked(reader, bytes, size) == "text");
    BOOST_TEST(!reader.is_cut());
  }
}

BOOST_AUTO_TEST_CASE(truncated_or_damaged_gzip_is_detected) {
  const auto bytes = packed("hello");
  auto buffer = std::string(100, '\0');
  auto cut = gunzip{};
  cut.feed(std::string_view{bytes}.substr(0, bytes.size() - 3));
  while (cut.read(buffer.data(), buffer.size()).value() > 0) {
  }
  BOOST_TEST(cut.is_cut());
  auto nonsense = gunzip{};
  nonsense.feed("no gzip at all");
  BOOST_TEST(nonsense.read(buffer.data(), buffer.size()).has_error());
}
