// SPDX-License-Identifier: Apache-2.0
// Rows with a common prefix against a separate chat-completions server: the server has answered the
// first row of a group before it receives another one.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(prefix_server)

namespace {

using namespace superstep::testing;

constexpr auto groups = 4;
constexpr auto rows_per_group = 6;
constexpr auto rows_at_once = 4;

/// The order of the rows in the input.
enum class input_order : std::uint8_t { by_group, mixed };

std::ostream& operator<<(std::ostream& out, input_order order) {
  return out << (order == input_order::by_group ? "by group" : "mixed");
}

std::string text_of(int group, int row) {
  return std::string(40, static_cast<char>('a' + group)) + " question " + std::to_string(row);
}

/// The rows, their recorded answers, and the server's log.
struct grouped_job : cli_job {
  explicit grouped_job(input_order order) {
    auto rows = std::string{};
    auto turns = std::string{};
    for (auto i = 0; i < groups * rows_per_group; ++i) {
      const auto is_sorted = order == input_order::by_group;
      const auto group = is_sorted ? i / rows_per_group : i % groups;
      const auto row = is_sorted ? i % rows_per_group : i / groups;
      const auto id = std::to_string(group) + '-' + std::to_string(row);
      auto messages = json::array{json::object{{"role", "user"}, {"content", text_of(group, row)}}};
      rows += json::serialize(json::object{{"id", id}, {"messages", std::move(messages)}}) + '\n';
      auto answers = json::array{json::object{{"role", "assistant"}, {"content", "yes " + id}}};
      turns += json::serialize(json::object{{"id", id}, {"turns", std::move(answers)}}) + '\n';
    }
    write("in.jsonl", rows);
    write("turns.jsonl", turns);
  }
};

/// An event of the server's log: `begin` or `answer`, and the group of the request.
using log_events = std::vector<std::pair<std::string, char>>;

log_events read_log(const std::string& text) {
  auto out = log_events{};
  auto in = std::istringstream{text};
  auto request = std::string{};
  for (auto event = std::string{}; in >> event && std::getline(in >> std::ws, request);)
    out.emplace_back(event, request.at(0));
  return out;
}

/// Checks that the requests of a group wait until its first row is answered.
void check_warm_ups(const log_events& log) {
  auto in_flight = std::map<char, int>{};
  auto answered = std::map<char, int>{};
  for (const auto& [event, group] : log) {
    if (event == "answer") {
      ++answered[group];
      continue;
    }
    if (!answered.contains(group))
      BOOST_TEST(++in_flight[group] == 1, "group " << group << " began before its first answer");
  }
  for (auto group = 'a'; group < 'a' + groups; ++group)
    BOOST_TEST(answered[group] == rows_per_group);
}

/// Returns how many rows of a group began before the first row of the next one.
std::vector<int> begun_before_next_group(const log_events& log) {
  auto out = std::vector<int>{};
  for (auto group = 'a'; group + 1 < 'a' + groups; ++group) {
    auto begun = 0;
    for (const auto& [event, other] : log) {
      if (event == "begin" && other == group + 1)
        break;
      begun += event == "begin" && other == group ? 1 : 0;
    }
    out.push_back(begun);
  }
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(first_row_of_group_is_answered_before_others_begin,
                     boost::unit_test::data::make({input_order::by_group, input_order::mixed}),
                     order) {
  const auto job = grouped_job{order};
  auto server =
      process{{helper_program("chat_server"), "--input", job.input, "--recorded",
               job.folder / "turns.jsonl", "--latency-ms", "20", "--log", job.folder / "log"},
              child_input::held_open};
  job.write("agent.yaml", "model: {provider: openai, model: m, api_key_env: '', base_url: "
                          "'http://127.0.0.1:" +
                              server.read_line() + "'}\n");
  const auto end = job.run({"--group-prefix", "40", "--concurrency", std::to_string(rows_at_once)});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.out << end.err);
  for (const auto& [key, row] : read_rows(job.read("out.jsonl")))
    BOOST_TEST(text_at(messages_of(row).back().as_object(), "content") == "yes " + key);
  const auto log = read_log(job.read("log"));
  check_warm_ups(log);
  // The next group is opened when the rows of the last one have started. Those in flight may reach
  // the server later.
  for (const auto begun : begun_before_next_group(log))
    BOOST_TEST(begun > rows_per_group - rows_at_once);
}

BOOST_AUTO_TEST_SUITE_END()
