// SPDX-License-Identifier: Apache-2.0
// The limits of an agent that other agents call hold for all rows of a job together.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <utility>

BOOST_AUTO_TEST_SUITE(nested_limits)

namespace {

using namespace superstep::testing;

constexpr auto rows = 60;
constexpr auto calls_at_once = 3;

} // namespace

BOOST_AUTO_TEST_CASE(limit_of_called_agent_holds_over_all_rows) {
  const auto job = cli_job{};
  auto messages = json::array{json::object{{"role", "user"}, {"content", "why?"}}};
  auto answers = json::array{json::object{{"role", "assistant"}, {"content", "because"}}};
  job.write("asked.jsonl",
            json::serialize(json::object{{"id", "a"}, {"messages", std::move(messages)}}) + '\n');
  job.write("turns.jsonl",
            json::serialize(json::object{{"id", "a"}, {"turns", std::move(answers)}}) + '\n');
  auto server = process{{helper_program("chat_server"), "--input", job.folder / "asked.jsonl",
                         "--recorded", job.folder / "turns.jsonl", "--latency-ms", "10"},
                        child_input::held_open};
  job.write("expert.yaml", "model: {provider: openai, model: m, api_key_env: '', base_url: "
                           "'http://127.0.0.1:" +
                               server.read_line() + "'}\nlimits: {model_calls: " +
                               std::to_string(calls_at_once) + ", adaptive: off}\n");
  job.write("rules.yaml", "rules:\n"
                          "  - {type: tool, text: '\\0'}\n"
                          "  - {type: human, match: 'ask', calls: [{name: expert, args: {request: "
                          "'why?'}}]}\n");
  job.write("agent.yaml", "model: {provider: scripted, path: rules.yaml}\n"
                          "tools: [agent: {name: expert, file: expert.yaml}]\n");
  auto input = std::string{};
  for (auto i = 0; i < rows; ++i)
    input += json::serialize(json::object{
                 {"id", std::to_string(i)},
                 {"messages", json::array{json::object{{"role", "user"}, {"content", "ask"}}}}}) +
             '\n';
  job.write("in.jsonl", input);
  const auto end = job.run({"--concurrency", "32"});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
  for (const auto& [key, row] : read_rows(job.read("out.jsonl")))
    BOOST_TEST(text_at(messages_of(row).back().as_object(), "content") == "because", key);
  server.close_input();
  const auto ended = server.wait(std::chrono::seconds{20});
  const auto seen = read_objects(ended.out.substr(ended.out.find('\n') + 1)).at(0);
  BOOST_TEST(seen.at("answered").as_int64() == rows);
  BOOST_TEST(seen.at("in_flight_max").as_int64() == calls_at_once);
}

BOOST_AUTO_TEST_SUITE_END()
