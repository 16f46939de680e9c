// SPDX-License-Identifier: Apache-2.0
// Commands for a job of a ledger while processes run rows of this or another job, and processes
// that start while the server is away or has a ledger of another format.
#include "shared_job_files.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(concurrent_jobs)

namespace {

using namespace superstep::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using steady = std::chrono::steady_clock;

/// Returns the server of these tests, without a ledger.
postgres_server& cleared_server() {
  static auto server = postgres_server{};
  server.run("drop schema if exists superstep cascade");
  return server;
}

/// Returns the command line of a verb for another job of the same ledger.
std::vector<std::string> for_job(const postgres_server& server, const std::string& job,
                                 std::vector<std::string> words) {
  words.insert(words.begin(), superstep_program());
  words.insert(words.end(), {"--ledger", server.url(), "--job", job});
  return words;
}

/// Waits until a worker writes a text to standard error, and returns it.
bool says(const std::string& path, const std::string& text) {
  const auto limit = steady::now() + seconds{30};
  while (steady::now() < limit) {
    if (std::filesystem::exists(path) && read_file(path).find(text) != std::string::npos)
      return true;
    std::this_thread::sleep_for(milliseconds{20});
  }
  return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(commands_of_other_jobs_block_no_worker) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 20'000, 0};
  files.submit({"--chunk-rows", "4"});
  const auto before = server.value("select deadlocks from pg_stat_database where datname = "
                                   "'postgres'");
  auto workers = std::vector<std::unique_ptr<process>>{};
  for (auto i = 0; i < 3; ++i)
    workers.push_back(files.worker());
  auto small = cli_job{};
  small.write("in.jsonl",
              "{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"2+2\"}]}\n");
  const auto limit = steady::now() + seconds{10};
  auto commands = 0;
  while (steady::now() < limit && !workers.front()->wait_for(milliseconds{0})) {
    for (const auto& words :
         {std::vector<std::string>{"submit", files.job.agent, "--input", small.input},
          {"jobs", "drop", "--yes"}}) {
      const auto end = process{for_job(server, "other", words)}.wait();
      BOOST_TEST(end.exit_code == 0, words.front() << ": " << end.err);
      ++commands;
    }
  }
  BOOST_TEST_MESSAGE(commands << " commands");
  BOOST_TEST(files.call({"jobs", "cancel"}).exit_code == 0);
  for (auto& worker : workers)
    BOOST_TEST(worker->wait().exit_code != 1);
  BOOST_TEST(server.value("select deadlocks from pg_stat_database where datname = 'postgres'") ==
             before);
}

/// A command that the server has rolled back because of a deadlock runs again.
BOOST_AUTO_TEST_CASE(drop_is_repeated_after_deadlock) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 4};
  files.submit();
  auto other = server.connect();
  // The transaction of the test locks the tables in the wrong order.
  BOOST_TEST_REQUIRE(other
                         .run_script("set deadlock_timeout = '1min'; begin; "
                                     "lock table only superstep.inputs in access share mode")
                         .has_value());
  auto drop = process{files.command({"jobs", "drop"}, {"--yes"})};
  server.await_lock_wait();
  const auto locked =
      other.run_script("lock table only superstep.outputs in access share mode; commit");
  BOOST_TEST(locked.has_value());
  const auto end = drop.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
}

BOOST_AUTO_TEST_CASE(dropped_job_leaves_no_checkpoints) {
  const auto& server = cleared_server();
  server.run("drop schema if exists superstep_threads cascade");
  const auto files = shared_job_files{server, 10};
  files.submit();
  files.write_model("2\\+([^7]\\d*|7\\d+)$"); // the row 2+7 fails
  BOOST_TEST(files.worker({"--force", "--checkpoints"})->wait().exit_code == 2);
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") != "0");
  // More threads than a transaction deletes, and three threads of other jobs.
  server.run("insert into superstep_threads.threads (thread, ns, created) "
             "select j.job_id || '/' || i, n, 0 from superstep.jobs j, generate_series(1, 1500) i, "
             "unnest(array['', 'sub']) n union all "
             "select j.job_id || s, '', 0 from superstep.jobs j, unnest(array['', '-', '0']) s");
  const auto dropped = files.call({"jobs", "drop"}, {"--yes"});
  BOOST_TEST(dropped.exit_code == 0, dropped.err);
  BOOST_TEST(server.value("select count(*) from superstep_threads.threads") == "3");
  BOOST_TEST(server.value("select count(*) from superstep_threads.points") == "0");
  server.run("drop schema superstep_threads cascade");
}

