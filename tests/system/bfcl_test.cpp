// SPDX-License-Identifier: Apache-2.0
// Questions with several calls per answer (BFCL): all calls of a message run concurrently.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <limits>
#include <set>

BOOST_AUTO_TEST_SUITE(bfcl)

namespace {

using namespace superstep::testing;

constexpr auto groups = {"multiple", "parallel", "parallel_multiple"};

std::vector<json::object> questions() {
  auto out = std::vector<json::object>{};
  for (const auto* group : groups)
    for (auto& row : read_objects(read_file(shared_data("bfcl") + "/bfcl_" + group + ".jsonl")))
      out.push_back(std::move(row));
  return out;
}

std::string call_id(const std::string& key, std::size_t i) {
  return "call_" + key + '_' + std::to_string(i);
}

/// Returns one message with all expected calls, then a final text.
json::object recorded_turns(const json::object& question) {
  const auto key = text_at(question, "id");
  auto calls = json::array{};
  for (const auto& call : question.at("expected_calls").as_array()) {
    auto function =
        json::object{{"name", call.at("name")}, {"arguments", json::serialize(call.at("args"))}};
    calls.push_back(json::object{{"id", call_id(key, calls.size())},
                                 {"type", "function"},
                                 {"function", std::move(function)}});
  }
  auto asks =
      json::object{{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}};
  auto closes = json::object{{"role", "assistant"}, {"content", "Done."}};
  return {{"id", key}, {"turns", json::array{std::move(asks), std::move(closes)}}};
}

/// Returns an agent file whose tools echo their arguments after 20 ms. JSON is valid YAML.
std::string agent_of(const std::vector<json::object>& rows, const std::string& version) {
  auto names = std::set<std::string>{};
  for (const auto& row : rows)
    for (const auto& call : row.at("expected_calls").as_array())
      names.insert(std::string{call.at("name").as_string()});
  auto tools = json::array{};
  for (const auto& name : names) {
    auto options = json::object{{"name", name}, {"description", "echoes"}, {"delay_ms", 20}};
    tools.push_back(json::object{{"simulated", std::move(options)}});
  }
  auto model = json::object{{"provider", "recorded"}, {"path", "turns.jsonl"}};
  return json::serialize(json::object{{"name", "bfcl"},
                                      {"model", std::move(model)},
                                      {"version", version},
                                      {"tools", std::move(tools)}});
}

/// Checks that the row's tool messages answer the calls in order and with their arguments.
std::size_t check_row(const json::object& row, const json::object& question) {
  const auto& calls = question.at("expected_calls").as_array();
  const auto& messages = messages_of(row);
  BOOST_TEST(text_at(row, "status") == "ok");
  BOOST_TEST_REQUIRE(messages.size() == calls.size() + 3);
  for (auto i = std::size_t{0}; i < calls.size(); ++i) {
    const auto& answer = messages[i + 2].as_object();
    BOOST_TEST(text_at(answer, "type") == "tool");
    BOOST_TEST(text_at(answer, "tool_call_id") == call_id(text_at(question, "id"), i));
    BOOST_TEST((answer.at("name") == calls[i].at("name")));
    BOOST_TEST((json::parse(text_at(answer, "content")) == calls[i].at("args")));
  }
  return calls.size();
}

struct call_times {
  std::int64_t last_start = 0;
  std::int64_t first_end = std::numeric_limits<std::int64_t>::max();
  std::size_t starts = 0;
};

std::map<std::string, call_times> read_events(const std::string& jsonl) {
  auto out = std::map<std::string, call_times>{};
  for (const auto& event : read_objects(jsonl)) {
    auto& row = out[text_at(event, "row")];
    const auto kind = text_at(event, "event");
    if (kind == "tool_start") {
      ++row.starts;
      row.last_start = std::max(row.last_start, event.at("t_ns").to_number<std::int64_t>());
    } else if (kind == "tool_end") {
      row.first_end = std::min(row.first_end, event.at("t_ns").to_number<std::int64_t>());
    }
  }
  return out;
}

const auto versions = std::vector<std::string>{"v1", "v2"};

} // namespace

BOOST_DATA_TEST_CASE(all_calls_of_message_start_before_one_ends,
                     boost::unit_test::data::make(versions), version) {
  const auto rows = questions();
  auto job = cli_job{};
  auto input = std::string{};
  auto turns = std::string{};
  for (const auto& row : rows) {
    input += json::serialize(json::object{{"id", row.at("id")}, {"messages", row.at("messages")}}) +
             '\n';
    turns += json::serialize(recorded_turns(row)) + '\n';
  }
  job.write("in.jsonl", input);
  job.write("turns.jsonl", turns);
  job.write("agent.yaml", agent_of(rows, version));
  const auto events = job.folder / "events.jsonl";
  const auto end = job.run({"--concurrency", "16", "--events", events});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  const auto answers = read_rows(job.read("out.jsonl"));
  BOOST_TEST(answers.size() == rows.size());
  const auto times = read_events(read_file(events));
  auto tool_messages = std::size_t{0};
  auto parallel_rows = std::size_t{0};
  auto expected_messages = std::size_t{0};
  auto expected_parallel = std::size_t{0};
  for (const auto& row : rows) {
    const auto key = text_at(row, "id");
    const auto calls = row.at("expected_calls").as_array().size();
    expected_messages += calls;
    expected_parallel += calls > 1 ? 1 : 0;
    BOOST_TEST_CONTEXT(key) {
      BOOST_TEST_REQUIRE(answers.contains(key));
      tool_messages += check_row(answers.at(key), row);
      BOOST_TEST_REQUIRE(times.contains(key));
      const auto& seen = times.at(key);
      BOOST_TEST(seen.starts == calls);
      if (calls > 1 && seen.last_start < seen.first_end)
        ++parallel_rows;
    }
  }
  BOOST_TEST(tool_messages == expected_messages);
  BOOST_TEST(parallel_rows == expected_parallel);
  BOOST_TEST_MESSAGE(version << ": " << answers.size() << " rows, " << tool_messages
                             << " tool messages, " << parallel_rows << " rows in parallel");
}

BOOST_AUTO_TEST_SUITE_END()
