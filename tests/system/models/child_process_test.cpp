// SPDX-License-Identifier: Apache-2.0
#include <superstep/base/await.hpp>
#include <superstep/base/sync_wait.hpp>
#include <superstep/net/child_process.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <sys/wait.h>

using namespace superstep;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(child_process_suite)

namespace {

process_request program(std::vector<std::string> argv, std::uint32_t timeout_ms = 10'000) {
  auto out = process_request{};
  out.argv = std::move(argv);
  out.timeout_ms = timeout_ms;
  return out;
}

process_request shell(std::string script, std::uint32_t timeout_ms = 10'000) {
  return program({"sh", "-c", std::move(script)}, timeout_ms);
}

/// Waits up to two seconds for a process to be no more.
bool is_gone(int pid) {
  for (auto i = 0; i < 2000 && ::kill(pid, 0) == 0; ++i)
    std::this_thread::sleep_for(1ms);
  return ::kill(pid, 0) != 0;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_program_reads_its_input_and_its_output_is_returned) {
  auto io = io_runtime{};
  auto request = program({"cat"});
  request.stdin_text = std::string(300'000, 'x');
  const auto echoed = sync_wait(run_process(io, request));
  BOOST_REQUIRE(echoed.has_value());
  BOOST_TEST(echoed->ok());
  BOOST_TEST((echoed->stdout_text == request.stdin_text));
  const auto failed = sync_wait(run_process(io, shell("echo out; echo err >&2; exit 3")));
  BOOST_TEST(failed->exit_status == 3);
  BOOST_TEST(failed->stdout_text == "out\n");
  BOOST_TEST(failed->stderr_text == "err\n");
  BOOST_TEST(sync_wait(run_process(io, shell("kill -TERM $$")))->signal == SIGTERM);
}

BOOST_AUTO_TEST_CASE(a_program_need_not_read_its_input) {
  auto io = io_runtime{};
  auto request = program({"true"});
  request.stdin_text = std::string(1'000'000, 'x');
  BOOST_TEST(sync_wait(run_process(io, request))->ok());
}

BOOST_AUTO_TEST_CASE(environment_and_folder_are_those_asked_for) {
  auto io = io_runtime{};
  auto request = shell("echo $WHO $HOME; pwd; ls /proc/self/fd | wc -l");
  request.environment.emplace();
  request.environment->emplace_back("WHO", "me");
  request.working_directory = "/";
  const auto ended = sync_wait(run_process(io, request));
  BOOST_TEST(ended->stdout_text.starts_with("me\n/\n"));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_an_error) {
  auto io = io_runtime{};
  const auto none = sync_wait(run_process(io, program({"/no/such/program"})));
  BOOST_TEST((none.error().code == make_error_code(errc::not_found)));
  BOOST_TEST((sync_wait(run_process(io, program({}))).error().code ==
              make_error_code(errc::invalid_argument)));
}

BOOST_AUTO_TEST_CASE(a_time_out_kills_the_program_and_its_children) {
  auto io = io_runtime{};
  // The child's number goes out through a file: the result of a time-out holds no output.
  const auto path = "/tmp/superstep_child_" + std::to_string(::getpid());
  const auto began = std::chrono::steady_clock::now();
  const auto late =
      sync_wait(run_process(io, shell("sleep 60 & echo $! > " + path + "; wait", 300)));
  BOOST_TEST((late.error().code == make_error_code(errc::timed_out)));
  BOOST_TEST((std::chrono::steady_clock::now() - began < 2s));
  const auto pid = sync_wait(run_process(io, shell("cat " + path + "; rm " + path)));
  BOOST_TEST(is_gone(std::stoi(pid->stdout_text)));
}

BOOST_AUTO_TEST_CASE(children_do_not_outlive_a_program_that_has_ended) {
  auto io = io_runtime{};
  const auto ended = sync_wait(run_process(io, shell("sleep 60 & echo $!")));
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(is_gone(std::stoi(ended->stdout_text)));
}

BOOST_AUTO_TEST_CASE(too_much_output_ends_the_program) {
  auto io = io_runtime{};
  auto request = program({"yes"});
  request.output_bytes_max = 10'000;
  const auto ended = sync_wait(run_process(io, request));
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(ended->is_output_truncated);
  BOOST_TEST(!ended->ok());
  BOOST_TEST(ended->stdout_text.size() == 10'000u);
}

BOOST_AUTO_TEST_CASE(a_coroutine_that_goes_away_kills_its_program) {
  auto io = io_runtime{};
  const auto path = "/tmp/superstep_gone_" + std::to_string(::getpid());
  auto pid = 0;
  {
    auto where = detail::make_thread_execution();
    auto at = home{where.get(), nullptr};
    auto call = run_process(io, shell("echo $$ > " + path + "; sleep 60"));
    call.start_in(at);
    call.handle().resume();
    for (auto i = 0; i < 100 && pid == 0; ++i) {
      std::this_thread::sleep_for(10ms);
      const auto read = sync_wait(run_process(io, shell("cat " + path + " 2>/dev/null")));
      pid = read->stdout_text.empty() ? 0 : std::stoi(read->stdout_text);
    }
  }
  BOOST_TEST(pid != 0);
  BOOST_TEST(is_gone(pid));
  std::remove(path.c_str());
}

BOOST_AUTO_TEST_CASE(eight_sleeping_programs_overlap_and_leave_no_zombie) {
  auto io = io_runtime{};
  auto best = std::chrono::steady_clock::duration::max();
  for (auto round = 0; round < 3; ++round) {
    const auto began = std::chrono::steady_clock::now();
    auto calls = std::vector<task<result<process_result>>>{};
    for (auto i = 0; i < 8; ++i)
      calls.push_back(run_process(io, program({"sleep", "0.3"})));
    const auto ended = sync_wait(when_all(std::move(calls)));
    for (const auto& one : ended)
      BOOST_TEST(one.value->has_value());
    best = std::min(best, std::chrono::steady_clock::now() - began);
  }
  BOOST_TEST((best < 1s));
  BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) == -1); // no child is left, not even a dead one
}

BOOST_AUTO_TEST_SUITE_END()