/// A transaction of another program, for example a backup, may hold locks on all tables for hours.
BOOST_AUTO_TEST_CASE(waiting_drop_blocks_no_worker) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 400};
  files.submit();
  const auto other =
      process{for_job(server, "other", {"submit", files.job.agent, "--input", files.job.input})}
          .wait();
  BOOST_TEST_REQUIRE(other.exit_code == 0, other.err);
  auto backup = server.connect();
  BOOST_TEST_REQUIRE(
      backup.run_script("begin; lock table superstep.outputs in access share mode").has_value());
  auto drop = process{for_job(server, "other", {"jobs", "drop", "--yes"})};
  server.await_lock_wait();
  auto worker = files.worker();
  BOOST_TEST(worker->wait_for(seconds{30}));
  BOOST_TEST(!drop.wait_for(milliseconds{0}));
  BOOST_TEST(backup.run_script("commit").has_value());
  const auto run = worker->wait();
  BOOST_TEST(run.exit_code == 0, run.err);
  const auto end = drop.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(server.value("select string_agg(name, ' ') from superstep.jobs") == "orders");
}

BOOST_AUTO_TEST_CASE(worker_survives_lock_timeout_of_server) {
  const auto& server = cleared_server();
  const auto files =
      shared_job_files{server, 200, 5, server.url() + "&options=-c%20lock_timeout%3D50ms"};
  files.submit({"--chunk-rows", "16"});
  auto worker = files.worker();
  wait_for_rows(files, 1);
  auto other = server.connect();
  BOOST_TEST_REQUIRE(
      other
          .run_script(
              "begin; select from superstep.chunks for update; select pg_sleep(0.5); commit")
          .has_value());
  const auto end = worker->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(absence_of_ledger_is_reported_with_its_reason) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 4};
  files.submit();
  const auto log = files.job.folder / "log";
  const auto url = server.url() + "&options=-c%20default_transaction_read_only%3Don";
  auto worker = process{{"/bin/sh", "-c", "exec \"$@\" 2>" + log, "-", superstep_program(), "run",
                         "--ledger", url, "--job", shared_job_name, "--progress", "json"}};
  BOOST_TEST(says(log, "the ledger is not available: the database "));
  BOOST_TEST(says(log, "in a read-only transaction"));
  worker.send(SIGTERM);
  BOOST_TEST(worker.wait().exit_code == 3);
}

BOOST_AUTO_TEST_CASE(aborted_worker_does_not_wait_for_server) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 500};
  files.submit({"--chunk-rows", "16"});
  auto worker = files.worker();
  wait_for_rows(files, 1);
  auto other = server.connect();
  BOOST_TEST_REQUIRE(other.run_script("begin; lock table superstep.chunks").has_value());
  server.await_lock_wait();
  worker->send(SIGINT);
  std::this_thread::sleep_for(milliseconds{100});
  worker->send(SIGINT);
  BOOST_TEST(worker->wait_for(seconds{20}));
  BOOST_TEST(worker->wait().exit_code == 3);
}

BOOST_AUTO_TEST_CASE(aborted_worker_does_not_wait_for_checkpoints) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 500};
  files.submit({"--chunk-rows", "16"});
  auto worker = files.worker({"--checkpoints"});
  wait_for_rows(files, 1);
  auto other = server.connect();
  BOOST_TEST_REQUIRE(other.run_script("begin; lock table superstep_threads.writers").has_value());
  server.await_lock_wait();
  worker->send(SIGINT);
  std::this_thread::sleep_for(milliseconds{100});
  worker->send(SIGINT);
  BOOST_TEST(worker->wait_for(seconds{20}));
  const auto end = worker->wait();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST_REQUIRE(other.run_script("rollback").has_value());
  BOOST_TEST(files.worker({"--checkpoints"})->wait().exit_code == 0);
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(job_name_with_line_break_is_rejected) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 1};
  const auto end = process{for_job(server, "two\nlines",
                                   {"submit", files.job.agent, "--input", files.job.input})}
                       .wait();
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(end.err.find("must not contain line breaks") != std::string::npos, end.err);
}

