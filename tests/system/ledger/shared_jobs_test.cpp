// SPDX-License-Identifier: Apache-2.0
// Jobs that several processes share: each row is stored once, whatever is killed.
#include "shared_job_files.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>

#include <unistd.h>

namespace {

using namespace superstep::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Returns the server of these tests, without a ledger.
const postgres_server& empty_server() {
  static const auto server = postgres_server{};
  server.run("drop schema if exists superstep cascade");
  return server;
}

/// A submitted job whose agent has two tools that write a line to a log when they are called.
/// `note` ends at once, and `hold` ends when the test releases it.
class logged_calls {
public:
  /// @param after the rules of the model after the call of `note`
  logged_calls(const postgres_server& server, int rows, const std::string& after)
      : job{server, rows} {
    const auto tool = [this](const std::string& name, const std::string& then) {
      return "- command: {name: " + name +
             ", description: Logs a call.,\n    argv: [/bin/sh, -c, "
             "'echo called >> " +
             log(name) + "; " + then + "echo " + name + "']}\n";
    };
    job.job.write("agent.yaml",
                  "name: noter\nmodel: {provider: scripted, path: model.yaml}\ntools:\n" +
                      tool("note", "") +
                      tool("hold", "while [ ! -e " + gate() + " ]; do sleep 0.05; done; "));
    job.job.write("model.yaml", "latency_ms: 5\nrules:\n- type: human\n  match: '2'\n"
                                "  calls: [{name: note, args: {}}]\n- " +
                                    after + "\n");
    job.submit({"--chunk-rows", "16"});
  }

  [[nodiscard]] int calls(const std::string& tool) const {
    const auto path = log(tool);
    const auto text = std::filesystem::exists(path) ? read_file(path) : std::string{};
    return static_cast<int>(std::ranges::count(text, '\n'));
  }
  /// Returns the number of calls after their process was killed. Its commands are processes of
  /// their own, which may write a little later.
  [[nodiscard]] int calls_at_rest(const std::string& tool) const {
    auto before = -1;
    auto now = calls(tool);
    for (; now != before; now = calls(tool)) {
      before = now;
      std::this_thread::sleep_for(milliseconds{500});
    }
    return now;
  }
  void wait_for_calls(const std::string& tool, int count) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (calls(tool) < count && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(milliseconds{20});
    BOOST_TEST_REQUIRE(calls(tool) == count);
  }
  /// Lets all calls of `hold` end.
  void release() const { write_file(gate(), ""); }

  shared_job_files job;

private:
  [[nodiscard]] std::string log(const std::string& tool) const {
    return job.job.folder / (tool + ".log");
  }
  [[nodiscard]] std::string gate() const { return job.job.folder / "released"; }
};

/// Pauses a worker beyond its lease while another one runs the whole job of 60 rows. Returns the
/// end of the paused worker.
ended_process run_beside_paused_worker(const shared_job_files& files,
                                       const std::vector<std::string>& options) {
  files.submit({"--chunk-rows", "8"});
  auto zombie = files.worker(options);
  wait_for_rows(files, 1);
  zombie->send(SIGSTOP);
  const auto other = files.worker(options)->wait();
  BOOST_TEST(other.exit_code == 0, other.err);
  BOOST_TEST(files.stored() == 60);
  zombie->send(SIGCONT);
  auto end = zombie->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  return end;
}

} // namespace

BOOST_AUTO_TEST_CASE(two_processes_store_each_row_once) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 400};
  files.submit({"--chunk-rows", "32"});
  auto first = files.worker();
  auto second = files.worker();
  for (auto* each : {&first, &second}) {
    const auto end = (*each)->wait();
    BOOST_TEST(end.exit_code == 0, end.err);
    BOOST_TEST(end.out.find("400 rows: 400 ok, 0 failed") != std::string::npos, end.out);
  }
  files.check_outputs();
  const auto again = files.worker()->wait();
  BOOST_TEST(again.out.find("nothing to do") != std::string::npos, again.out);
}

