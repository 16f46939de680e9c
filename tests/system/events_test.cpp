// SPDX-License-Identifier: Apache-2.0
// The event log: status, duration, attempts and tokens of the calls of a row.
#include "models/loopback_server.hpp"
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(events)

namespace {

using namespace superstep::testing;
using superstep::test::loopback_server;

constexpr auto usage = R"(,"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}})";

/// Returns the response to the request with this number: a failure, an answer with two tool calls,
/// and an answer without calls.
std::pair<std::string, std::string> response_to(int number) {
  if (number == 0)
    return {"500 Internal Server Error", R"({"error":{"message":"no luck"}})"};
  if (number > 1)
    return {"200 OK",
            R"({"choices":[{"message":{"role":"assistant","content":"2"}}])" + std::string{usage}};
  return {"200 OK", R"({"choices":[{"message":{"role":"assistant","content":"","tool_calls":[)"
                    R"({"id":"good","type":"function","function":{"name":"calculator",)"
                    R"("arguments":"{\"expression\":\"1+1\"}"}},)"
                    R"({"id":"bad","type":"function","function":{"name":"calculator",)"
                    R"("arguments":"{\"expression\":\"one\"}"}}]}}])" +
                        std::string{usage}};
}

/// @param response status line and body
void respond(loopback_server::socket& socket, const std::pair<std::string, std::string>& response) {
  if (loopback_server::read_head(socket).empty())
    return;
  const auto& [status, body] = response;
  loopback_server::write(socket, "HTTP/1.1 " + status +
                                     "\r\nContent-Type: application/json\r\nConnection: close\r\n"
                                     "Content-Length: " +
                                     std::to_string(body.size()) + "\r\n\r\n" + body);
}

std::set<std::string> keys_of(const json::object& line) {
  auto out = std::set<std::string>{};
  for (const auto& [name, value] : line)
    if (name != "row" && name != "row_attempt" && name != "event" && name != "call_id" &&
        name != "time" && name != "t_ns" && name != "job_id")
      out.insert(name);
  return out;
}

/// Returns the first cells of the table in a section of a page, without backquotes.
std::set<std::string> first_cells(const std::string& path, const std::string& heading) {
  auto in = std::ifstream{path};
  const auto page = std::string{std::istreambuf_iterator<char>{in}, {}};
  const auto begin = page.find(heading);
  BOOST_TEST_REQUIRE(begin != std::string::npos, path);
  const auto section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  const auto row = std::regex{R"(\n\| `([^`|\n]+)` \|)"};
  auto out = std::set<std::string>{};
  for (auto i = std::sregex_iterator{section.begin(), section.end(), row};
       i != std::sregex_iterator{}; ++i)
    out.insert((*i)[1]);
  return out;
}

/// A job of one row against a server, with an event log.
struct logged_job : cli_job {
  explicit logged_job(const std::string& address) {
    write("agent.yaml", "name: adds\ntools: [calculator]\nmodel: {provider: openai, model: m, "
                        "base_url: \"" +
                            address +
                            "\", api_key_env: \"\", attempts_max: 2, backoff_base_ms: 1}\n");
    write("in.jsonl", R"({"id":"r","messages":[{"role":"user","content":"1+1?"}]})"
                      "\n");
  }
  [[nodiscard]] std::string log() const { return folder / "events.jsonl"; }
};

} // namespace

