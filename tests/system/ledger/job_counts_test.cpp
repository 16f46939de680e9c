// SPDX-License-Identifier: Apache-2.0
// The counts of jobs that several processes share, if rows are dropped or run again, or if the
// connection is lost at the end.
#include "shared_job_files.hpp"
#include "system/postgres/statement_proxy.hpp"

#include <csignal>
#include <string>

namespace {

using namespace superstep::testing;

/// Returns the server of these tests, without a ledger.
const postgres_server& server_without_ledger() {
  static const auto server = postgres_server{};
  server.run("drop schema if exists superstep cascade");
  return server;
}

/// Returns the summary's part about failed tool calls.
bool has_failed_calls(const ended_process& end, int rows) {
  const auto text = std::to_string(rows) + " with failed tool calls";
  return end.out.find(", " + text) != std::string::npos;
}

} // namespace

/// Each row uses 15 tokens and then fails, so that the job stops without a row that has ended.
BOOST_AUTO_TEST_CASE(job_counts_tokens_of_dropped_rows) {
  const auto& server = server_without_ledger();
  const auto files = shared_job_files{server, 60};
  files.job.write("model.yaml", "rules:\n- type: human\n  match: '2\\+(\\d+)'\n"
                                "  calls: [{name: calculator, args: {expression: '2 + \\1'}}]\n"
                                "  usage: {input_tokens: 10, output_tokens: 5}\n");
  files.submit();
  const auto end = files.worker()->wait();
  BOOST_TEST(end.exit_code == 3, end.out + end.err);
  BOOST_TEST(files.stored() == 0);
  const auto used = server.value("select sum(total_tokens) from superstep.chunks");
  BOOST_TEST(std::stoi("0" + used) >= 50 * 15);
  BOOST_TEST(server.value("select sum(tokens) from superstep.spent") == used);
}

/// The rows 0 and 1 call a tool that fails, and then they fail. The price of the model is not
/// known.
BOOST_AUTO_TEST_CASE(rows_that_run_again_count_once) {
  const auto& server = server_without_ledger();
  const auto files = shared_job_files{server, 4};
  files.job.write("model.yaml", "rules:\n"
                                "- type: human\n  match: '\\+[01]$'\n"
                                "  calls: [{name: calculator, args: {expression: 'oops'}}]\n"
                                "- type: human\n  match: '2\\+(\\d+)'\n"
                                "  calls: [{name: calculator, args: {expression: '2 + \\1'}}]\n"
                                "- {type: tool, match: '^\\d+$', text: The sum is \\0.}\n");
  files.submit();
  for (auto turn = 0; turn < 2; ++turn) {
    const auto failed = files.worker({"--force"})->wait();
    BOOST_TEST(failed.exit_code == 2, failed.err);
    BOOST_TEST(has_failed_calls(failed, 2), failed.out);
    BOOST_TEST(server.value("select sum(unpriced) from superstep.chunks") == "4");
    BOOST_TEST(files.call({"jobs", "retry-dead"}).out == "2 failed rows will run again\n");
  }
  files.write_model("2\\+(\\d+)");
  const auto end = files.worker({"--force"})->wait();
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(end.out.find("with failed tool calls") == std::string::npos, end.out);
  BOOST_TEST(server.value("select sum(unpriced) from superstep.chunks") == "4");
  files.check_outputs(); // exports the rows
  for (const auto& row : read_objects(files.job.read("exported.jsonl"))) {
    const auto runs = text_at(row, "id") < "row-2" ? 3 : 1;
    BOOST_TEST(row.at("attempt").as_int64() == runs);
  }
}