BOOST_AUTO_TEST_CASE(killed_workers_and_servers_lose_no_row) {
  auto server = postgres_server{};
  const auto files = shared_job_files{server, 1'500, 20};
  files.submit({"--chunk-rows", "32"});
  auto random = std::mt19937{4711};
  auto workers = std::vector<std::unique_ptr<process>>{};
  for (auto i = 0; i < 3; ++i)
    workers.push_back(files.worker());
  auto kills = 0;
  for (auto round = 0; round < 12; ++round) {
    std::this_thread::sleep_for(milliseconds{100 + random() % 300});
    auto& victim = workers[random() % workers.size()];
    kills += victim->wait_for(milliseconds{0}) ? 0 : 1;
    victim->send(SIGKILL);
    static_cast<void>(victim->wait());
    victim = files.worker();
    if (round % 4 == 1) {
      server.crash(round == 5 ? SIGKILL : SIGQUIT);
      server.start();
    }
  }
  BOOST_TEST(kills > 6);
  // A worker that was started while the server was away has failed; launchers start it again.
  for (auto& worker : workers)
    if (worker->wait().exit_code != 0)
      worker = files.worker();
  for (auto& worker : workers) {
    const auto end = worker->wait();
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(worker_paused_beyond_its_lease_is_refused) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 60, 200};
  const auto end = run_beside_paused_worker(files, {});
  BOOST_TEST(end.out.find("ran for nothing") != std::string::npos, end.out);
  files.check_outputs();
}

/// Its rows were run by another process in the meantime, so they cannot be saved any more.
BOOST_AUTO_TEST_CASE(paused_worker_with_checkpoints_continues) {
  const auto& server = empty_server();
  server.run("drop schema if exists superstep_threads cascade");
  const auto files = shared_job_files{server, 60, 200};
  static_cast<void>(run_beside_paused_worker(files, {"--checkpoints"}));
  files.check_outputs();
}

/// A kill repeats only rows whose outputs are not stored.
BOOST_AUTO_TEST_CASE(stored_rows_do_not_run_again) {
  const auto& server = empty_server();
  constexpr auto rows = 200; // so many that the kill comes before the last one, also under load
  const auto files = logged_calls{server, rows, "{type: tool, text: Done.}"};
  auto first = files.job.worker();
  wait_for_rows(files.job, 10);
  first->send(SIGKILL);
  static_cast<void>(first->wait());
  const auto called = files.calls_at_rest("note");
  const auto unstored = called - files.job.stored();
  const auto end = files.job.worker()->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(files.job.exported().size() == std::size_t{rows});
  BOOST_TEST(called < rows);
  BOOST_TEST(files.calls("note") <= rows + unstored);
}

BOOST_AUTO_TEST_CASE(job_is_resumed_from_another_host) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 60, 20};
  files.submit({"--chunk-rows", "8"});
  auto first = files.worker();
  wait_for_rows(files, 10);
  first->send(SIGKILL);
  static_cast<void>(first->wait());
  auto elsewhere = std::vector<std::string>{
      "unshare", "--uts", "sh", "-c", "hostname another-host && exec \"$@\"", "sh"};
  if (::geteuid() != 0)
    elsewhere.insert(elsewhere.begin() + 1, "--map-root-user");
  const auto words = files.command({"run"}, {"--progress", "none"});
  elsewhere.insert(elsewhere.end(), words.begin(), words.end());
  const auto end = process{elsewhere}.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(server.value("select count(*) from superstep.chunks where "
                          "worker like 'another-host-%'") != "0");
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(interrupted_worker_gives_its_rows_back) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 200, 20};
  files.submit({"--chunk-rows", "64"});
  auto first = files.worker({}, "600000");
  wait_for_rows(files, 10);
  first->send(SIGINT);
  const auto stopped = first->wait();
  BOOST_TEST(stopped.exit_code == 3, stopped.err);
  BOOST_TEST(server.value("select count(*) from superstep.chunks where state = 1") == "0");
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(job_is_paused_resumed_and_cancelled) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 400, 20};
  files.submit({"--chunk-rows", "16"});
  auto worker = files.worker();
  wait_for_rows(files, 10);
  BOOST_TEST(files.call({"jobs", "pause"}).exit_code == 0);
  std::this_thread::sleep_for(seconds{2});
  const auto paused_at = files.stored();
  std::this_thread::sleep_for(seconds{1});
  BOOST_TEST(files.stored() == paused_at);
  BOOST_TEST(paused_at < 400);
  BOOST_TEST(files.call({"jobs", "show"}).out.find("paused") != std::string::npos);
  BOOST_TEST(files.call({"jobs", "cancel"}).exit_code == 0);
  const auto end = worker->wait();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(end.out.find("the job was cancelled") != std::string::npos, end.out);
  const auto pause = files.call({"jobs", "pause"});
  BOOST_TEST(pause.exit_code == 1);
  BOOST_TEST(pause.err.find("superstep jobs resume continues it") != std::string::npos, pause.err);
  const auto late = files.worker()->wait();
  BOOST_TEST(late.exit_code == 3);
  BOOST_TEST(late.err.find("was cancelled") != std::string::npos, late.err);
  BOOST_TEST(files.call({"jobs", "resume"}).exit_code == 0);
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  files.check_outputs();
  BOOST_TEST(files.call({"jobs", "pause"}).exit_code == 0);
  BOOST_TEST(files.call({"jobs", "show"}).out.find("finished") != std::string::npos);
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  BOOST_TEST(files.call({"jobs", "drop"}).exit_code == 1);
  BOOST_TEST(files.call({"jobs", "drop", "--yes"}).exit_code == 0);
  BOOST_TEST(files.worker()->wait().err.find("has no job \"orders\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(paused_job_ends_with_its_last_rows) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 8, 1'000};
  files.submit({"--chunk-rows", "16"});
  auto worker = files.worker();
  std::this_thread::sleep_for(seconds{1}); // a row takes two seconds, and all of them have started
  BOOST_TEST(files.call({"jobs", "pause"}).exit_code == 0);
  const auto end = worker->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(workers_of_dropped_job_end_as_if_it_was_cancelled) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 400, 20};
  files.submit({"--chunk-rows", "16"});
  auto worker = files.worker();
  wait_for_rows(files, 10);
  BOOST_TEST(files.call({"jobs", "drop", "--yes"}).exit_code == 0);
  const auto end = worker->wait();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(end.out.find("the job was cancelled") != std::string::npos, end.out);
}

