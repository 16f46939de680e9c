// SPDX-License-Identifier: Apache-2.0
// A whole job against a separate chat-completions server, with and without faults.
#include "gsm8k.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>

BOOST_AUTO_TEST_SUITE(server)

namespace {

using namespace superstep::testing;

constexpr auto calls_in_flight = 32;

/// The server, which returns its statistics when it is stopped.
class chat_server {
public:
  explicit chat_server(const std::vector<std::string>& more)
      : process_{arguments(more), child_input::held_open}, port_{process_.read_line()} {}

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_; }
  [[nodiscard]] json::object end() {
    process_.close_input();
    const auto ended = process_.wait(std::chrono::seconds{20});
    BOOST_TEST_REQUIRE(ended.exit_code == 0, ended.err);
    return read_objects(ended.out.substr(ended.out.find('\n') + 1)).at(0);
  }

private:
  static std::vector<std::string> arguments(const std::vector<std::string>& more) {
    const auto data = shared_data("gsm8k");
    auto all = std::vector<std::string>{helper_program("chat_server"),
                                        "--input",
                                        data + "/input.jsonl",
                                        "--recorded",
                                        data + "/recorded_turns.jsonl",
                                        "--latency-ms",
                                        "20"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  process process_;
  std::string port_;
};

/// Runs the job and checks all rows, or `limit` of them. Returns the server's statistics.
json::object run_against(chat_server& server, bool stream, std::size_t limit) {
  // A key of its own, so that the server can identify clients it asked to wait.
  ::setenv("SUPERSTEP_SYSTEM_TEST_KEY", "sk-test", 1); // NOLINT(concurrency-mt-unsafe)
  auto job = cli_job{};
  job.input = shared_data("gsm8k") + "/input.jsonl";
  auto model =
      json::object{{"provider", "openai"},     {"model", "recorded"},
                   {"base_url", server.url()}, {"api_key_env", "SUPERSTEP_SYSTEM_TEST_KEY"},
                   {"stream", stream},         {"backoff_base_ms", 50}};
  job.write("agent.yaml", json::serialize(json::object{
                              {"name", "math"},
                              {"model", std::move(model)},
                              {"tools", json::array{"calculator"}},
                              {"limits", json::object{{"model_calls", calls_in_flight}}}}));
  const auto end = job.run({"--concurrency", "64", "--limit", std::to_string(limit)});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  const auto recorded = gsm8k_recordings(limit);
  BOOST_TEST(rows.size() == recorded.size());
  auto turns = std::int64_t{0};
  for (const auto& [key, wanted] : recorded) {
    BOOST_TEST_CONTEXT(key) {
      BOOST_TEST_REQUIRE(rows.contains(key));
      check_gsm8k_row(rows.at(key), wanted);
      turns += static_cast<std::int64_t>(wanted.at("turns").as_array().size());
    }
  }
  auto seen = server.end();
  BOOST_TEST_MESSAGE("stream=" << stream << ": " << json::serialize(seen) << ' ' << end.out);
  BOOST_TEST(seen.at("answered").as_int64() >= turns); // a cut answer may be requested again
  BOOST_TEST(seen.at("in_flight_max").as_int64() <= calls_in_flight);
  return seen;
}

} // namespace

BOOST_DATA_TEST_CASE(rows_match_their_recordings, boost::unit_test::data::make({false, true}),
                     stream) {
  auto one = chat_server{{}};
  const auto seen = run_against(one, stream, 0);
  BOOST_TEST(seen.at("requests") == seen.at("answered"));
  // Connections are kept alive: there are at most as many as calls in flight.
  BOOST_TEST(seen.at("connections").as_int64() <= calls_in_flight);
}

/// Fault rates of an unreliable server. The seed determines the requests they affect.
const auto faults = std::vector<std::string>{"--fault-429",  "5", "--fault-500",  "2",
                                             "--fault-drop", "1", "--fault-half", "1"};

BOOST_DATA_TEST_CASE(rows_match_their_recordings_despite_server_faults,
                     boost::unit_test::data::make({false, true}), stream) {
  auto one = chat_server{faults};
  const auto seen = run_against(one, stream, 250);
  for (const auto* kind : {"too_many_requests", "server_errors", "dropped", "half_sent"})
    BOOST_TEST(seen.at(kind).as_int64() > 0, kind << " never occurred");
  BOOST_TEST(seen.at("early").as_int64() == 0, "requests came again before their Retry-After");
}

BOOST_AUTO_TEST_CASE(calls_are_held_back_during_server_outage) {
  auto one = chat_server{{"--outage-every-ms", "300", "--outage-ms", "150"}};
  const auto seen = run_against(one, false, 250);
  BOOST_TEST(seen.at("outages").as_int64() > 0);
  // During an outage the server receives only the calls in flight, and the few more that the client
  // needs to distinguish an outage from single rejections.
  BOOST_TEST(seen.at("in_outages").as_int64() <=
             seen.at("outages").as_int64() * (calls_in_flight + 16));
}

BOOST_AUTO_TEST_SUITE_END()
