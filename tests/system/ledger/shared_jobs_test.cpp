// SPDX-License-Identifier: Apache-2.0
// Jobs that several processes share: each row is stored once, whatever is killed.
#include "shared_job_files.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <random>
#include <thread>

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
  files.submit({"--chunk-rows", "8"});
  auto zombie = files.worker();
  wait_for_rows(files, 1);
  zombie->send(SIGSTOP);
  const auto other = files.worker()->wait();
  BOOST_TEST(other.exit_code == 0, other.err);
  BOOST_TEST(files.stored() == 60);
  zombie->send(SIGCONT);
  const auto end = zombie->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(end.out.find("ran for nothing") != std::string::npos, end.out);
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
  BOOST_TEST(files.worker()->wait().err.find("was cancelled") != std::string::npos);
  BOOST_TEST(files.call({"jobs", "resume"}).exit_code == 0);
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  files.check_outputs();
  BOOST_TEST(files.call({"jobs", "drop"}).exit_code == 1);
  BOOST_TEST(files.call({"jobs", "drop", "--yes"}).exit_code == 0);
  BOOST_TEST(files.worker()->wait().err.find("has no job \"orders\"") != std::string::npos);
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
  files.write_model("2\\+(\\d+)");
  BOOST_TEST(files.call({"jobs", "retry-dead"}).out == "1 failed row will run again\n");
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  files.check_outputs();
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

BOOST_AUTO_TEST_CASE(rows_resume_on_another_worker) {
  const auto& server = empty_server();
  server.run("drop schema if exists superstep_threads cascade");
  const auto files = shared_job_files{server, 16};
  const auto log = files.job.folder / "calls.log";
  files.job.write("agent.yaml", "name: noter\nmodel: {provider: scripted, path: model.yaml}\n"
                                "tools:\n- command: {name: note, description: Notes a call.,\n"
                                "    argv: [/bin/sh, -c, 'echo called >> " +
                                    log + "; echo noted']}\n");
  files.job.write("model.yaml", "latency_ms: 3000\nrules:\n- type: human\n  match: '2'\n"
                                "  calls: [{name: note, args: {}}]\n"
                                "- {type: tool, text: Done.}\n");
  files.submit({"--chunk-rows", "16"});
  const auto calls = [&] {
    const auto text = std::filesystem::exists(log) ? read_file(log) : std::string{};
    return std::ranges::count(text, '\n');
  };
  auto first = files.worker({"--checkpoints"});
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (calls() < 8 && std::chrono::steady_clock::now() < limit)
    std::this_thread::sleep_for(milliseconds{20});
  std::this_thread::sleep_for(seconds{1}); // the step of the tools is saved; the models wait
  first->send(SIGKILL);
  static_cast<void>(first->wait());
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") == "8");
  const auto end = files.worker({"--checkpoints"})->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(files.exported().size() == 16U);
  BOOST_TEST(calls() == 16); // no call was repeated
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") == "0");
}

BOOST_AUTO_TEST_CASE(dropped_job_leaves_no_checkpoints) {
  const auto& server = empty_server();
  server.run("drop schema if exists superstep_threads cascade");
  const auto files = shared_job_files{server, 10};
  files.submit();
  files.write_model("2\\+([^7]\\d*|7\\d+)$"); // the row 2+7 fails
  BOOST_TEST(files.worker({"--force", "--checkpoints"})->wait().exit_code == 2);
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") != "0");
  const auto dropped = files.call({"jobs", "drop"}, {"--yes"});
  BOOST_TEST(dropped.exit_code == 0, dropped.err);
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
  const auto denied = server.connect("runner").run("select * from superstep.outputs");
  BOOST_TEST(!denied.has_value());
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