BOOST_AUTO_TEST_CASE(drop_waits_for_commit_in_progress) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 4};
  files.submit();
  auto worker = server.connect();
  BOOST_TEST_REQUIRE(worker.run_script("begin; update superstep.chunks set state = 1").has_value());
  auto drop = process{files.command({"jobs", "drop"}, {"--yes"})};
  server.await_lock_wait();
  const auto stored =
      worker.run_script("insert into superstep.outputs (job, row, fence, status, "
                        "line) select job, 0, 1, 0, '' from superstep.jobs; commit");
  BOOST_TEST(stored.has_value());
  const auto end = drop.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
}

/// A row uses 30 tokens. A process may start one more row for each of its rows in flight before it
/// knows what the others have used.
BOOST_AUTO_TEST_CASE(budget_covers_rows_of_all_processes) {
  constexpr auto rows_of_budget = 150;
  constexpr auto processes = 3;
  constexpr auto in_flight = processes * 8;
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 300};
  files.job.write("model.yaml", "latency_ms: 200\nrules:\n- type: human\n  match: '2\\+(\\d+)'\n"
                                "  calls: [{name: calculator, args: {expression: '2 + \\1'}}]\n"
                                "  usage: {input_tokens: 10, output_tokens: 5}\n"
                                "- {type: tool, text: The sum is \\0., usage: {input_tokens: 9, "
                                "output_tokens: 6}}\n");
  files.submit({"--chunk-rows", "16"});
  const auto budget =
      std::vector<std::string>{"--budget-tokens", std::to_string(30 * rows_of_budget)};
  auto workers = std::vector<std::unique_ptr<process>>{};
  for (auto i = 0; i < processes; ++i)
    workers.push_back(files.worker(budget));
  for (const auto& worker : workers) {
    const auto end = worker->wait();
    BOOST_TEST(end.exit_code == 3, end.err);
    BOOST_TEST(end.out.find("at least its budget of 4500 (--budget-tokens)") != std::string::npos,
               end.out);
  }
  const auto stored = files.stored();
  BOOST_TEST(stored >= rows_of_budget);
  BOOST_TEST(stored <= rows_of_budget + 2 * in_flight);
  const auto spent = std::to_string(30 * stored);
  BOOST_TEST(server.value("select sum(tokens) from superstep.spent") == spent);
  BOOST_TEST(server.value("select sum(total_tokens) from superstep.chunks") == spent);
  BOOST_TEST(files.worker(budget)->wait().exit_code == 3); // the budget covers earlier processes
  BOOST_TEST(files.stored() == stored);
  const auto rest = files.worker({"--budget-tokens", "1000000"})->wait();
  BOOST_TEST(rest.exit_code == 0, rest.err);
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(lines_in_part_files_are_exported) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 200};
  files.submit({"--chunk-rows", "32"});
  const auto folder = files.job.folder / "parts";
  auto first = files.worker({"--parts", folder});
  auto second = files.worker({"--parts", folder});
  BOOST_TEST(first->wait().exit_code == 0);
  BOOST_TEST(second->wait().exit_code == 0);
  files.check_outputs({"--parts", folder});
  BOOST_TEST(server.value("select max(length(line)) < 60 from superstep.outputs") == "t");
}