BOOST_AUTO_TEST_CASE(export_ends_silently_if_its_reader_ends) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 300, 1}; // more than the buffer of a pipe
  files.submit();
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  auto shell =
      std::vector<std::string>{"/bin/bash", "-c", "\"$@\" | head -c 1; exit ${PIPESTATUS[0]}", "-"};
  const auto command = files.command({"jobs", "export", "--output", "-"});
  shell.insert(shell.end(), command.begin(), command.end());
  const auto end = process{shell}.wait();
  BOOST_TEST(end.exit_code == 141);
  BOOST_TEST(end.out == "{");
  BOOST_TEST(end.err.empty(), end.err);
}

BOOST_AUTO_TEST_CASE(submit_of_invalid_line_advises_no_other_option) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 1};
  files.job.write("in.jsonl", "{oops\n");
  const auto end = files.call({"submit", files.job.agent, "--input", files.job.input});
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(end.err.find("; nothing was submitted; correct or remove") != std::string::npos,
             end.err);
  BOOST_TEST(end.err.find("--on-bad-line") == std::string::npos, end.err);
}

BOOST_AUTO_TEST_CASE(submits_at_once_store_one_job) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 20'000};
  files.submit();
  BOOST_TEST(files.call({"jobs", "drop", "--yes"}).exit_code == 0);
  const auto command = files.command({"submit", files.job.agent, "--input", files.job.input});
  for (auto i = 0; i < 5; ++i) {
    auto first = process{command};
    auto second = process{command};
    const auto one = first.wait();
    const auto two = second.wait();
    BOOST_TEST(one.exit_code == 0, one.err);
    BOOST_TEST(two.exit_code == 0, two.err);
    BOOST_TEST(server.value("select sum(bound - first) from superstep.chunks") == "20000");
    BOOST_TEST(files.call({"jobs", "drop", "--yes"}).exit_code == 0);
  }
}

BOOST_AUTO_TEST_CASE(retried_rows_of_running_chunk_run_at_once) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 60, 300};
  files.submit({"--chunk-rows", "64"});
  files.write_model("2\\+([^1]\\d*|1\\d+)$", 300); // the row 2+1 fails
  auto worker = files.worker({"--force"}, "60000");
  const auto* const dead = "select count(*) from superstep.outputs where status & 1 = 1";
  for (auto i = 0; i < 500 && server.value(dead) == "0"; ++i)
    std::this_thread::sleep_for(milliseconds{20});
  BOOST_TEST(files.call({"jobs", "retry-dead"}).out == "1 failed row will run again\n");
  BOOST_TEST(worker->wait_for(seconds{30})); // before the end of its lease
  const auto end = worker->wait(milliseconds{1});
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(server.value("select attempt from superstep.inputs where row = 1") == "2");
  BOOST_TEST(server.value("select sum(fence) from superstep.chunks") == "3");
  BOOST_TEST(files.stored() == 60);
}

BOOST_AUTO_TEST_CASE(ledger_of_other_format_is_rejected) {
  const auto& server = cleared_server();
  server.run("create role superstep_worker; create role guest login in role superstep_worker");
  const auto files = shared_job_files{server, 4};
  files.submit();
  server.run("update superstep.format set version = 99");
  auto commands = std::vector<std::vector<std::string>>{};
  for (const auto* verb : {"show", "pause", "retry-dead"})
    commands.push_back(files.command({"jobs", verb}));
  commands.push_back(files.command({"jobs", "export", "--output", "-"}));
  commands.push_back(files.command({"jobs", "drop", "--yes"}));
  commands.push_back(files.command({"submit", files.job.agent, "--input", files.job.input}));
  commands.push_back(files.command({"run"}));
  commands.push_back(files.command({"run", files.job.agent}));
  commands.push_back({superstep_program(), "jobs", "list", "--ledger", server.url()});
  commands.push_back({superstep_program(), "run", "--ledger", server.url("guest"), "--job",
                      shared_job_name, "--progress", "none"});
  for (const auto& command : commands) {
    const auto end = process{command}.wait();
    BOOST_TEST(end.exit_code == 1);
    BOOST_TEST(end.err.find("has format 99, and this program has format 4") != std::string::npos,
               command[1] << ' ' << command[2] << ": " << end.err);
  }
  // In an older ledger of this format, workers have no right to read it.
  server.run("update superstep.format set version = 4; revoke execute on function "
             "superstep.ledger_format from superstep_worker");
  const auto end = process{commands.back()}.wait();
  BOOST_TEST(end.exit_code == 0, end.err);
}

