// SPDX-License-Identifier: Apache-2.0
// Models behind servers that misbehave, each a separate process: a clear error, and no hang.
#include "server_process.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <ostream>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(hostile_server_suite)

namespace {

namespace data = boost::unit_test::data;

const auto apis =
    std::vector<provider_api>{provider_api::openai_chat, provider_api::openai_responses,
                              provider_api::anthropic, provider_api::ollama};

struct misdeed {
  std::string_view name;
  model_errc kind;
  std::string_view says; ///< part of the error
};
std::ostream& operator<<(std::ostream& out, const misdeed& m) {
  return out << m.name;
}
const auto misdeeds = std::vector<misdeed>{
    {"stall", model_errc::timed_out, "no data for 300 ms"},
    {"slow_head", model_errc::timed_out, "no data for 300 ms"},
    {"half_chunk", model_errc::unreachable, "closed the connection"},
    {"close_early", model_errc::unreachable, "closed the connection"},
    {"endless", model_errc::bad_answer, "larger than"},
    {"bad_utf8", model_errc::server_error, "UTF-8"},
    {"wrong_type", model_errc::bad_answer, "text/html"},
    {"wrong_label", model_errc::bad_answer, "text/html"},
    {"cut_packed", model_errc::unreachable, "truncated"},
};

chat_model_ptr make_model(io_runtime& io, const std::string& url, provider_api api,
                          std::string_view how) {
  ::setenv("SUPERSTEP_TEST_KEY", "sk-very-secret-key-1", 1);
  auto options = provider_model_options{};
  options.api = api;
  options.model = how;
  options.base_url = url;
  options.api_key_env = "SUPERSTEP_TEST_KEY";
  options.stream = true;
  options.attempts_max = 2;
  options.backoff_base = std::chrono::milliseconds{1};
  options.answer_bytes_max = 12'000'000;
  // Long enough for a busy machine, except where silence is tested.
  options.idle_timeout = how == "stall" || how == "slow_head" ? std::chrono::milliseconds{300}
                                                              : std::chrono::seconds{30};
  auto made = make_provider_model(std::move(options), io,
                                  std::make_shared<model_limits>(model_limits_options{}));
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

} // namespace

BOOST_DATA_TEST_CASE(error_names_misbehaving_server_and_its_fault,
                     data::make(misdeeds) * data::make({0, 1, 2, 3}), how, api) {
  auto server = test::server_process{HOSTILE_SERVER, {}};
  auto io = io_runtime{};
  const auto model = make_model(io, server.url(), apis[static_cast<std::size_t>(api)], how.name);
  const auto answer = sync_wait(ask(model, "hello"));
  BOOST_REQUIRE(answer.has_error());
  const auto& e = answer.error();
  BOOST_TEST((e.code == make_error_code(how.kind)), e.code.message() << ": " << e.text);
  BOOST_TEST(e.text.find(how.says) != std::string::npos, e.text);
  BOOST_TEST(e.text.find(server.url()) != std::string::npos, e.text);
  BOOST_TEST(e.text.size() < 1000U);
}

BOOST_DATA_TEST_CASE(compressed_answers_and_long_lines_are_read, data::make({0, 1, 2, 3}), api) {
  auto server = test::server_process{HOSTILE_SERVER, {}};
  auto io = io_runtime{};
  for (const auto* how : {"packed", "long_line"}) {
    const auto model = make_model(io, server.url(), apis[static_cast<std::size_t>(api)], how);
    const auto answer = sync_wait(ask(model, "hello"));
    BOOST_TEST_REQUIRE(answer.has_value(), how << (answer ? "" : answer.error().text));
    BOOST_TEST(text_of(*answer) == "a good answer");
  }
}

BOOST_AUTO_TEST_CASE(partly_received_answer_is_not_requested_again) {
  auto server = test::server_process{HOSTILE_SERVER, {}};
  auto io = io_runtime{};
  const auto model = make_model(io, server.url(), provider_api::openai_chat, "close_early");
  auto pieces = 0;
  const auto answer = sync_wait(ask(model, "hello", [&](const message_chunk&) { ++pieces; }));
  BOOST_REQUIRE(answer.has_error());
  BOOST_TEST(pieces > 0);
  BOOST_TEST(answer.error().text.find("(tried") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(api_keys_are_masked_in_errors_only) {
  auto server = test::server_process{HOSTILE_SERVER, {}};
  auto io = io_runtime{};
  for (const auto api : apis) {
    const auto refused = sync_wait(ask(make_model(io, server.url(), api, "echo_key"), "hello"));
    BOOST_REQUIRE(refused.has_error());
    BOOST_TEST(refused.error().text.find("***") != std::string::npos, refused.error().text);
    BOOST_TEST(refused.error().text.find("sk-very") == std::string::npos, refused.error().text);
  }
  const auto echo =
      sync_wait(ask(make_model(io, server.url(), provider_api::openai_chat, "echo_all"), "hello"));
  BOOST_REQUIRE(echo.has_value());
  // The content of answers is never changed.
  BOOST_TEST(echo->content.find("Bearer sk-very") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