BOOST_AUTO_TEST_CASE(export_leaves_other_files_alone) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 4};
  files.submit();
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  const auto exports = std::filesystem::path{files.job.folder / "exports"};
  std::filesystem::create_directory(exports);
  write_file(exports / "out.jsonl.new", "a file of the user\n");
  const auto output = (exports / "out.jsonl").string();
  const auto failed = files.call({"jobs", "export", "--output", output},
                                 {"--dead", (exports / "nowhere" / "dead.jsonl").string()});
  BOOST_TEST(failed.exit_code == 1);
  const auto end = files.call({"jobs", "export", "--output", output});
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(read_rows(read_file(output)).size() == 4U);
  BOOST_TEST(read_file(exports / "out.jsonl.new") == "a file of the user\n");
  const auto count = std::distance(std::filesystem::directory_iterator{exports}, {});
  BOOST_TEST(count == 2); // an export that has failed leaves no file
}

BOOST_AUTO_TEST_CASE(failed_rows_run_again_on_request) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 100};
  files.submit({"--chunk-rows", "16"});
  files.write_model("2\\+([^7]\\d*|7\\d+)$"); // the row 2+7 fails
  const auto failed = files.worker({"--force"})->wait();
  BOOST_TEST(failed.exit_code == 2, failed.err);
  const auto dead = files.job.folder / "dead.jsonl";
  BOOST_TEST(files.exported({"--dead", dead}).size() == 100U);
  BOOST_TEST(read_file(dead).find("row-7") != std::string::npos);
  BOOST_TEST(files.exported({"--dead", dead}).size() == 100U); // replaces an earlier export
  const auto input = read_file(files.job.input);
  const auto refused = files.call({"jobs", "export", "--output", "-"}, {"--dead", files.job.input});
  BOOST_TEST(refused.exit_code == 1);
  BOOST_TEST(refused.err.find("--dead: " + files.job.input + ": would be overwritten") !=
                 std::string::npos,
             refused.err);
  BOOST_TEST(read_file(files.job.input) == input);
  files.write_model("2\\+(\\d+)");
  BOOST_TEST(files.call({"jobs", "retry-dead"}).out == "1 failed row will run again\n");
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(job_ends_if_its_last_rows_fail_because_of_the_server) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 5};
  files.submit({"--chunk-rows", "2"});
  files.job.write("model.yaml", "faults: {server_error: 1.0}\nrules: [{type: human, text: a}]\n");
  auto first = files.worker({"--force"});
  auto second = files.worker({"--force"});
  BOOST_TEST(first->wait().exit_code == 2);
  BOOST_TEST(second->wait().exit_code == 2);
  BOOST_TEST(files.stored() == 5);
}

BOOST_AUTO_TEST_CASE(repeated_rows_run_with_ids_of_their_own) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 40};
  const auto repeated = std::vector<std::string>{"--repeat", "3", "--seed", "5"};
  files.submit({"--chunk-rows", "16", "--repeat", "3", "--seed", "5"});
  auto first = files.worker();
  auto second = files.worker();
  BOOST_TEST(first->wait().exit_code == 0);
  const auto end = second->wait();
  BOOST_TEST(end.out.find("120 rows: 120 ok, 0 failed") != std::string::npos, end.out);
  auto alone_with = repeated;
  alone_with.push_back("--fresh");
  const auto alone = files.job.run(alone_with);
  BOOST_TEST_REQUIRE(alone.exit_code == 0, alone.err);
  const auto rows = files.exported();
  BOOST_TEST(rows.size() == 120U);
  BOOST_TEST(rows.contains("row-7#3"));
  check_equal_rows(rows, read_rows(files.job.read("out.jsonl")));
}

