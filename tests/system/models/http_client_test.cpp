// SPDX-License-Identifier: Apache-2.0
// The HTTP client: kept connections, streams, limits, timeouts, cancellation and shortages.
#include "loopback_server.hpp"
#include "support/no_descriptors.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/http_client.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using namespace superstep;
using namespace std::chrono_literals;
using test::loopback_server;

BOOST_AUTO_TEST_SUITE(http_client_suite)

namespace {

http_client make_client(io_runtime& io, http_client_options options = {}) {
  auto made = http_client::make(io, std::move(options));
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

http_request get(std::string url) {
  auto out = http_request{};
  out.url = std::move(url);
  return out;
}

/// Answers every request with its number on the connection.
void serve_numbers(loopback_server::socket& socket, int) {
  for (auto n = 0; !loopback_server::read_head(socket).empty(); ++n)
    loopback_server::write(socket, loopback_server::answer(std::to_string(n)));
}

task<result<http_response>> send_or_give_up(const http_client& client, http_request request) {
  auto sending = client.send(std::move(request));
  co_return co_await sending;
}

} // namespace

BOOST_AUTO_TEST_CASE(sequential_requests_share_one_connection) {
  auto server = loopback_server{serve_numbers};
  auto io = io_runtime{};
  const auto client = make_client(io);
  for (auto i = 0; i < 3; ++i) {
    const auto answer = sync_wait(client.send(get(server.address())));
    BOOST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->body == std::to_string(i));
  }
  BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(client_replaces_body_length_headers_of_caller) {
  auto seen = std::promise<std::string>{};
  auto server = loopback_server{[&](auto& socket, int) {
    seen.set_value(loopback_server::read_head(socket));
    loopback_server::write(socket, loopback_server::answer("x"));
  }};
  auto io = io_runtime{};
  auto request = get(server.address() + "/a?b=c");
  request.method = "POST";
  request.headers = {{"content-length", "70"}, {"Transfer-Encoding", "chunked"}, {"X-Two", "2"}};
  request.body = "body";
  BOOST_TEST(sync_wait(make_client(io).send(std::move(request))).has_value());
  const auto head = seen.get_future().get();
  BOOST_TEST(head.starts_with("POST /a?b=c HTTP/1.1\r\nHost: 127.0.0.1:"), head);
  BOOST_TEST(head.find("\r\nAccept-Encoding: gzip\r\n") != std::string::npos, head);
  BOOST_TEST(head.find("\r\nX-Two: 2\r\nContent-Length: 4\r\n\r\n") != std::string::npos, head);
  BOOST_TEST(head.find("content-length") == std::string::npos, head);
  BOOST_TEST(head.find("chunked") == std::string::npos, head);
}

BOOST_AUTO_TEST_CASE(large_body_arrives_whole_on_reused_connection) {
  auto body = std::string(std::size_t{8} << 20, 'x');
  for (auto i = std::size_t{0}; i < body.size(); i += 1000)
    body[i] = static_cast<char>('a' + i / 1000 % 26);
  auto server = loopback_server{[&](auto& socket, int) {
    (void)loopback_server::read_head(socket);
    loopback_server::write(socket, loopback_server::answer("first"));
    auto text = loopback_server::read_head(socket);
    const auto head = text.find("\r\n\r\n") + 4;
    const auto here = text.size();
    text.resize(head + body.size());
    auto failed = boost::system::error_code{};
    boost::asio::read(socket, boost::asio::buffer(&text[here], text.size() - here), failed);
    const auto is_whole = !failed && text.substr(head) == body;
    loopback_server::write(socket, loopback_server::answer(is_whole ? "whole" : "torn"));
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  BOOST_TEST(sync_wait(client.send(get(server.address())))->body == "first");
  auto request = get(server.address());
  request.method = "POST";
  request.body = body;
  BOOST_TEST(sync_wait(client.send(std::move(request)))->body == "whole");
  BOOST_TEST(server.connections() == 1);
}

BOOST_AUTO_TEST_CASE(request_on_stale_connection_is_retried_once) {
  auto server = loopback_server{[](auto& socket, int number) {
    if (loopback_server::read_head(socket).empty())
      return;
    if (number == 2)
      return; // the client must not retry when a new connection breaks
    loopback_server::write(socket, loopback_server::answer("x"));
    if (number == 0) // reads the next request, and disconnects instead of answering
      loopback_server::read_head(socket);
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  BOOST_TEST(sync_wait(client.send(get(server.address()))).has_value());
  BOOST_TEST(sync_wait(client.send(get(server.address()))).has_value());
  BOOST_TEST(server.connections() == 2);
  std::this_thread::sleep_for(50ms);
  const auto broken = sync_wait(client.send(get(server.address())));
  BOOST_TEST((broken.error().code == make_error_code(errc::io_failed)));
  BOOST_TEST(server.connections() == 3);
}

const auto unasked = std::vector<std::string>{loopback_server::answer("not asked for"),
                                              "HTTP/1.1 200 OK\r\nContent-Le", "x", "\r\n"};

BOOST_DATA_TEST_CASE(unrequested_bytes_after_answer_close_connection,
                     boost::unit_test::data::make(unasked), bytes) {
  auto server = loopback_server{[&](auto& socket, int number) {
    if (!loopback_server::read_head(socket).empty())
      loopback_server::write(socket, loopback_server::answer(std::to_string(number)) + bytes);
    loopback_server::read_head(socket);
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  for (const auto* expected : {"0", "1", "2"})
    BOOST_TEST(sync_wait(client.send(get(server.address())))->body == expected);
  BOOST_TEST(server.connections() == 3);
}

BOOST_DATA_TEST_CASE(unrequested_bytes_on_idle_connection_close_it,
                     boost::unit_test::data::make(unasked), bytes) {
  auto is_idle = std::vector<std::promise<void>>(3);
  auto is_sent = std::vector<std::promise<void>>(3);
  auto server = loopback_server{[&](auto& socket, int number) {
    const auto n = static_cast<std::size_t>(number);
    if (!loopback_server::read_head(socket).empty())
      loopback_server::write(socket, loopback_server::answer(std::to_string(number)));
    is_idle.at(n).get_future().wait();
    loopback_server::write(socket, bytes);
    is_sent.at(n).set_value();
    loopback_server::read_head(socket);
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  for (auto n = std::size_t{0}; n < is_idle.size(); ++n) {
    BOOST_TEST(sync_wait(client.send(get(server.address())))->body == std::to_string(n));
    is_idle.at(n).set_value();
    is_sent.at(n).get_future().wait();
  }
  BOOST_TEST(server.connections() == 3);
}

BOOST_AUTO_TEST_CASE(request_waits_for_free_descriptors_until_timeout) {
  auto server = loopback_server{serve_numbers};
  auto io = io_runtime{};
  const auto client = make_client(io);
  auto scarcity = std::make_optional<no_descriptors>();
  auto impatient = get(server.address());
  impatient.total_timeout = 200ms;
  const auto refused = sync_wait(client.send(impatient));
  BOOST_REQUIRE(refused.has_error());
  BOOST_TEST((refused.error().code == make_error_code(errc::shortage)), refused.error().text);
  BOOST_TEST(is_shortage(refused.error().code));
  auto relief = std::thread{[&] {
    std::this_thread::sleep_for(100ms); // may end before or after the request starts
    scarcity.reset();
  }};
  const auto answer = sync_wait(client.send(get(server.address())));
  relief.join();
  BOOST_REQUIRE_MESSAGE(answer.has_value(), (answer ? "" : answer.error().text));
  BOOST_TEST(answer->body == "0");
}

BOOST_AUTO_TEST_CASE(limits_out_of_range_are_rejected) {
  auto io = io_runtime{};
  auto options = std::vector<http_client_options>(4);
  options[0].connections_per_host_max = 0; // a request would wait forever
  options[1].hosts_max = 0;
  options[2].header_bytes_max = 0;
  options[3].header_bytes_max = std::size_t{1} << 32U; // more than the parser can count
  for (const auto& wrong : options)
    BOOST_TEST((http_client::make(io, wrong).error().code == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(zero_and_negative_timeouts_are_rejected) {
  auto io = io_runtime{};
  for (const auto length : {0ms, -1ms}) {
    auto options = std::vector<http_client_options>(3);
    options[0].connect_timeout = length;
    options[1].idle_timeout = length;
    options[2].total_timeout = length;
    for (const auto& wrong : options)
      BOOST_TEST((http_client::make(io, wrong).error().code == errc::invalid_argument));
    auto request = get("http://127.0.0.1:1");
    request.total_timeout = length;
    const auto answer = sync_wait(make_client(io).send(std::move(request)));
    BOOST_TEST((answer.error().code == errc::invalid_argument));
  }
}

BOOST_AUTO_TEST_CASE(requests_time_out_on_silent_or_slow_server) {
  auto server = loopback_server{[](auto& socket, int) {
    loopback_server::read_head(socket);
    loopback_server::write(socket, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    for (auto i = 0; i < 100; ++i) {
      loopback_server::write(socket, "x");
      std::this_thread::sleep_for(10ms);
    }
    loopback_server::read_head(socket);
  }};
  auto io = io_runtime{};
  auto options = http_client_options{};
  options.total_timeout = 200ms;
  const auto began = std::chrono::steady_clock::now();
  const auto slow = sync_wait(make_client(io, options).send(get(server.address())));
  BOOST_TEST((slow.error().code == make_error_code(errc::timed_out)));
  BOOST_TEST((std::chrono::steady_clock::now() - began < 900ms));
  options.total_timeout.reset();
  options.idle_timeout = 400ms;
  const auto silent = sync_wait(make_client(io, options).send(get(server.address())));
  BOOST_TEST((silent.error().code == make_error_code(errc::timed_out)));
}

BOOST_AUTO_TEST_CASE(oversized_truncated_or_invalid_answers_are_errors) {
  auto server = loopback_server{[](auto& socket, int) {
    const auto head = loopback_server::read_head(socket);
    if (head.starts_with("GET /large"))
      loopback_server::write(socket, loopback_server::answer(std::string(100'000, 'x')));
    else if (head.starts_with("GET /half"))
      loopback_server::write(socket, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    else
      loopback_server::write(socket, "hello\r\n\r\n");
  }};
  auto io = io_runtime{};
  auto options = http_client_options{};
  options.response_bytes_max = 50'000;
  const auto client = make_client(io, options);
  const auto code = [&](const char* path) {
    return sync_wait(client.send(get(server.address() + path))).error().code;
  };
  BOOST_TEST((code("/large") == make_error_code(errc::too_large)));
  BOOST_TEST((code("/half") == make_error_code(errc::io_failed)));
  BOOST_TEST((code("/nonsense") == make_error_code(errc::io_failed)));
  auto bad = get(server.address());
  bad.headers.emplace_back("X", "a\r\nY: b");
  BOOST_TEST((sync_wait(client.send(bad)).error().code == make_error_code(errc::invalid_argument)));
  const auto refused = sync_wait(client.send(get("http://127.0.0.1:1/")));
  BOOST_TEST((refused.error().code == make_error_code(errc::io_failed)));
}

task<std::vector<std::string>> read_pieces(const http_client& client, http_request request) {
  auto out = std::vector<std::string>{};
  auto opening = client.open(std::move(request));
  auto stream = co_await opening;
  while (stream) {
    auto reading = stream->next();
    auto piece = co_await reading;
    if (!piece || !*piece)
      break;
    out.push_back(**piece);
  }
  co_return out;
}

BOOST_AUTO_TEST_CASE(streamed_answer_arrives_in_pieces_and_keeps_connection) {
  auto server = loopback_server{[](auto& socket, int) {
    while (!loopback_server::read_head(socket).empty()) {
      loopback_server::write(socket,
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
      std::this_thread::sleep_for(50ms);
      loopback_server::write(socket, "2\r\nde\r\n0\r\n\r\n");
    }
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  for (auto i = 0; i < 2; ++i) {
    const auto pieces = sync_wait(read_pieces(client, get(server.address())));
    BOOST_TEST(pieces == (std::vector<std::string>{"abc", "de"}), boost::test_tools::per_element());
  }
  BOOST_TEST(server.connections() == 1);
}

/// Returns the text of a stream and how it ended.
task<std::string> read_twice(const http_client& client, http_request request) {
  auto opening = client.open(std::move(request));
  auto stream = co_await opening;
  if (!stream)
    co_return "not opened";
  auto out = std::string{};
  for (auto ends = 0; ends < 2;) { // further reads return the end again
    auto reading = stream->next();
    const auto piece = co_await reading;
    if (piece && *piece && (*piece)->size() <= std::size_t{16} * 1024)
      out += **piece;
    else
      ++ends, out += piece ? "|end" : "|" + piece.error().code.message();
  }
  co_return out;
}

BOOST_AUTO_TEST_CASE(body_received_with_headers_is_streamed) {
  const auto large = std::string(40'000, 'x');
  auto server = loopback_server{[&](auto& socket, int) {
    for (auto head = std::string{"-"}; !head.empty();) {
      head = loopback_server::read_head(socket);
      const auto body = head.starts_with("GET /none")    ? std::string{}
                        : head.starts_with("GET /large") ? large
                                                         : std::string{"hello"};
      loopback_server::write(socket, loopback_server::answer(body));
    }
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  const auto said = [&](const char* path, std::optional<std::size_t> bytes_max = {}) {
    auto request = get(server.address() + path);
    request.response_bytes_max = bytes_max;
    return sync_wait(read_twice(client, std::move(request)));
  };
  BOOST_TEST(said("/some") == "hello|end|end");
  BOOST_TEST(said("/none") == "|end|end");
  BOOST_TEST((said("/large") == large + "|end|end"));
  BOOST_TEST(server.connections() == 1);
  const auto too_large = "|" + make_error_code(errc::too_large).message();
  BOOST_TEST(said("/some", 4) == too_large + too_large);
}

BOOST_AUTO_TEST_CASE(requests_above_connection_limit_wait) {
  auto inside = std::atomic<int>{0};
  auto most = std::atomic<int>{0};
  auto server = loopback_server{[&](auto& socket, int) {
    while (!loopback_server::read_head(socket).empty()) {
      most = std::max(most.load(), ++inside);
      std::this_thread::sleep_for(2ms);
      --inside;
      loopback_server::write(socket, loopback_server::answer("x"));
    }
  }};
  auto io = io_runtime{};
  auto options = http_client_options{};
  options.connections_per_host_max = 3;
  const auto client = make_client(io, options);
  auto calls = std::vector<task<result<http_response>>>{};
  for (auto i = 0; i < 50; ++i)
    calls.push_back(client.send(get(server.address())));
  const auto answers = sync_wait(when_all(std::move(calls)));
  for (const auto& answer : answers)
    BOOST_TEST(answer.value->has_value());
  BOOST_TEST(server.connections() == 3);
  BOOST_TEST(most <= 3);
}

BOOST_AUTO_TEST_CASE(destroyed_coroutine_cancels_its_request) {
  auto closed = std::atomic<int>{0};
  auto server = loopback_server{[&](auto& socket, int) {
    loopback_server::read_head(socket);
    loopback_server::read_head(socket); // until the client disconnects
    ++closed;
  }};
  auto io = io_runtime{};
  const auto client = make_client(io);
  {
    auto where = detail::make_thread_executor();
    auto at = execution_context{where.get(), nullptr};
    auto call = send_or_give_up(client, get(server.address()));
    call.start_in(at);
    call.handle().resume();
    while (server.connections() == 0)
      std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
  }
  for (auto i = 0; i < 1000 && closed == 0; ++i)
    std::this_thread::sleep_for(1ms);
  BOOST_TEST(closed == 1);
}

BOOST_AUTO_TEST_CASE(destroyed_runtime_cancels_its_requests) {
  auto server = loopback_server{[&](auto& socket, int) {
    loopback_server::read_head(socket);
    loopback_server::read_head(socket);
  }};
  auto io = std::make_unique<io_runtime>();
  auto client = std::make_unique<http_client>(make_client(*io));
  auto sending = client->send(get(server.address()));
  auto end = std::thread{[&] {
    std::this_thread::sleep_for(100ms);
    client.reset();
    io.reset();
  }};
  const auto answer = sync_wait(std::move(sending));
  BOOST_TEST((answer.error().code == make_error_code(errc::cancelled)));
  end.join();
}

BOOST_AUTO_TEST_SUITE_END()