BOOST_AUTO_TEST_CASE(event_log_contains_status_attempts_and_tokens) {
  auto server = loopback_server{
      [](loopback_server::socket& socket, int number) { respond(socket, response_to(number)); }};
  const auto job = logged_job{server.address()};
  const auto end = job.run({"--events", job.log()});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
  auto seen = std::map<std::string, json::object>{};
  for (const auto& line : read_objects(job.read("events.jsonl"))) {
    seen.emplace(text_at(line, "event") + ' ' + text_at(line, "call_id"), line);
    const auto time = std::regex{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"};
    BOOST_TEST(std::regex_match(text_at(line, "time"), time), text_at(line, "time"));
  }
  BOOST_TEST_REQUIRE(seen.size() == 9U);
  BOOST_TEST((keys_of(seen.at("model_start 0")).empty()));
  BOOST_TEST((keys_of(seen.at("model_retry 0")) == std::set<std::string>{"attempt", "error"}));
  BOOST_TEST(text_at(seen.at("model_retry 0"), "error").find("no luck") != std::string::npos);
  const auto model_keys = std::set<std::string>{"attempt", "status", "wall_ms", "usage"};
  BOOST_TEST((keys_of(seen.at("model_end 0")) == model_keys));
  BOOST_TEST(seen.at("model_end 0").at("attempt").to_number<int>() == 2);
  BOOST_TEST(seen.at("model_end 1").at("attempt").to_number<int>() == 1);
  BOOST_TEST(text_at(seen.at("model_end 0"), "status") == "ok");
  const auto& tokens = seen.at("model_end 0").at("usage").as_object();
  BOOST_TEST(json::serialize(tokens) ==
             R"({"input_tokens":10,"output_tokens":5,"total_tokens":15})");
  const auto tool_keys = std::set<std::string>{"tool", "attempt", "status", "wall_ms"};
  BOOST_TEST((keys_of(seen.at("tool_start good")) == std::set<std::string>{"tool"}));
  BOOST_TEST(text_at(seen.at("tool_start good"), "tool") == "calculator");
  BOOST_TEST((keys_of(seen.at("tool_end good")) == tool_keys));
  BOOST_TEST(text_at(seen.at("tool_end good"), "status") == "ok");
  BOOST_TEST(text_at(seen.at("tool_end bad"), "status") == "error");
  BOOST_TEST(seen.at("tool_end bad").at("attempt").to_number<int>() == 1);
  const auto shown =
      process{{superstep_program(), "row", job.output, "r", "--events", job.log()}}.wait();
  for (const auto* part :
       {"model 0 ok, 2 attempts, 10 tokens in, 5 out\n", " attempt 1 failed: ", "no luck",
        "tool good (calculator) ok\n", "tool bad (calculator) error\n"})
    BOOST_TEST(shown.out.find(part) != std::string::npos, part << " is missing in\n" << shown.out);
}

BOOST_AUTO_TEST_CASE(event_log_contains_rejected_answers) {
  // In a call of its own, the response follows the answer of the agent.
  for (const auto is_separate : {false, true}) {
    auto server = loopback_server{[&](loopback_server::socket& socket, int number) {
      const auto* const answer = number == (is_separate ? 3 : 2) ? "not JSON" : R"({\"n\":2})";
      if (number < 2)
        respond(socket, response_to(number));
      else
        respond(socket, {"200 OK", R"({"choices":[{"message":{"role":"assistant","content":")" +
                                       std::string{answer} + "\"}}]" + usage});
    }};
    auto job = logged_job{server.address()};
    job.write("agent.yaml", job.read("agent.yaml") +
                                "response: {type: object, properties: {n: {type: integer}}, "
                                "required: [n], request: " +
                                (is_separate ? "separate}\n" : "in_answer}\n"));
    const auto end = job.run({"--events", job.log()});
    BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
    auto names = std::set<std::string>{};
    auto rejected = std::vector<json::object>{};
    for (const auto& line : read_objects(job.read("events.jsonl"))) {
      if (text_at(line, "event") == "model_rejected")
        rejected.push_back(line);
      for (const auto& [name, value] : line)
        names.insert(name);
    }
    const auto number = std::string{is_separate ? "2" : "1"};
    BOOST_TEST_REQUIRE(rejected.size() == 1U);
    BOOST_TEST(text_at(rejected[0], "call_id") == number);
    BOOST_TEST(text_at(rejected[0], "answer") == "not JSON");
    BOOST_TEST(text_at(rejected[0], "error").find("is not valid JSON") != std::string::npos);
    if (is_separate) // otherwise, no call is only for the response
      BOOST_TEST((names == first_cells(SUPERSTEP_BATCH_PAGE, "\n## Event log\n")));
    const auto shown =
        process{{superstep_program(), "row", job.output, "r", "--events", job.log()}}.wait();
    const auto mark = std::string{is_separate ? " (structured response)" : ""};
    for (const auto& part :
         {"model " + number + mark + " rejected", std::string{"answer: not JSON\n"},
          "model " + std::to_string(is_separate ? 3 : 2) + mark + " ok",
          std::string{is_separate ? "2 model calls without" : "1 model call without"}})
      BOOST_TEST(shown.out.find(part) != std::string::npos, part << " is missing in\n"
                                                                 << shown.out);
  }
}

BOOST_AUTO_TEST_CASE(events_of_repeated_row_are_distinct) {
  static constexpr auto no_quota = R"({"error":{"message":"no","code":"insufficient_quota"}})";
  // The quota is exhausted in the second call of the row, so the row runs again.
  auto server = loopback_server{[](loopback_server::socket& socket, int number) {
    if (number == 1)
      respond(socket, {"429 Too Many Requests", no_quota});
    else
      respond(socket, response_to(number == 3 ? 2 : 1));
  }};
  const auto job = logged_job{server.address()};
  const auto end = job.run({"--events", job.log(), "--quota-wait", "20s"});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
  auto attempts = std::set<int>{};
  auto seen = std::set<std::string>{};
  for (const auto& line : read_objects(job.read("events.jsonl"))) {
    const auto attempt = line.at("row_attempt").to_number<int>();
    attempts.insert(attempt);
    const auto name =
        std::to_string(attempt) + ' ' + text_at(line, "event") + ' ' + text_at(line, "call_id");
    BOOST_TEST(seen.insert(name).second, name << " is in the log twice");
  }
  BOOST_TEST((attempts == std::set<int>{1, 2}));
  const auto shown =
      process{{superstep_program(), "row", job.output, "r", "--events", job.log()}}.wait();
  BOOST_TEST(shown.out.find("-- start 2 of the row\n") != std::string::npos, shown.out);
}

BOOST_AUTO_TEST_CASE(resumed_job_adds_to_its_event_log) {
  auto server = loopback_server{
      [](loopback_server::socket& socket, int /*number*/) { respond(socket, response_to(2)); }};
  const auto job = logged_job{server.address()};
  const auto second = std::string{R"({"id":"s","messages":[{"role":"user","content":"2+2?"}]})"};
  job.write("in.jsonl", job.read("in.jsonl") + second + '\n');
  const auto rows_after = [&](std::vector<std::string> options) {
    options.insert(options.end(), {"--events", job.log()});
    const auto end = job.run(options);
    BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
    auto rows = std::string{};
    auto runs = 0;
    for (const auto& line : read_objects(job.read("events.jsonl"))) {
      rows += text_at(line, "event") == "model_end" ? text_at(line, "row") : "";
      runs += line.contains("job_id") ? 1 : 0;
    }
    return rows + ' ' + std::to_string(runs);
  };
  BOOST_TEST(rows_after({"--limit", "1"}) == "r 1");
  job.write("events.jsonl", job.read("events.jsonl") + R"({"row":"r","row_at)"); // killed
  BOOST_TEST(rows_after({}) == "rs 2");
  BOOST_TEST(rows_after({"--fresh", "--limit", "1"}) == "r 1");
}

BOOST_AUTO_TEST_SUITE_END()