/// A row calls a second tool only when the step of the first one is saved.
BOOST_AUTO_TEST_CASE(rows_resume_on_another_worker) {
  const auto& server = empty_server();
  server.run("drop schema if exists superstep_threads cascade");
  const auto files = logged_calls{server, 16,
                                  "{type: tool, match: note, calls: [{name: hold, args: {}}]}\n"
                                  "- {type: tool, text: Done.}"};
  auto first = files.job.worker({"--checkpoints"});
  files.wait_for_calls("hold", 8);
  first->send(SIGKILL);
  static_cast<void>(first->wait());
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") == "8");
  files.release();
  const auto end = files.job.worker({"--checkpoints"})->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(files.job.exported().size() == 16U);
  BOOST_TEST(files.calls("note") == 16); // no call was repeated
  BOOST_TEST(files.calls("hold") == 24); // these had not ended
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") == "0");
}

BOOST_AUTO_TEST_CASE(interrupted_submit_continues) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 30'000};
  {
    auto submit = process{files.command({"submit", files.job.agent, "--input", files.job.input})};
    const auto limit = std::chrono::steady_clock::now() + seconds{30};
    const auto* const loaded = "select to_regclass('superstep.inputs_1') is not null";
    while (server.value(loaded) == "f" && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(milliseconds{1});
    submit.send(SIGKILL);
    static_cast<void>(submit.wait());
  }
  files.submit();
  BOOST_TEST(server.value("select count(*) || ' ' || count(distinct row) from superstep.inputs") ==
             "30000 30000");
  const auto again = files.call({"submit", files.job.agent, "--input", files.job.input});
  BOOST_TEST(again.out.find("it was submitted before") != std::string::npos, again.out);
  const auto part =
      files.call({"submit", files.job.agent, "--input", files.job.input, "--limit", "20000"});
  BOOST_TEST(part.exit_code == 1);
  BOOST_TEST(part.err.find("was submitted with 30000 rows, and this command selects 20000") !=
                 std::string::npos,
             part.err);
  files.job.write("in.jsonl",
                  "{\"id\":\"1\",\"messages\":[{\"role\":\"user\",\"content\":\"2+2\"}]}\n");
  const auto other = files.call({"submit", files.job.agent, "--input", files.job.input});
  BOOST_TEST(other.err.find("another job \"orders\" (different: input)") != std::string::npos,
             other.err);
}

BOOST_AUTO_TEST_CASE(changed_agent_is_rejected) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 10};
  files.submit();
  files.job.write("agent.yaml", files.job.read("agent.yaml") + "prompt: Be brief.\n");
  const auto end = files.worker()->wait();
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(end.err.find("changed: agent (prompt)") != std::string::npos, end.err);
}

BOOST_AUTO_TEST_CASE(worker_role_needs_no_access_to_tables) {
  const auto& server = empty_server();
  server.run("create role superstep_worker; create role runner login in role superstep_worker");
  const auto files = shared_job_files{server, 20};
  files.submit();
  const auto end = process{
      {superstep_program(), "run", "--ledger", server.url("runner"), "--job", shared_job_name,
       "--progress",
       "none"}}.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  files.check_outputs();
  BOOST_TEST(!server.connect("runner").run("select * from superstep.outputs").has_value());
  BOOST_TEST(server.value("select count(*) from pg_class where relnamespace = "
                          "'superstep'::regnamespace and relkind in ('r', 'p', 'v') and "
                          "has_table_privilege('runner', oid, 'select, insert, update, delete, "
                          "truncate, references, trigger')") == "0");
  BOOST_TEST(server.value("select string_agg(proname, ' ' order by proname) from pg_proc where "
                          "pronamespace = 'superstep'::regnamespace and proname <> "
                          "'grant_limits' and has_function_privilege('runner', oid, 'execute')") ==
             "beat commit find_job lease ledger_format read release resolve");
  const auto dropped = process{
      {superstep_program(), "jobs", "drop", "--yes", "--ledger", server.url("runner"), "--job",
       shared_job_name}}.wait();
  BOOST_TEST(dropped.exit_code == 1);
  BOOST_TEST(dropped.err.find("the role runner may not remove jobs") != std::string::npos,
             dropped.err);
}

