// SPDX-License-Identifier: Apache-2.0
// Rows and jobs that must not disturb each other: poisoned rows beside others, and two processes
// with one answer cache.
#include "models/loopback_server.hpp"
#include "process.hpp"

#include <boost/asio.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(isolation)

namespace {

using namespace superstep::testing;
using superstep::test::loopback_server;

std::string row_of(const std::string& key, const std::string& text) {
  return R"({"id":")" + key + R"(","messages":[{"role":"user","content":")" + text + R"("}]})" +
         '\n';
}

std::string asking_agent(const std::string& address, const std::string& more) {
  return "name: asks\ntools: [calculator]\nmodel: {provider: openai, model: m, base_url: \"" +
         address + "\", api_key_env: \"\", attempts_max: 1, temperature: 0}\n" + more;
}

std::string completion(const std::string& message) {
  return R"({"model":"m","choices":[{"message":{"role":"assistant",)" + message + R"(}}],)" +
         R"("usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})";
}

/// Returns the body of the next request; empty if the client has disconnected.
std::string read_body(loopback_server::socket& from) {
  auto head = loopback_server::read_head(from);
  const auto at = head.find("Content-Length: ");
  if (at == std::string::npos)
    return {};
  auto body = head.substr(head.find("\r\n\r\n") + 4);
  auto rest = std::string(std::stoul(head.substr(at + 16)) - body.size(), ' ');
  auto failed = boost::system::error_code{};
  boost::asio::read(from, boost::asio::buffer(rest), failed);
  return body + rest;
}

/// A server whose poisoned answers end only after all other rows have been answered. So the job
/// hangs if a poisoned row holds up another one.
class poisoned_server {
public:
  explicit poisoned_server(int others) : left_{others} {}

  [[nodiscard]] std::string address() const { return server_.address(); }
  /// Whether a poisoned answer had to end before all other rows had been answered.
  [[nodiscard]] bool has_given_up() const {
    const auto lock = std::scoped_lock{mutex_};
    return has_given_up_;
  }

private:
  void serve(loopback_server::socket& socket) {
    for (auto body = read_body(socket); !body.empty(); body = read_body(socket)) {
      const auto is_for = [&](std::string_view text) { return body.find(text) != body.npos; };
      if (is_for("\"loop\"")) {
        loopback_server::write(socket, loopback_server::answer(completion(next_of_loop())));
      } else if (is_for("\"huge\"")) {
        write_huge(socket);
        return;
      } else if (is_for("\"stall\"")) {
        wait();
        return; // without an answer
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
        loopback_server::write(socket, loopback_server::answer(completion(R"("content":"fine")")));
        const auto lock = std::scoped_lock{mutex_};
        --left_;
        changed_.notify_all();
      }
    }
  }
  /// Waits until all other rows have been answered.
  void wait() {
    auto lock = std::unique_lock{mutex_};
    if (!changed_.wait_for(lock, std::chrono::minutes{1}, [&] { return left_ == 0; }))
      has_given_up_ = true;
  }
  std::string next_of_loop() {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    const auto lock = std::scoped_lock{mutex_};
    if (left_ == 0)
      return R"("content":"ended")";
    return R"("content":"","tool_calls":[{"id":"c","type":"function","function":)"
           R"({"name":"calculator","arguments":"{\"expression\":\"1+1\"}"}}])";
  }
  /// Writes 100 MB, of which the second half waits.
  void write_huge(loopback_server::socket& socket) {
    constexpr auto pieces = 100;
    const auto piece = std::string(1'000'000, 'x');
    auto failed = boost::system::error_code{};
    const auto head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
                      std::to_string(pieces * piece.size()) + "\r\n\r\n";
    boost::asio::write(socket, boost::asio::buffer(head), failed);
    for (auto i = 0; i < pieces && !failed; ++i) {
      if (i == pieces / 2)
        wait();
      boost::asio::write(socket, boost::asio::buffer(piece), failed);
    }
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int left_; ///< other rows that have not been answered
  bool has_given_up_ = false;
  loopback_server server_{[this](auto& socket, int) { serve(socket); }}; // last, so it ends first
};

} // namespace

BOOST_AUTO_TEST_CASE(poisoned_rows_do_not_delay_others) {
  constexpr auto others = 200;
  auto server = poisoned_server{others};
  auto job = cli_job{};
  job.write("agent.yaml", asking_agent(server.address(), "recursion_limit: 100000\n"));
  auto input = std::string{};
  for (const auto* poison : {"loop", "huge", "stall"})
    for (const auto* number : {"1", "2"})
      input += row_of(poison + std::string{number}, poison);
  for (auto i = 0; i < others; ++i)
    input += row_of("row-" + std::to_string(i), "well");
  job.write("in.jsonl", input);
  const auto end = job.run({"--concurrency", "8"});
  BOOST_TEST(end.exit_code == 2, end.out << end.err);
  BOOST_TEST(!server.has_given_up());
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST_REQUIRE(rows.size() == std::size_t{others + 6});
  for (const auto& [key, row] : rows)
    BOOST_TEST(text_at(row, "status") ==
               (key.starts_with("huge") || key.starts_with("stall") ? "error" : "ok"));
  BOOST_TEST(rows.at("loop1").at("model_calls").to_number<int>() > 10);
}

BOOST_AUTO_TEST_CASE(two_processes_share_one_cache_file) {
  constexpr auto rows = 100;
  auto mutex = std::mutex{};
  auto requests = 0;
  auto server = loopback_server{[&](loopback_server::socket& socket, int) {
    for (auto body = read_body(socket); !body.empty(); body = read_body(socket)) {
      const auto at = body.find("question ");
      const auto number = body.substr(at + 9, body.find('"', at) - at - 9);
      loopback_server::write(
          socket, loopback_server::answer(completion(R"("content":"answer )" + number + R"(")")));
      const auto lock = std::scoped_lock{mutex};
      ++requests;
    }
  }};
  auto input = std::string{};
  for (auto i = 0; i < rows; ++i)
    input += row_of(std::to_string(i), "question " + std::to_string(i));
  const auto shared = temporary_folder{};
  auto jobs = std::vector<cli_job>(3);
  for (auto& job : jobs) {
    job.write("agent.yaml", asking_agent(server.address(), ""));
    job.write("in.jsonl", input);
  }
  const auto arguments = [&](const cli_job& job) {
    return job.arguments({"--cache", shared / "cache.db"});
  };
  auto first = process{arguments(jobs[0])};
  auto second = process{arguments(jobs[1])};
  BOOST_TEST(first.wait().exit_code == 0);
  BOOST_TEST(second.wait().exit_code == 0);
  const auto before = [&] {
    const auto lock = std::scoped_lock{mutex};
    return requests;
  }();
  BOOST_TEST(before >= rows);
  BOOST_TEST(before <= 2 * rows);
  BOOST_TEST(process{arguments(jobs[2])}.wait().exit_code == 0);
  const auto lock = std::scoped_lock{mutex};
  BOOST_TEST(requests == before); // all answers of the third job are in the cache
  for (const auto& job : jobs) {
    const auto found = read_rows(job.read("out.jsonl"));
    BOOST_TEST(found.size() == std::size_t{rows});
    for (const auto& [key, row] : found)
      BOOST_TEST(text_at(messages_of(row).back().as_object(), "content") == "answer " + key);
  }
}

BOOST_AUTO_TEST_SUITE_END()
