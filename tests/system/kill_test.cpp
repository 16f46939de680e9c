// SPDX-License-Identifier: Apache-2.0
// Jobs that are killed or stopped, and then resumed.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <random>
#include <thread>

namespace {

using namespace superstep::testing;
using std::chrono::milliseconds;
using monotonic = std::chrono::steady_clock;

constexpr auto kills = 20;

/// Writes rows with two turns that call a tool, and a final text.
void write_own_job(const cli_job& job, int rows) {
  auto input = std::string{};
  auto turns = std::string{};
  for (auto i = 0; i < rows; ++i) {
    const auto key = "row-" + std::to_string(i);
    auto messages = json::array{json::object{{"role", "user"}, {"content", "note " + key}}};
    input += json::serialize(json::object{{"id", key}, {"messages", std::move(messages)}}) + '\n';
    auto said = json::array{};
    for (auto turn = 0; turn < 2; ++turn) {
      auto function = json::object{{"name", "note"}, {"arguments", "{}"}};
      auto call = json::object{{"id", "c" + std::to_string(turn)},
                               {"type", "function"},
                               {"function", std::move(function)}};
      said.push_back(json::object{
          {"role", "assistant"}, {"content", ""}, {"tool_calls", json::array{std::move(call)}}});
    }
    said.push_back(json::object{{"role", "assistant"}, {"content", "Noted."}});
    turns += json::serialize(json::object{{"id", key}, {"turns", std::move(said)}}) + '\n';
  }
  job.write("in.jsonl", input);
  job.write("turns.jsonl", turns);
}

/// Returns an agent whose tool appends a line to a file for each of its effects: the key of the
/// row, the call and the parent process.
std::string noting_agent(const cli_job& job, std::string_view effects = {}) {
  auto script = "echo \"$SUPERSTEP_RUN_KEY $SUPERSTEP_TOOL_CALL_ID $PPID\" >> " +
                job.folder / "effects" + "; echo noted";
  auto command = json::object{
      {"name", "note"}, {"description", "notes"}, {"argv", json::array{"sh", "-c", script}}};
  if (!effects.empty())
    command["effects"] = effects;
  auto model = json::object{{"provider", "recorded"}, {"path", "turns.jsonl"}, {"latency_ms", 10}};
  return json::serialize(
      json::object{{"name", "noting"},
                   {"model", std::move(model)},
                   {"tools", json::array{json::object{{"command", std::move(command)}}}}});
}

struct effect {
  std::string row;
  std::string call;
  pid_t process = 0; ///< parent of the tool; 1 if that process was already dead
};

std::vector<effect> all_effects(const cli_job& job) {
  auto out = std::vector<effect>{};
  auto in = std::ifstream{job.folder / "effects"};
  for (auto e = effect{}; in >> e.row >> e.call >> e.process;)
    out.push_back(e);
  return out;
}

/// Returns the number of effects of each row.
std::map<std::string, int> effects_of(const cli_job& job) {
  auto out = std::map<std::string, int>{};
  for (const auto& e : all_effects(job))
    ++out[e.row];
  return out;
}

/// Starts the job and kills it after a random time, `kills` times. Calls `after_kill` with the id
/// of the process each time.
template <class Function>
void kill_again_and_again(const cli_job& job, const std::vector<std::string>& more,
                          milliseconds uninterrupted, Function after_kill) {
  auto random = std::mt19937{4711};
  auto pick = std::uniform_int_distribution<int>{0, static_cast<int>(uninterrupted.count() / 10)};
  auto killed = 0;
  for (auto round = 0; round < kills; ++round) {
    auto child = process{job.arguments(more)};
    const auto has_finished = child.wait_for(milliseconds{pick(random)});
    child.send(SIGKILL);
    const auto end = child.wait();
    BOOST_TEST((has_finished ? end.exit_code == 0 : end.signal == SIGKILL), end.err);
    killed += has_finished ? 0 : 1;
    after_kill(child.id());
  }
  BOOST_TEST_MESSAGE("killed " << killed << " times");
  BOOST_TEST(killed >= kills / 2);
}

milliseconds timed(const cli_job& job, const std::vector<std::string>& more) {
  const auto begin = monotonic::now();
  const auto end = job.run(more);
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  return std::chrono::duration_cast<milliseconds>(monotonic::now() - begin);
}

} // namespace

BOOST_AUTO_TEST_SUITE(killed_jobs)

