// SPDX-License-Identifier: Apache-2.0
// The limits per minute against a server that counts the requests and tokens of every sliding
// minute. The minute is shortened to ten seconds.
#include "loopback_server.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/provider_model.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;
using test::loopback_server;
using steady = std::chrono::steady_clock;

BOOST_AUTO_TEST_SUITE(rate_limit_suite)

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr auto is_instrumented = true;
#else
constexpr auto is_instrumented = false;
#endif

constexpr auto window = 10s;
constexpr auto duration = 25s;

/// Records when requests arrive, and answers each with a number of tokens.
class counting_server {
public:
  explicit counting_server(std::int64_t tokens)
      : tokens_{tokens}, server_{[this](auto& socket, int) { serve(socket); }} {}

  [[nodiscard]] std::string address() const { return server_.address(); }
  /// Returns the fewest and the most requests in any sliding window, without its incomplete ends.
  [[nodiscard]] std::pair<std::size_t, std::size_t> requests_in_windows() const {
    const auto lock = std::scoped_lock{mutex_};
    auto least = arrivals_.size();
    auto most = std::size_t{0};
    auto first = std::size_t{0};
    for (auto i = std::size_t{0}; i < arrivals_.size(); ++i) {
      for (; arrivals_[first] + window <= arrivals_[i]; ++first)
        least = std::min(least, i - first);
      most = std::max(most, i + 1 - first);
    }
    return {least, most};
  }

private:
  void serve(loopback_server::socket& socket) {
    const auto answer = loopback_server::answer(
        R"({"id":"a","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},)"
        R"("finish_reason":"stop"}],"usage":{"prompt_tokens":)" +
        std::to_string(tokens_ - 1) + R"(,"completion_tokens":1,"total_tokens":)" +
        std::to_string(tokens_) + "}}");
    for (;;) {
      const auto head = loopback_server::read_head(socket);
      if (head.empty())
        return;
      auto failed = boost::system::error_code{};
      const auto at = head.find("Content-Length: ");
      const auto size = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
      const auto have = head.size() - head.find("\r\n\r\n") - 4;
      auto rest = std::string(size > have ? size - have : 0, ' ');
      boost::asio::read(socket, boost::asio::buffer(rest), failed);
      {
        const auto lock = std::scoped_lock{mutex_};
        arrivals_.push_back(steady::now());
      }
      std::this_thread::sleep_for(20ms);
      loopback_server::write(socket, answer);
    }
  }

  std::int64_t tokens_;
  mutable std::mutex mutex_;
  std::vector<steady::time_point> arrivals_;
  loopback_server server_; // last, so that its threads end first
};

chat_model_ptr make_model(io_runtime& io, const std::string& url, std::int64_t rpm,
                          std::int64_t tpm) {
  auto limits = model_limits_options{};
  limits.window = window;
  limits.model_calls = 16;
  if (rpm > 0)
    limits.requests_per_minute = rpm;
  if (tpm > 0)
    limits.tokens_per_minute = tpm;
  auto options = provider_model_options{};
  options.model = "m";
  options.base_url = url;
  options.api_key_env = "";
  auto made = make_provider_model(std::move(options), io, std::make_shared<model_limits>(limits));
  BOOST_REQUIRE(made.has_value());
  return *std::move(made);
}

/// Makes calls one after the other until a point in time. Returns their number.
task<int> ask_until(chat_model_ptr model, steady::time_point end, std::string row) {
  auto calls = 0;
  while (steady::now() < end) {
    auto request = model_request{};
    request.run_key = row;
    request.messages.push_back(human_message("hi"));
    auto asking = model->complete(std::move(request));
    static_cast<void>(co_await asking);
    ++calls;
  }
  co_return calls;
}

struct setup {
  std::int64_t rpm;
  std::int64_t tpm;
  int processes; ///< that share the limit in equal parts
};
std::ostream& operator<<(std::ostream& out, const setup& one) {
  return out << one.rpm << " rpm, " << one.tpm << " tpm, " << one.processes << " processes";
}
constexpr auto tokens_per_request = std::int64_t{100};
const auto setups = std::vector<setup>{{400, 0, 1}, {400, 0, 2}, {0, 40'000, 1}, {0, 40'000, 2}};

/// A server, and clients that use the limits of a setup. The clients run until `duration` is over.
class limited_clients {
public:
  explicit limited_clients(const setup& limits) {
    const auto end = steady::now() + duration;
    for (auto i = 0; i < limits.processes; ++i)
      threads_.emplace_back(
          [this, end,
           model = make_model(io_, server_.address(), limits.rpm / limits.processes,
                              limits.tpm / limits.processes)] {
            auto rows = std::vector<task<int>>{};
            for (auto row = 0; row < 40; ++row)
              rows.push_back(ask_until(model, end, std::to_string(row)));
            static_cast<void>(sync_wait(when_all(std::move(rows))));
          });
  }
  limited_clients(const limited_clients&) = delete;
  limited_clients& operator=(const limited_clients&) = delete;
  ~limited_clients() { join(); }

  void join() {
    for (auto& thread : std::exchange(threads_, {}))
      thread.join();
  }
  [[nodiscard]] const counting_server& server() const noexcept { return server_; }

private:
  counting_server server_{tokens_per_request};
  io_runtime io_;
  std::vector<std::thread> threads_;
};

} // namespace

BOOST_AUTO_TEST_CASE(server_sees_no_minute_above_the_limit) {
  auto running = std::vector<std::unique_ptr<limited_clients>>{};
  for (const auto& one : setups)
    running.push_back(std::make_unique<limited_clients>(one));
  for (auto i = std::size_t{0}; i < setups.size(); ++i) {
    running[i]->join();
    const auto [least, most] = running[i]->server().requests_in_windows();
    const auto limit = setups[i].rpm > 0 ? setups[i].rpm : setups[i].tpm / tokens_per_request;
    BOOST_TEST_CONTEXT(setups[i]) {
      BOOST_TEST(static_cast<std::int64_t>(most) <= limit);
      if (!is_instrumented)
        BOOST_TEST(static_cast<double>(least) >= 0.95 * static_cast<double>(limit));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
