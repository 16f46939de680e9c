// SPDX-License-Identifier: Apache-2.0
// Many large answers at once: they share the byte budget of model_limits, and all of them arrive.
#include "loopback_server.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

using namespace superstep;
using test::loopback_server;

BOOST_AUTO_TEST_SUITE(large_answers_suite)

namespace {

namespace data = boost::unit_test::data;

constexpr auto answer_size = std::size_t{1'000'000};
constexpr auto budget = std::size_t{4'000'000};
constexpr auto answers_at_once = std::size_t{40};

enum class form { plain, chunked };

std::ostream& operator<<(std::ostream& out, form f) {
  return out << (f == form::plain ? "plain" : "chunked");
}

std::string large_body() {
  auto out = std::string{R"({"choices":[{"message":{"role":"assistant","content":")"};
  out.resize(answer_size, 'x');
  return out + R"("}}]})";
}

/// Returns the response with the body, of which only the first bytes are sent if `is_cut`.
std::string response(form how, const std::string& body, bool is_cut) {
  auto out = std::string{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"};
  if (how == form::plain) {
    out += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  } else {
    constexpr auto chunk = std::size_t{0x10000};
    out += "Transfer-Encoding: chunked\r\n\r\n";
    for (auto begin = std::size_t{0}; begin < body.size(); begin += chunk) {
      const auto piece = body.substr(begin, chunk);
      auto length = std::ostringstream{};
      length << std::hex << piece.size();
      out += length.str() + "\r\n" + piece + "\r\n";
    }
    out += "0\r\n\r\n";
  }
  if (is_cut)
    out.resize(out.size() / 2);
  return out;
}

void read_request(loopback_server::socket& from) {
  auto text = std::string{};
  auto failed = boost::system::error_code{};
  while (!failed && text.find("hello") == std::string::npos) {
    auto part = std::array<char, 4096>{};
    const auto got = from.read_some(boost::asio::buffer(part), failed);
    text.append(part.data(), got);
  }
}

chat_model_ptr make_model(io_runtime& io, const std::string& url,
                          std::shared_ptr<model_limits> limits) {
  auto options = provider_model_options{};
  options.model = "large";
  options.base_url = url;
  options.api_key_env = "";
  options.attempts_max = 1;
  auto made = make_provider_model(std::move(options), io, std::move(limits));
  BOOST_REQUIRE(made.has_value());
  return std::move(*made);
}

std::shared_ptr<model_limits> make_limits() {
  auto options = model_limits_options{};
  options.answer_bytes = budget;
  return std::make_shared<model_limits>(options);
}

/// Returns the size of the answer; 0 if there is none.
task<std::size_t> ask_for_size(chat_model_ptr model) {
  auto asking = ask(std::move(model), "hello");
  const auto answer = co_await asking;
  co_return answer ? answer->content.size() : std::size_t{0};
}

task<std::vector<std::size_t>> ask_at_once(chat_model_ptr model, std::size_t times) {
  auto asking = std::vector<task<std::size_t>>{};
  for (auto i = std::size_t{0}; i < times; ++i)
    asking.push_back(ask_for_size(model));
  auto all = when_all(std::move(asking));
  auto settled = co_await all;
  auto out = std::vector<std::size_t>{};
  for (auto& one : settled)
    out.push_back(one.value.value_or(0));
  co_return out;
}

} // namespace

BOOST_DATA_TEST_CASE(concurrent_large_answers_stay_within_byte_budget,
                     data::make({form::plain, form::chunked}), how) {
  const auto text = response(how, large_body(), false);
  auto server = loopback_server{[&](auto& socket, int) {
    read_request(socket);
    loopback_server::write(socket, text);
  }};
  auto io = io_runtime{};
  const auto limits = make_limits();
  const auto sizes =
      sync_wait(ask_at_once(make_model(io, server.address(), limits), answers_at_once));
  BOOST_TEST(sizes.size() == answers_at_once);
  for (const auto size : sizes)
    BOOST_TEST(size > answer_size - 100);
  // One answer is exempt from the budget; without a known length it reserves twice its size.
  const auto exempt = how == form::plain ? answer_size + 100 : 2 * answer_size + 100'000;
  BOOST_TEST(limits->answers().used_max() <= budget + exempt);
  BOOST_TEST(limits->answers().used_max() > budget / 2);
  BOOST_TEST(limits->answers().used() == 0U);
  BOOST_TEST(limits->answers().waiting() == 0U);
}

BOOST_DATA_TEST_CASE(truncated_answers_return_bytes_to_the_budget,
                     data::make({form::plain, form::chunked}), how) {
  const auto whole = response(how, large_body(), false);
  const auto cut = response(how, large_body(), true);
  auto server = loopback_server{[&](auto& socket, int number) {
    read_request(socket);
    loopback_server::write(socket, number % 2 == 0 ? cut : whole);
  }};
  auto io = io_runtime{};
  const auto limits = make_limits();
  const auto sizes =
      sync_wait(ask_at_once(make_model(io, server.address(), limits), answers_at_once));
  const auto good = [](std::size_t size) { return size > answer_size - 100; };
  BOOST_TEST(std::ranges::count_if(sizes, good) == std::ptrdiff_t{answers_at_once / 2});
  BOOST_TEST(limits->answers().used() == 0U);
  BOOST_TEST(limits->answers().waiting() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
