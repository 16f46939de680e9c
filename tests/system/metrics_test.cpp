// SPDX-License-Identifier: Apache-2.0
// The metrics of a running job: HTTP on loopback, and the text format of Prometheus.
#include "process.hpp"

#include <boost/asio.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(metrics)

namespace {

using namespace superstep::testing;
using tcp = boost::asio::ip::tcp;

/// Returns a port that was free a moment ago.
unsigned short free_port() {
  auto io = boost::asio::io_context{};
  return tcp::acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}}.local_endpoint().port();
}

/// Sends a request and returns the whole response; empty if nothing listens.
std::string ask(unsigned short port, const std::string& request) {
  auto io = boost::asio::io_context{};
  auto socket = tcp::socket{io};
  auto failed = boost::system::error_code{};
  socket.connect({boost::asio::ip::address_v4::loopback(), port}, failed);
  if (failed)
    return {};
  boost::asio::write(socket, boost::asio::buffer(request), failed);
  auto out = std::string{};
  boost::asio::read(socket, boost::asio::dynamic_buffer(out), failed);
  return out;
}

std::string get(unsigned short port, const std::string& path) {
  return ask(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

/// Samples by name and labels. Fails the test for a line that is not in the text format.
std::map<std::string, double> parse(const std::string& text) {
  static const auto comment =
      std::regex{"# (HELP [a-z_]+ [^\n]+\\.|TYPE [a-z_]+ (counter|gauge|summary))"};
  static const auto sample = std::regex{R"(([a-z_]+)(\{[a-z]+="[a-z0-9_.]+"\})? ([-+0-9.e]+))"};
  auto out = std::map<std::string, double>{};
  auto typed = std::set<std::string>{};
  auto in = std::istringstream{text};
  for (auto line = std::string{}; std::getline(in, line);) {
    auto found = std::smatch{};
    if (line.starts_with("# ")) {
      BOOST_TEST(std::regex_match(line, comment), line);
      if (line.starts_with("# TYPE "))
        BOOST_TEST(typed.insert(line.substr(7, line.rfind(' ') - 7)).second, line);
      continue;
    }
    BOOST_TEST_REQUIRE(std::regex_match(line, found, sample), line);
    auto family = found[1].str();
    for (const auto* suffix : {"_sum", "_count"})
      if (!typed.contains(family) && family.ends_with(suffix))
        family.resize(family.size() - std::string_view{suffix}.size());
    BOOST_TEST(typed.contains(family), line << " has no type");
    BOOST_TEST(out.emplace(found[1].str() + found[2].str(), std::stod(found[3].str())).second,
               line << " is repeated");
  }
  return out;
}

/// A job of some seconds.
struct slow_job : cli_job {
  slow_job() {
    write("agent.yaml", "model: {provider: scripted, path: rules.yaml}\n"
                        "tools:\n  - simulated: {name: pause, delay_ms: 200}\n");
    write("rules.yaml", "rules:\n  - {type: human, calls: [{name: pause}]}\n"
                        "default: {text: done}\n");
    auto lines = std::string{};
    for (auto i = 0; i < 100; ++i)
      lines += R"({"id":"r)" + std::to_string(i) +
               R"(","messages":[{"role":"user","content":"go"}]})" + '\n';
    write("in.jsonl", lines);
  }
};

} // namespace

BOOST_AUTO_TEST_CASE(running_job_serves_metrics_on_loopback) {
  const auto job = slow_job{};
  const auto port = free_port();
  auto run = process{job.arguments({"--concurrency", "8", "--metrics", std::to_string(port)})};
  auto samples = std::map<std::string, double>{};
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (samples["superstep_rows_done_total{status=\"ok\"}"] < 8) {
    BOOST_TEST_REQUIRE((std::chrono::steady_clock::now() < until));
    std::this_thread::sleep_for(std::chrono::milliseconds{50}); // polling interval
    const auto response = get(port, "/metrics");
    if (response.empty())
      continue;
    BOOST_TEST_REQUIRE(response.starts_with("HTTP/1.1 200 OK\r\n"), response);
    BOOST_TEST(response.find("Content-Type: text/plain; version=0.0.4") != std::string::npos);
    samples = parse(response.substr(response.find("\r\n\r\n") + 4));
  }
  BOOST_TEST(samples.at("superstep_rows") == 100);
  BOOST_TEST(samples.at("superstep_rows_done_total{status=\"error\"}") == 0);
  BOOST_TEST(samples.at("superstep_rows_in_flight") <= 8);
  BOOST_TEST(samples.at("superstep_model_calls_total") >= 16);
  BOOST_TEST(samples.at("superstep_tool_calls_total") >= 8);
  BOOST_TEST(samples.at("superstep_row_duration_seconds{quantile=\"0.5\"}") >= 0.18);
  BOOST_TEST(samples.at("superstep_row_duration_seconds_count") >= 8);
  BOOST_TEST(samples.at("superstep_row_duration_seconds_sum") >= 1.6);
  BOOST_TEST(samples.at("superstep_tool_duration_seconds_count") >= 8);
  BOOST_TEST(samples.at("superstep_draining") == 0);
  BOOST_TEST(samples.contains("superstep_tokens_total{kind=\"input\"}"));
  BOOST_TEST(get(port, "/").starts_with("HTTP/1.1 404 "));
  BOOST_TEST(get(port, "/metrics?a=b").starts_with("HTTP/1.1 200 "));
  BOOST_TEST(ask(port, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
  BOOST_TEST(ask(port, "nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  BOOST_TEST(ask(port, std::string(20'000, 'x')).empty()); // a head that is too long
  BOOST_TEST(ask(port, "HEAD /metrics HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n"));
  const auto end = run.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(end.err.find("metrics at http://127.0.0.1:" + std::to_string(port) + "/metrics") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(port_in_use_and_other_hosts_are_rejected) {
  const auto job = slow_job{};
  auto io = boost::asio::io_context{};
  const auto taken = tcp::acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}, false};
  const auto port = std::to_string(taken.local_endpoint().port());
  const auto in_use = job.run({"--metrics", port});
  BOOST_TEST(in_use.exit_code == 1);
  BOOST_TEST(in_use.err.find("cannot listen on 127.0.0.1:" + port) != std::string::npos,
             in_use.err);
  for (const auto* address : {"0.0.0.0:9464", "example.org:80", "65536", "-1", "", "127.0.0.1:"}) {
    const auto end = job.run({"--metrics", address});
    BOOST_TEST(end.exit_code == 1, address);
    BOOST_TEST(end.err.find("must be a port") != std::string::npos, end.err);
  }
}

BOOST_AUTO_TEST_SUITE_END()