BOOST_AUTO_TEST_CASE(worker_waits_for_server_at_start) {
  auto& server = cleared_server();
  const auto files = shared_job_files{server, 4};
  files.submit();
  server.crash(SIGQUIT);
  for (const auto& words : {std::vector<std::string>{"run"}, {"run", files.job.agent}}) {
    const auto log = files.job.folder / "log";
    std::filesystem::remove(log);
    auto shell = std::vector<std::string>{"/bin/sh", "-c", "exec \"$@\" 2>" + log, "-"};
    const auto command = files.command(words, {"--progress", "none"});
    shell.insert(shell.end(), command.begin(), command.end());
    auto stopped = process{shell};
    BOOST_TEST(says(log, "waiting for the database"));
    stopped.send(SIGINT);
    BOOST_TEST(stopped.wait_for(seconds{3}));
    BOOST_TEST(stopped.wait().exit_code == 3);
    std::filesystem::remove(log);
    auto worker = process{shell};
    BOOST_TEST(says(log, "waiting for the database"));
    server.start();
    BOOST_TEST(worker.wait().exit_code == 0);
    server.crash(SIGQUIT);
  }
  server.start();
  files.check_outputs();
}

BOOST_AUTO_TEST_CASE(worker_fails_at_once_with_wrong_address) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 4};
  files.submit();
  for (const auto& url :
       {server.url("nobody"), "postgresql:///none?user=postgres&host=" + server.folder(),
        std::string{"postgresql:///postgres?host=/no/such/folder"}}) {
    auto worker = process{{superstep_program(), "run", files.job.agent, "--ledger", url, "--job",
                           shared_job_name, "--progress", "none"}};
    BOOST_TEST(worker.wait_for(seconds{5}), url);
    const auto end = worker.wait(milliseconds{1});
    BOOST_TEST(end.exit_code == 1, end.err);
  }
}

BOOST_AUTO_TEST_CASE(jobs_have_different_idempotency_keys) {
  const auto& server = cleared_server();
  const auto files = shared_job_files{server, 3};
  const auto log = files.job.folder / "keys";
  files.job.write("agent.yaml",
                  "name: noter\nmodel: {provider: scripted, path: model.yaml}\ntools:\n"
                  "- command: {name: note, description: Notes., argv: [/bin/sh, -c, "
                  "'echo $SUPERSTEP_IDEMPOTENCY_KEY >> " +
                      log + "']}\n");
  files.job.write("model.yaml", "rules:\n- type: human\n  match: '2'\n  calls: [{name: note, args: "
                                "{}}]\n- {type: tool, text: done}\n");
  for (const auto* job : {"first", "second"}) {
    const auto submitted =
        process{for_job(server, job, {"submit", files.job.agent, "--input", files.job.input})}
            .wait();
    BOOST_TEST_REQUIRE(submitted.exit_code == 0, submitted.err);
    const auto end = process{for_job(server, job, {"run", "--progress", "none"})}.wait();
    BOOST_TEST(end.exit_code == 0, end.err);
  }
  auto counts = std::map<std::string, int>{};
  auto lines = std::istringstream{read_file(log)};
  for (auto line = std::string{}; std::getline(lines, line);)
    ++counts[line];
  BOOST_TEST(counts.size() == 6U);
}

BOOST_AUTO_TEST_SUITE_END()