BOOST_AUTO_TEST_CASE(tool_calls_of_finished_rows_never_run_again) {
  auto job = cli_job{};
  write_own_job(job, 150);
  job.write("agent.yaml", noting_agent(job));
  const auto more = std::vector<std::string>{"--concurrency", "8"};
  const auto reference_path = job.folder / "reference.jsonl";
  const auto result_path = std::exchange(job.output, reference_path);
  const auto time = timed(job, more);
  job.output = result_path;
  const auto reference = read_rows(read_file(reference_path));
  BOOST_TEST(reference.size() == 150U);
  std::filesystem::remove(job.folder / "effects");

  auto finished = std::map<std::string, int>{}; // effects of each row when first seen finished
  auto check_effects = [&](pid_t) {
    const auto effects = effects_of(job);
    for (const auto& [key, row] : read_rows(job.read("out.jsonl"))) {
      const auto now = effects.contains(key) ? effects.at(key) : 0;
      const auto [seen, is_new] = finished.try_emplace(key, now);
      BOOST_TEST(seen->second == now, key << " had finished, and its calls ran again");
    }
  };
  kill_again_and_again(job, more, time, check_effects);
  const auto end = job.run(more);
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  check_effects({});
  check_equal_rows(read_rows(job.read("out.jsonl")), reference);
}

/// The answers end in another order than the rows, because 8 rows run at a time.
BOOST_AUTO_TEST_CASE(killed_job_with_fields_keeps_input_order) {
  auto job = cli_job{};
  write_own_job(job, 150);
  job.write("agent.yaml", noting_agent(job));
  const auto more = std::vector<std::string>{"--concurrency", "8",       "--fields",
                                             "answer,steps",  "--order", "input"};
  job.output = job.folder / "reference.csv";
  const auto time = timed(job, more);
  job.output = job.folder / "out.csv";
  const auto reference = job.read("reference.csv");
  BOOST_TEST(std::ranges::count(reference, '\n') == 151);
  std::filesystem::remove(job.folder / "effects");
  auto finished = std::map<std::string, int>{}; // effects of each row when first seen finished
  kill_again_and_again(job, more, time, [&](pid_t) {
    const auto effects = effects_of(job);
    for (const auto& [key, row] : read_rows(job.read("out.rows.jsonl"))) {
      const auto [seen, is_new] = finished.try_emplace(key, effects.at(key));
      BOOST_TEST(seen->second == effects.at(key), key << " had finished, and its calls ran again");
    }
  });
  const auto end = job.run(more);
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  BOOST_TEST(job.read("out.csv") == reference);
  BOOST_TEST(read_rows(job.read("out.rows.jsonl")).size() == 150U);
}

/// The second call of a row is made after the first has led to a checkpoint, so no later process
/// may repeat the first call.
BOOST_AUTO_TEST_CASE(started_row_resumes_at_its_last_super_step) {
  auto job = cli_job{};
  write_own_job(job, 100);
  job.write("agent.yaml", noting_agent(job));
  const auto more = std::vector<std::string>{"--concurrency", "8", "--checkpoints"};
  const auto reference_path = job.folder / "reference.jsonl";
  const auto result_path = std::exchange(job.output, reference_path);
  const auto time = timed(job, {"--concurrency", "8"});
  job.output = result_path;
  const auto reference = read_rows(read_file(reference_path));
  std::filesystem::remove(job.folder / "effects");

  auto order = std::map<pid_t, int>{};
  kill_again_and_again(job, more, time,
                       [&](pid_t id) { order.emplace(id, static_cast<int>(order.size())); });
  const auto end = job.run(more);
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  check_equal_rows(read_rows(job.read("out.jsonl")), reference);
  const auto place_of = [&](const effect& e) {
    const auto found = order.find(e.process);
    return found != order.end() ? found->second : kills; // the last process was not killed
  };
  auto second = std::map<std::string, int>{}; // the first process that made the second call
  for (const auto& e : all_effects(job))
    if (e.call == "c1" && e.process != 1) {
      const auto [found, is_new] = second.try_emplace(e.row, place_of(e));
      found->second = std::min(found->second, place_of(e));
    }
  BOOST_TEST(second.size() >= 90U); // in the few others the process was dead when its tool asked
  for (const auto& e : all_effects(job))
    if (e.call == "c0" && e.process != 1 && second.contains(e.row))
      BOOST_TEST(place_of(e) <= second.at(e.row), e.row);
  for (const auto* ending : {"", "-wal", "-shm", "-lease"})
    BOOST_TEST(!std::filesystem::exists(job.folder / "out.job.db" + ending));
}