BOOST_AUTO_TEST_CASE(admin_role_needs_no_access_to_tables) {
  const auto& server = empty_server();
  server.run("drop schema if exists superstep_threads cascade");
  server.run("create role superstep_admin; create role boss login in role superstep_admin");
  const auto first = shared_job_files{server, 1};
  first.submit(); // by the owner of the schema
  BOOST_TEST(first.call({"jobs", "drop", "--yes"}).exit_code == 0);
  const auto files = shared_job_files{server, 40, 5, server.url("boss")};
  files.submit();
  for (const auto* verb : {"pause", "show", "resume", "retry-dead"}) {
    const auto end = files.call({"jobs", verb});
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  const auto worker = process{
      {superstep_program(), "run", "--ledger", server.url(), "--job", shared_job_name, "--progress",
       "none"}}.wait();
  BOOST_TEST(worker.exit_code == 0, worker.err);
  files.check_outputs();
  const auto list =
      process{{superstep_program(), "jobs", "list", "--ledger", server.url("boss")}}.wait();
  BOOST_TEST(list.out.find("40 of 40 rows done, 0 failed") != std::string::npos, list.out);
  BOOST_TEST(server.value("select count(*) from pg_class where relnamespace = "
                          "'superstep'::regnamespace and relkind in ('r', 'p', 'v') and "
                          "has_table_privilege('boss', oid, 'select, insert, update, delete, "
                          "truncate, references, trigger')") == "0");
  BOOST_TEST(
      server.value("select has_function_privilege('boss', oid, 'execute') from pg_proc where "
                   "pronamespace = 'superstep'::regnamespace and proname = 'commit'") == "f");
  const auto dropped = files.call({"jobs", "drop", "--yes"});
  BOOST_TEST(dropped.exit_code == 0, dropped.err);
}

BOOST_AUTO_TEST_CASE(lines_are_encrypted_with_key_of_environment) {
  constexpr auto name = "SUPERSTEP_CHECKPOINT_KEY";
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 40};
  ::setenv(name, std::string(64, 'a').c_str(), 1);
  files.submit({"--chunk-rows", "16"});
  files.write_model("2\\+([^7]\\d*|7\\d+)$"); // the row 2+7 fails
  BOOST_TEST(files.worker({"--force"})->wait().exit_code == 2);
  BOOST_TEST(server.value("select count(*) from superstep.inputs where text like '%{%'") == "0");
  BOOST_TEST(server.value("select count(*) from superstep.outputs where line like '%{%' or "
                          "dead like '%{%'") == "0");
  BOOST_TEST(server.value("select count(*) from superstep.outputs where length(line) > 100 and "
                          "length(coalesce(dead, line)) > 100") == "40");
  files.write_model("2\\+(\\d+)");
  BOOST_TEST(files.call({"jobs", "retry-dead"}).out == "1 failed row will run again\n");
  for (const auto* wrong :
       {"", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}) {
    ::setenv(name, wrong, 1);
    const auto refused = files.worker()->wait();
    BOOST_TEST(refused.exit_code == 1);
    BOOST_TEST(refused.err.find("set SUPERSTEP_CHECKPOINT_KEY to the key") != std::string::npos,
               refused.err);
    BOOST_TEST(files.call({"jobs", "export", "--output", "-"}).exit_code == 1);
  }
  ::setenv(name, std::string(64, 'a').c_str(), 1);
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  files.check_outputs();
  // A line that was moved to another row cannot be read.
  server.run("update superstep.outputs set line = (select line from superstep.outputs where "
             "row = 3) where row = 4");
  BOOST_TEST(files.call({"jobs", "export", "--output", "-"}).exit_code == 1);
  ::unsetenv(name);
}

BOOST_AUTO_TEST_CASE(secrets_appear_in_no_text) {
  const auto& server = empty_server();
  const auto files = shared_job_files{server, 1};
  for (const auto* url : {"postgresql://me:hunter2@localhost/x", "postgresql:///x?password=hunter2",
                          "postgresql://me:hunter2@[/x"}) {
    const auto end = process{{superstep_program(), "run", "--ledger", url, "--job", "x"}}.wait();
    BOOST_TEST(end.exit_code == 1);
    BOOST_TEST(end.err.find("--ledger") != std::string::npos, end.err);
    BOOST_TEST((end.out + end.err).find("hunter2") == std::string::npos, end.err);
  }
}