/// The process runs one row at a time, and the other one eight.
BOOST_AUTO_TEST_CASE(progress_counts_rows_of_all_processes) {
  constexpr auto rows = 1'000;
  const auto& server = server_without_ledger();
  const auto files = shared_job_files{server, rows};
  files.job.write("model.yaml", "latency_ms: 40\nrules:\n"
                                "- {type: human, text: It is 2., usage: {input_tokens: 10}}\n");
  files.submit({"--chunk-rows", "16"});
  const auto log = files.job.folder / "log";
  const auto command =
      files.command({"run"}, {"--lease-ms", "2000", "--progress", "json", "--concurrency", "1"});
  auto shell = std::vector<std::string>{"/bin/sh", "-c", "exec \"$@\" 2>" + log, "-"};
  shell.insert(shell.end(), command.begin(), command.end());
  auto slow = process{shell};
  auto fast = files.worker();
  BOOST_TEST(slow.wait().exit_code == 0);
  BOOST_TEST(fast->wait().exit_code == 0);
  const auto events = read_objects(files.job.read("log"));
  BOOST_TEST_REQUIRE(events.size() > 1U);
  const auto& before_end = events[events.size() - 2];
  BOOST_TEST(before_end.at("done").as_int64() > rows / 4);
  BOOST_TEST(before_end.at("tokens").as_int64() > 10 * rows / 4);
  BOOST_TEST(before_end.at("eta_s").to_number<double>() < 10);
  BOOST_TEST(text_at(events.back(), "event") == "finished");
  BOOST_TEST(events.back().at("done").as_int64() == rows);
  BOOST_TEST(events.back().at("tokens").as_int64() == 10 * rows);
}

/// The summary counts the rows of all processes, also if the connection is lost before it.
BOOST_AUTO_TEST_CASE(summary_survives_lost_connection) {
  const auto& server = server_without_ledger();
  auto proxy = statement_proxy{server.folder(), "superstep.find_job("};
  const auto files = shared_job_files{server, 100, 20, proxy.url()};
  files.submit({"--chunk-rows", "8"});
  files.write_model("2\\+([1-9]\\d*)$", 20); // the row 2+0 fails
  auto first = files.worker({"--force"});
  wait_for_rows(files, 8);
  first->send(SIGTERM);
  BOOST_TEST(first->wait().exit_code == 3);
  constexpr auto at_end = std::size_t{3}; // two calls precede the rows
  proxy.plan({at_end, statement_phase::ended, {}});
  const auto end = files.worker({"--force"})->wait();
  BOOST_TEST(proxy.count() >= at_end + 1);
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(end.out.find("100 rows: 99 ok, 1 failed, ") != std::string::npos, end.out);
  BOOST_TEST(end.out.find("run them again with superstep jobs retry-dead\n") != std::string::npos,
             end.out);
  const auto again = files.worker({"--force"})->wait();
  BOOST_TEST(
      again.out.find("(99 ok, 1 failed; superstep jobs retry-dead runs failed rows again)") !=
          std::string::npos,
      again.out);
}

BOOST_AUTO_TEST_CASE(ended_process_is_not_counted_as_worker) {
  const auto& server = server_without_ledger();
  const auto files = shared_job_files{server, 20};
  files.submit();
  BOOST_TEST(files.worker()->wait().exit_code == 0);
  const auto shown = files.call({"jobs", "show"});
  BOOST_TEST(shown.out.find("20 of 20 rows done, 0 failed, 0 workers\n") != std::string::npos,
             shown.out);
}

/// A process that is aborted while the database does not answer.
BOOST_AUTO_TEST_CASE(summary_excludes_rows_that_are_not_stored) {
  const auto& server = server_without_ledger();
  const auto files = shared_job_files{server, 500};
  files.submit({"--chunk-rows", "16"});
  auto worker = process{files.command({"run"}, {"--progress", "json", "--concurrency", "8"})};
  wait_for_rows(files, 1);
  auto other = server.connect();
  BOOST_TEST_REQUIRE(other.run_script("begin; lock table superstep.chunks").has_value());
  server.await_lock_wait();
  const auto stored = files.stored();
  worker.send(SIGINT);
  std::this_thread::sleep_for(std::chrono::seconds{3});
  worker.send(SIGINT);
  const auto end = worker.wait();
  BOOST_TEST(end.exit_code == 3, end.err);
  BOOST_TEST(end.out.find(", " + std::to_string(500 - stored) + " left\n") != std::string::npos,
             std::to_string(stored) + " rows stored\n" + end.out);
  auto reports = 0; // while the process waits for the database
  for (const auto& event : read_objects(end.err))
    reports += text_at(event, "event") == "progress" && event.at("draining").as_bool() &&
                       event.at("in_flight").as_int64() == 0
                   ? 1
                   : 0;
  BOOST_TEST(reports >= 2);
}