BOOST_AUTO_TEST_CASE(started_row_with_changed_input_starts_over) {
  auto job = cli_job{};
  write_own_job(job, 1);
  job.write("agent.yaml", noting_agent(job));
  auto child = process{job.arguments({"--checkpoints", "--set", "model.latency_ms=300"})};
  while (!child.wait_for(milliseconds{5}) && all_effects(job).empty())
    continue;
  child.send(SIGKILL);
  BOOST_TEST_REQUIRE(child.wait().signal == SIGKILL);
  BOOST_TEST(std::filesystem::exists(job.folder / "out.job.db"));
  auto input = job.read("in.jsonl");
  input.replace(input.find("note row-0"), 10, "note other");
  job.write("in.jsonl", input);
  const auto end = job.run({"--checkpoints", "--force"});
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  const auto out = job.read("out.jsonl");
  BOOST_TEST(out.find("note other") != std::string::npos, out);
  BOOST_TEST(out.find("note row-0") == std::string::npos, out);
  BOOST_TEST(effects_of(job).at("row-0") == 3); // one before the input changed, two after
}

BOOST_AUTO_TEST_CASE(journaled_command_does_not_run_twice) {
  auto job = cli_job{};
  write_own_job(job, 60);
  job.write("agent.yaml", noting_agent(job, "journaled"));
  const auto more = std::vector<std::string>{"--concurrency", "8", "--checkpoints"};
  const auto result_path = std::exchange(job.output, job.folder / "reference.jsonl");
  const auto time = timed(job, more);
  for (const auto& [key, count] : effects_of(job))
    BOOST_TEST(count == 2, key);
  job.output = result_path;
  std::filesystem::remove(job.folder / "effects");
  kill_again_and_again(job, more, time, [](pid_t) {});
  const auto end = job.run(more);
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == 60U);
  for (const auto& [key, count] : effects_of(job))
    BOOST_TEST(count <= 2, key);
}

BOOST_AUTO_TEST_CASE(job_drained_by_first_signal_resumes_without_repeats) {
  auto job = cli_job{};
  write_own_job(job, 150);
  job.write("agent.yaml", noting_agent(job));
  const auto more = std::vector<std::string>{"--concurrency", "4"};
  {
    auto child = process{job.arguments(more)};
    while (!child.wait_for(milliseconds{5}) && job.read("out.jsonl").empty())
      continue;
    child.send(SIGINT);
    const auto end = child.wait();
    BOOST_TEST_REQUIRE(end.exit_code == 3, end.err);
  }
  const auto drained = read_rows(job.read("out.jsonl"));
  BOOST_TEST(drained.size() < 150U);
  for (const auto& [key, row] : drained)
    BOOST_TEST(text_at(row, "status") == "ok", key);
  // Rows in flight have ended as usual: every row with an effect has its line.
  for (const auto& [key, count] : effects_of(job))
    BOOST_TEST(drained.contains(key), key << " was started but has no output");
  BOOST_TEST(job.run(more).exit_code == 0);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == 150U);
  for (const auto& [key, count] : effects_of(job))
    BOOST_TEST(count == 2, key);
  const auto again = job.run(more);
  BOOST_TEST(again.exit_code == 0);
  BOOST_TEST(again.out.find("nothing to do") != std::string::npos, again.out);
}

BOOST_AUTO_TEST_CASE(second_signal_aborts_job_and_leaves_rows_undone) {
  auto job = cli_job{};
  write_own_job(job, 20);
  job.write("agent.yaml", noting_agent(job));
  const auto more = std::vector<std::string>{"--concurrency", "4"};
  auto slow = more;
  slow.insert(slow.end(), {"--set", "model.latency_ms=60000", "--limit", "8"});
  auto child = process{job.arguments(slow)};
  while (!child.wait_for(milliseconds{5}) &&
         job.read("out.journal").find("start") == std::string::npos)
    continue;
  child.send(SIGTERM);
  BOOST_TEST(!child.wait_for(milliseconds{300})); // it drains, and the rows are slow
  child.send(SIGTERM);
  const auto end = child.wait(std::chrono::seconds{30});
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(job.read("out.jsonl").empty());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(killed_gsm8k)

BOOST_AUTO_TEST_CASE(job_killed_twenty_times_ends_with_same_rows) {
  const auto data = shared_data("gsm8k");
  auto job = cli_job{};
  job.write("agent.yaml", "name: math\nmodel: {provider: recorded, path: " + data +
                              "/recorded_turns.jsonl, latency_ms: 50}\ntools: [calculator]\n");
  job.input = data + "/input.jsonl";
  const auto reference_path = job.folder / "reference.jsonl";
  const auto result_path = std::exchange(job.output, reference_path);
  const auto time = timed(job, {});
  job.output = result_path;
  auto before = std::size_t{0};
  kill_again_and_again(job, {}, time, [&](pid_t) {
    // Complete lines are never removed.
    const auto now = read_rows(job.read("out.jsonl")).size();
    BOOST_TEST(now >= before);
    before = now;
  });
  const auto end = job.run();
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  check_equal_rows(read_rows(job.read("out.jsonl")), read_rows(read_file(reference_path)));
}

BOOST_AUTO_TEST_SUITE_END()
