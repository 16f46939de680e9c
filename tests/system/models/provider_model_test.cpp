// SPDX-License-Identifier: Apache-2.0
#include "loopback_server.hpp"
#include "private_authority.hpp"
#include "server_process.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

using namespace superstep;
using test::chat_server;
using test::loopback_server;

BOOST_AUTO_TEST_SUITE(provider_model_suite)

namespace {

constexpr auto rows = 1'000;
constexpr auto rows_with_faults = 400; // each waits for some seconds in all

// Under a sanitizer everything takes so long that what depends on real time says nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto is_instrumented = true;
#else
constexpr auto is_instrumented = false;
#endif

json::value stats_of(const chat_server& server, io_runtime& io) {
  auto client = http_client::make(io, http_client_options{});
  auto request = http_request{};
  request.url = server.url() + "/stats";
  return parse_json(sync_wait(client->send(request))->body).value();
}

/// One way to talk to a server.
struct talk {
  std::string_view name;
  provider_api api;
  bool stream;
};
std::ostream& operator<<(std::ostream& out, const talk& t) {
  return out << t.name;
}
const auto talks = std::vector<talk>{{"chat", provider_api::openai_chat, false},
                                     {"chat, streamed", provider_api::openai_chat, true},
                                     {"responses", provider_api::openai_responses, false},
                                     {"responses, streamed", provider_api::openai_responses, true},
                                     {"anthropic", provider_api::anthropic, false},
                                     {"anthropic, streamed", provider_api::anthropic, true},
                                     {"ollama", provider_api::ollama, true}};
/// What takes long is done with these: one of each way to read an answer.
const auto some_talks = std::vector<talk>{talks[0], talks[1], talks[5], talks[6]};

chat_model_ptr make_model(io_runtime& io, const std::string& url, talk how,
                          std::shared_ptr<model_limits> limits, std::string ca_file = {}) {
  ::setenv("SUPERSTEP_TEST_KEY", "sk-very-secret-key-1", 1);
  auto options = provider_model_options{};
  options.model = "recorded";
  options.base_url = url;
  options.api_key_env = "SUPERSTEP_TEST_KEY";
  options.api = how.api;
  options.stream = how.stream;
  options.ca_file = std::move(ca_file);
  options.backoff_base_ms = 20;
  options.total_timeout_ms = 30'000;
  options.rate_limited_max = 20;
  auto made = make_provider_model(std::move(options), io, std::move(limits));
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

std::shared_ptr<model_limits> make_limits(std::size_t calls) {
  auto options = model_limits_options{};
  options.model_calls = calls;
  return std::make_shared<model_limits>(options);
}

/// Both turns of one row; the text of the second, or what went wrong.
task<std::string> run_row(chat_model_ptr model, int row) {
  auto request = model_request{};
  request.run_key = "r" + std::to_string(row);
  request.messages.push_back(human_message("question " + std::to_string(row)));
  auto second = request;
  auto asking = model->complete(std::move(request));
  auto first = co_await asking;
  if (!first)
    co_return first.error().text;
  if (first->tool_calls.size() != 2 || first->tool_calls[0].args.at("n") != row ||
      first->tool_calls[1].args.at("text") != "é and more")
    co_return "the calls are not what was recorded";
  second.turn = 1;
  second.messages.push_back(*first);
  for (const auto& call : first->tool_calls) // Ollama's ids are made up on our side
    second.messages.push_back(tool_message("1", call.id, call.name));
  auto asking_again = model->complete(std::move(second));
  auto last = co_await asking_again;
  if (!last)
    co_return last.error().text;
  co_return last->usage && last->usage->total_tokens == 15 ? text_of(*last) : "no usage";
}

void run_all(const chat_model_ptr& model, int count) {
  auto calls = std::vector<task<std::string>>{};
  for (auto i = 0; i < count; ++i)
    calls.push_back(run_row(model, i));
  const auto answers = sync_wait(when_all(std::move(calls)));
  for (auto i = 0; i < count; ++i)
    BOOST_TEST(answers.at(static_cast<std::size_t>(i)).value.value() ==
               "answer " + std::to_string(i));
}

/// A server that gives this answer to everything.
result<message> ask_server_that_says(const std::string& answer, bool stream = false) {
  auto server = loopback_server{[&](auto& socket, int) {
    loopback_server::read_head(socket);
    loopback_server::write(socket, answer);
  }};
  auto io = io_runtime{};
  const auto model = make_model(io, server.address(), talks[stream ? 1 : 0], make_limits(1));
  auto request = model_request{};
  request.messages.push_back(human_message("x"));
  return sync_wait(model->complete(std::move(request)));
}

std::string reply(const std::string& status, const std::string& body,
                  const std::string& more = {}) {
  return "HTTP/1.1 " + status + "\r\n" + more +
         "Connection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

} // namespace

BOOST_DATA_TEST_CASE(a_thousand_calls_are_in_flight_at_once, boost::unit_test::data::make(talks),
                     how) {
  auto server = chat_server{{"--latency-ms", "1000"}};
  auto io = io_runtime{};
  run_all(make_model(io, server.url(), how, make_limits(0)), rows);
  const auto seen = stats_of(server, io);
  BOOST_TEST_MESSAGE(json::serialize(seen));
  BOOST_TEST((is_instrumented || seen.at("in_flight_max").as_int64() > rows / 2));
  BOOST_TEST(seen.at("answered").as_int64() == 2 * rows);
}

BOOST_DATA_TEST_CASE(all_rows_end_well_in_spite_of_faults, boost::unit_test::data::make(talks),
                     how) {
  auto server = chat_server{{"--latency-ms", "5", "--fault-429", "5", "--fault-500", "2",
                             "--fault-drop", "1", "--fault-half", "1"}};
  auto io = io_runtime{};
  const auto limits = make_limits(32);
  run_all(make_model(io, server.url(), how, limits), rows_with_faults);
  const auto seen = stats_of(server, io);
  BOOST_TEST_MESSAGE(json::serialize(seen));
  BOOST_TEST(seen.at("too_many_requests").as_int64() > 10);
  BOOST_TEST(seen.at("dropped").as_int64() > 0);
  BOOST_TEST(seen.at("half_sent").as_int64() > 0);
  BOOST_TEST(seen.at("in_flight_max").as_int64() <= 32);
  BOOST_TEST(limits->calls().in_flight_max() <= 32u);
  BOOST_TEST(seen.at("early").as_int64() == 0);
}

BOOST_AUTO_TEST_CASE(final_errors_are_told_without_the_key) {
  const auto refused = ask_server_that_says(
      reply("401 Unauthorized",
            R"({"error":{"message":"Incorrect API key provided: sk-very-secret-key-1."}})"));
  BOOST_TEST((refused.error().code == make_error_code(model_errc::unauthorized)));
  BOOST_TEST(refused.error().text.find("sk-very-secret-key-1") == std::string::npos);
  BOOST_TEST(refused.error().text.find("Incorrect API key") != std::string::npos);
  const auto quota = ask_server_that_says(
      reply("429 Too Many Requests", R"({"error":{"message":"pay","code":"insufficient_quota"}})"));
  BOOST_TEST((quota.error().code == make_error_code(model_errc::quota_exhausted)));
  const auto html = ask_server_that_says(reply("200 OK", "<html>It works!</html>"));
  BOOST_TEST((html.error().code == make_error_code(model_errc::bad_answer)));
}

BOOST_AUTO_TEST_CASE(a_server_that_never_recovers_is_given_up) {
  const auto down = ask_server_that_says(reply("500 Oops", "no"));
  BOOST_TEST((down.error().code == make_error_code(model_errc::server_error)));
  BOOST_TEST(down.error().text.find("given up after 8 attempts") != std::string::npos);
  const auto busy = ask_server_that_says(reply("429 Wait", "no", "retry-after-ms: 1\r\n"));
  BOOST_TEST((busy.error().code == make_error_code(model_errc::rate_limited)));
  const auto cut = ask_server_that_says("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                                        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
                                        true);
  BOOST_TEST((cut.error().code == make_error_code(model_errc::unreachable)));
}

namespace {

/// Counts the requests to a server that gives these answers, and the last one again.
int requests_until_done(const std::vector<std::string>& answers, bool& is_ok) {
  auto asked = std::atomic<int>{0};
  auto server = loopback_server{[&](auto& socket, int) {
    loopback_server::read_head(socket);
    const auto number = static_cast<std::size_t>(asked++);
    loopback_server::write(socket, answers[std::min(number, answers.size() - 1)]);
  }};
  auto io = io_runtime{};
  const auto model = make_model(io, server.address(), talks[0], make_limits(1));
  is_ok = sync_wait(ask(model, "x")).has_value();
  return asked;
}

} // namespace

BOOST_AUTO_TEST_CASE(unreadable_answers_are_asked_for_again) {
  const auto good =
      reply("200 OK", R"({"choices":[{"message":{"role":"assistant","content":"hi"}}]})");
  const auto page = reply("200 OK", "<html>busy</html>");
  const auto half = reply("200 OK", R"({"choices":[{"mess)");
  const auto odd = reply("200 OK", R"({"choices":[]})");
  const auto failed = reply("200 OK", R"({"error":{"code":503,"message":"overloaded"}})");
  auto is_ok = false;
  BOOST_TEST(requests_until_done({page, half, failed, good}, is_ok) == 4);
  BOOST_TEST(is_ok);
  BOOST_TEST(requests_until_done({odd, good}, is_ok) == 2);
  BOOST_TEST(is_ok);
  BOOST_TEST(requests_until_done({odd, odd, good}, is_ok) == 2); // it would be the same again
  BOOST_TEST(!is_ok);
}

BOOST_AUTO_TEST_CASE(queries_and_headers_go_out_and_not_into_errors) {
  auto heads = std::string{};
  auto server = loopback_server{[&](auto& socket, int) {
    const auto head = loopback_server::read_head(socket);
    heads += head;
    loopback_server::write(socket, reply("400 No", head));
  }};
  ::setenv("SUPERSTEP_TEST_GATEWAY", "gateway-0123456789", 1);
  auto io = io_runtime{};
  auto options = provider_model_options{};
  options.model = "m";
  options.api_key_env = "";
  options.base_url = server.address() + "/openai/?api-version=2024-10-21&k=secret-in-query";
  options.headers = {{"X-Title", "an app"}, {"authorization", "Basic 0123456789abcdef"}};
  options.headers_env = {{"X-Gateway-Key", "SUPERSTEP_TEST_GATEWAY"}};
  const auto model = make_provider_model(options, io, make_limits(1)).value();
  const auto answer = sync_wait(ask(model, "x"));
  BOOST_TEST(heads.find("POST /openai/chat/completions?api-version=2024-10-21&k=secret-in-query ") !=
             std::string::npos);
  for (const auto* line : {"X-Title: an app", "X-Gateway-Key: gateway-0123456789",
                           "authorization: Basic 0123456789abcdef"})
    BOOST_TEST(heads.find(line) != std::string::npos, heads);
  const auto text = answer.error().text + model->fingerprint();
  for (const auto* hidden : {"api-version", "secret-in-query", "gateway-0123", "0123456789abcdef"})
    BOOST_TEST(text.find(hidden) == std::string::npos, text);
  BOOST_TEST(text.find(server.address() + "/openai/chat/completions") != std::string::npos, text);
  options.base_url = server.address() + "/openai?api-version=2";
  BOOST_TEST(make_provider_model(options, io, make_limits(1)).value()->fingerprint() !=
             model->fingerprint());
}

BOOST_AUTO_TEST_CASE(headers_of_the_client_cannot_be_set) {
  auto io = io_runtime{};
  for (const auto& header : http_headers{{"Content-Length", "1"}, {"host", "x"}, {"a b", "x"},
                                         {"", "x"}, {"x", "a\r\nb: c"}}) {
    auto options = provider_model_options{};
    options.model = "m";
    options.api_key_env = "";
    options.headers = {header};
    BOOST_TEST(make_provider_model(options, io, make_limits(1)).has_error(), header.first);
  }
}

BOOST_AUTO_TEST_CASE(keys_over_plain_http_are_warned_of) {
  ::setenv("SUPERSTEP_TEST_KEY", "sk-very-secret-key-1", 1);
  const auto warnings = [](const char* url, const char* key_env) {
    auto options = provider_model_options{};
    options.base_url = url;
    options.api_key_env = key_env;
    return warnings_of(options).size();
  };
  for (const auto* url : {"http://example.org/v1", "http://10.0.0.7:8000", "http://[2001:db8::1]/v1"}) {
    BOOST_TEST(warnings(url, "SUPERSTEP_TEST_KEY") == 1U, url);
    BOOST_TEST(warnings(url, "") == 0U, url);
  }
  for (const auto* url : {"https://example.org/v1", "http://localhost:11434", "http://127.0.0.2:80",
                          "http://[::1]:80", ""})
    BOOST_TEST(warnings(url, "SUPERSTEP_TEST_KEY") == 0U, url);
}

BOOST_AUTO_TEST_CASE(a_server_that_does_not_stream_when_asked_to_is_understood) {
  const auto whole = ask_server_that_says(
      reply("200 OK", R"({"choices":[{"message":{"role":"assistant","content":"hi"}}]})"), true);
  BOOST_REQUIRE(whole.has_value());
  BOOST_TEST(whole->content == "hi");
}

BOOST_DATA_TEST_CASE(who_listens_hears_what_adds_up_to_the_message,
                     boost::unit_test::data::make(some_talks), how) {
  auto server = chat_server{{}, 1};
  auto io = io_runtime{};
  const auto model = make_model(io, server.url(), how, make_limits(1));
  auto pieces = std::vector<message_chunk>{};
  const auto answer = sync_wait(
      ask(model, "question 0", [&](const message_chunk& piece) { pieces.push_back(piece); }));
  BOOST_REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
  BOOST_TEST(pieces.size() > 4U);
  auto sum = pieces.at(0);
  for (auto i = std::size_t{1}; i < pieces.size(); ++i)
    append(sum, pieces[i]).value();
  BOOST_TEST(sum.is_last);
  const auto told = to_message(std::move(sum));
  BOOST_TEST(text_of(told) == "thinking");
  BOOST_TEST(text_of(*answer) == "thinking");
  BOOST_TEST((told.tool_calls == answer->tool_calls));
  BOOST_TEST(answer->tool_calls.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_private_authority_is_trusted_when_it_is_named_and_else_refused) {
  const auto authority = test::private_authority{};
  auto server =
      chat_server{{"--cert", authority.file("cert.pem"), "--key", authority.file("key.pem")}, 1};
  auto io = io_runtime{};
  const auto url = "https://localhost:" + std::to_string(server.port());
  for (const auto& how : talks) {
    const auto model = make_model(io, url, how, make_limits(1), authority.file("ca.pem"));
    const auto answer = sync_wait(ask(model, "question 0"));
    BOOST_TEST_REQUIRE(answer.has_value(), how << (answer ? "" : answer.error().text));
    BOOST_TEST(text_of(*answer) == "thinking");
  }
  auto options = provider_model_options{};
  options.model = "recorded";
  options.base_url = url;
  options.api_key_env = "";
  options.attempts_max = 1;
  const auto wary = make_provider_model(options, io, make_limits(1));
  const auto refused = sync_wait(ask(*wary, "question 0"));
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST((refused.error().code == make_error_code(model_errc::unreachable)));
  BOOST_TEST(refused.error().text.find("TLS") != std::string::npos, refused.error().text);
}

BOOST_AUTO_TEST_SUITE_END()
