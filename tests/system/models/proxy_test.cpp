// SPDX-License-Identifier: Apache-2.0
// Models behind an HTTP proxy, which is a separate process. The host names do not exist, so a
// request that bypasses the proxy fails.
#include "private_authority.hpp"
#include "server_process.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace superstep;
using test::chat_server;
using test::server_process;

BOOST_AUTO_TEST_SUITE(proxy_suite)

namespace {

/// Sets an environment variable during its lifetime.
class variable {
public:
  variable(const char* name, const std::string& value) : name_{name} {
    ::setenv(name, value.c_str(), 1);
  }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  ~variable() { ::unsetenv(name_); }

private:
  const char* name_;
};

result<message> ask_at(io_runtime& io, const std::string& url, std::string ca_file = {}) {
  auto options = provider_model_options{};
  options.model = "recorded";
  options.base_url = url;
  options.api_key_env = "";
  options.attempts_max = 1;
  options.stream = true;
  options.ca_file = std::move(ca_file);
  const auto model =
      make_provider_model(options, io, std::make_shared<model_limits>(model_limits_options{}));
  return model ? sync_wait(ask(*model, "question 0")) : result<message>{model.error()};
}

} // namespace

BOOST_AUTO_TEST_CASE(environment_selects_proxy_for_http) {
  auto server = chat_server{{}, 1};
  auto proxy = server_process{PROXY_SERVER, {std::to_string(server.port()), "Basic dTpwQHNz"}};
  const auto address = std::to_string(proxy.port());
  auto io = io_runtime{};
  {
    const auto with_key = variable{"http_proxy", "http://u:p%40ss@127.0.0.1:" + address};
    const auto answer = ask_at(io, "http://model.test/v1");
    BOOST_REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
    BOOST_TEST(text_of(*answer) == "thinking");
    BOOST_TEST(proxy.read_line() == "request http://model.test/v1/chat/completions");
    BOOST_TEST(ask_at(io, server.url()).has_value()); // bypasses the proxy, which reports requests
    const auto except = variable{"no_proxy", "other.test,.test"};
    BOOST_TEST(ask_at(io, "http://model.test/v1").has_error());
  }
  const auto without_key = variable{"HTTP_PROXY", "127.0.0.1:" + address};
  const auto refused = ask_at(io, "http://model.test/v1");
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST(refused.error().text.find("407") != std::string::npos, refused.error().text);
}

BOOST_AUTO_TEST_CASE(error_names_the_proxy_without_its_password) {
  auto io = io_runtime{};
  // no test listens on the discard port
  const auto http = variable{"http_proxy", "http://u:a-password@127.0.0.1:9"};
  const auto https = variable{"https_proxy", "http://u:a-password@127.0.0.1:9"};
  for (const auto* url : {"http://model.test/v1", "https://model.test/v1"}) {
    const auto text = ask_at(io, url).error().text;
    BOOST_TEST(text.find("the proxy 127.0.0.1:9 failed") != text.npos, text);
    BOOST_TEST(text.find("a-password") == text.npos, text);
  }
}

BOOST_AUTO_TEST_CASE(https_request_goes_through_proxy_tunnel) {
  const auto authority = test::private_authority{};
  auto server =
      chat_server{{"--cert", authority.file("cert.pem"), "--key", authority.file("key.pem")}, 1};
  auto proxy = server_process{PROXY_SERVER, {std::to_string(server.port()), "Basic dTpw"}};
  auto io = io_runtime{};
  const auto address = "127.0.0.1:" + std::to_string(proxy.port());
  {
    const auto named = variable{"https_proxy", "http://u:p@" + address};
    const auto answer = ask_at(io, "https://model.test/v1", authority.file("ca.pem"));
    BOOST_REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
    BOOST_TEST(text_of(*answer) == "thinking");
    BOOST_TEST(proxy.read_line() == "tunnel model.test:443");
    BOOST_TEST(ask_at(io, "https://model.test/v1").has_error()); // the authority is not trusted
    BOOST_TEST(ask_at(io, "https://wrong.test/v1", authority.file("ca.pem")).has_error());
  }
  const auto named = variable{"all_proxy", "http://u:wrong-word@" + address};
  const auto refused = ask_at(io, "https://model.test/v1", authority.file("ca.pem"));
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST(refused.error().text.find("407") != std::string::npos, refused.error().text);
  BOOST_TEST(refused.error().text.find("wrong-word") == std::string::npos, refused.error().text);
}

BOOST_AUTO_TEST_CASE(unusable_proxy_is_a_configuration_error) {
  auto io = io_runtime{};
  for (const auto* address : {"socks5://127.0.0.1:1080", "http://:pass@", "http://a b"}) {
    const auto named = variable{"http_proxy", address};
    const auto refused = ask_at(io, "http://model.test/v1");
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST((refused.error().code == make_error_code(model_errc::bad_configuration)));
    BOOST_TEST(refused.error().text.find("http_proxy") != std::string::npos, refused.error().text);
    BOOST_TEST(refused.error().text.find("pass@") == std::string::npos, refused.error().text);
  }
}

BOOST_AUTO_TEST_SUITE_END()
