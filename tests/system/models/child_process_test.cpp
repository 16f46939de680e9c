// SPDX-License-Identifier: Apache-2.0
// Child processes: input, output, environment, limits, timeouts, cancellation and shortages of
// descriptors.
#include "net/descriptor_limit.hpp"
#include "net/io_runtime_impl.hpp"
#include "support/process_state.hpp"

#include <superstep/base/await.hpp>
#include <superstep/net/detail/child_process.hpp>

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace superstep;
using namespace std::chrono_literals;
using test::is_gone;
using test::is_running;

BOOST_AUTO_TEST_SUITE(child_process_suite)

namespace {

process_request program(std::vector<std::string> argv, std::chrono::milliseconds timeout = 10s) {
  auto out = process_request{};
  out.argv = std::move(argv);
  out.timeout = timeout;
  return out;
}

process_request shell(std::string script, std::chrono::milliseconds timeout = 10s) {
  return program({"sh", "-c", std::move(script)}, timeout);
}

/// A folder for the files of one test.
struct scratch {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("superstep_child_" + std::to_string(::getpid()) + "_XXXXXX"))
                         .string();
  scratch() { BOOST_REQUIRE(::mkdtemp(path.data()) != nullptr); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() { std::filesystem::remove_all(path); }

  [[nodiscard]] std::string file(const std::string& name, std::string_view text,
                                 bool is_executable = false) const {
    auto at = path + '/' + name;
    std::ofstream{at} << text;
    if (is_executable)
      std::filesystem::permissions(at, std::filesystem::perms::owner_all);
    return at;
  }
};

/// Lowers the soft limit of open files so that this many are left.
class few_descriptors {
public:
  explicit few_descriptors(int room) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto lowered = before_;
    const auto first_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(first_free);
    lowered.rlim_cur = static_cast<rlim_t>(first_free) + static_cast<rlim_t>(room);
    ::setrlimit(RLIMIT_NOFILE, &lowered);
  }
  few_descriptors(const few_descriptors&) = delete;
  few_descriptors& operator=(const few_descriptors&) = delete;
  ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

private:
  rlimit before_{};
};

std::vector<int> numbers_in(const std::string& file) {
  auto in = std::ifstream{file};
  auto out = std::vector<int>{};
  for (auto number = 0; in >> number;)
    out.push_back(number);
  return out;
}

/// Occupies the I/O thread: it handles other events only between `pauses` pauses of 60 ms.
void occupy(io_runtime& io, int pauses) {
  if (pauses == 0)
    return;
  asio::post(io.get().io, [&io, pauses] {
    std::this_thread::sleep_for(60ms);
    occupy(io, pauses - 1);
  });
}

std::vector<settled<result<process_result>>> run_all(io_runtime& io, const process_request& one,
                                                     std::size_t count) {
  auto calls = std::vector<task<result<process_result>>>{};
  for (auto i = std::size_t{0}; i < count; ++i)
    calls.push_back(run_process(io, one));
  return sync_wait(when_all(std::move(calls)));
}

} // namespace

BOOST_AUTO_TEST_CASE(program_reads_input_and_returns_output) {
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

BOOST_AUTO_TEST_CASE(program_that_ignores_input_succeeds) {
  auto io = io_runtime{};
  auto request = program({"true"});
  request.stdin_text = std::string(1'000'000, 'x');
  BOOST_TEST(sync_wait(run_process(io, request))->ok());
}

BOOST_AUTO_TEST_CASE(program_gets_requested_environment_and_folder) {
  auto io = io_runtime{};
  auto request = shell("echo $WHO $HOME; pwd; ls /proc/self/fd | wc -l");
  request.environment.emplace();
  request.environment->emplace_back("WHO", "me");
  request.working_directory = "/";
  const auto ended = sync_wait(run_process(io, request));
  BOOST_TEST(ended->stdout_text.starts_with("me\n/\n"));
}

BOOST_AUTO_TEST_CASE(programs_get_the_original_descriptor_limit) {
  auto io = io_runtime{};
  for (const auto room : {200, 300}) {
    const auto lowered = few_descriptors{room};
    auto before = rlimit{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    BOOST_REQUIRE(before.rlim_cur < before.rlim_max);
    raise_descriptor_limit();
    raise_descriptor_limit(); // nothing is left to raise
    auto raised = rlimit{};
    ::getrlimit(RLIMIT_NOFILE, &raised);
    BOOST_TEST(raised.rlim_cur == before.rlim_max);
    const auto hard = before.rlim_max == RLIM_INFINITY ? std::string{"unlimited"}
                                                       : std::to_string(before.rlim_max);
    auto asks = shell("ulimit -Sn; ulimit -Hn");
    BOOST_TEST(sync_wait(run_process(io, asks))->stdout_text ==
               std::to_string(before.rlim_cur) + '\n' + hard + '\n');
    asks.limits.files = 44;
    BOOST_TEST(sync_wait(run_process(io, asks))->stdout_text == "44\n44\n");
  }
}

BOOST_AUTO_TEST_CASE(programs_start_with_default_signal_handling) {
  const auto folder = scratch{};
  const auto ignored = {SIGXFSZ, SIGPIPE, SIGINT, SIGHUP, SIGTERM, SIGRTMIN};
  for (const auto number : ignored)
    std::signal(number, SIG_IGN);
  auto io = io_runtime{};
  const auto told = sync_wait(run_process(io, program({"grep", "Sig[BI]", "/proc/self/status"})));
  const auto killed = sync_wait(run_process(
      io, shell("ulimit -f 1; exec head -c 100000 /dev/zero > " + folder.path + "/big")));
  for (const auto number : ignored)
    std::signal(number, SIG_DFL);
  BOOST_TEST(told->stdout_text == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  BOOST_TEST(killed->signal == SIGXFSZ);
}

BOOST_AUTO_TEST_CASE(missing_program_is_an_error) {
  auto io = io_runtime{};
  const auto none = sync_wait(run_process(io, program({"/no/such/program"})));
  BOOST_TEST((none.error().code == make_error_code(errc::not_found)));
  BOOST_TEST((sync_wait(run_process(io, program({}))).error().code ==
              make_error_code(errc::invalid_argument)));
}

BOOST_AUTO_TEST_CASE(timeout_kills_program_and_its_children) {
  auto io = io_runtime{};
  // The child's process id is passed in a file, because the result of a timeout has no output.
  const auto path = "/tmp/superstep_child_" + std::to_string(::getpid());
  const auto began = std::chrono::steady_clock::now();
  const auto late =
      sync_wait(run_process(io, shell("sleep 60 & echo $! > " + path + "; wait", 300ms)));
  BOOST_TEST((late.error().code == make_error_code(errc::timed_out)));
  BOOST_TEST((std::chrono::steady_clock::now() - began < 2s));
  const auto pid = sync_wait(run_process(io, shell("cat " + path + "; rm " + path)));
  BOOST_TEST(is_gone(std::stoi(pid->stdout_text)));
}

BOOST_AUTO_TEST_CASE(children_do_not_outlive_their_program) {
  auto io = io_runtime{};
  const auto ended = sync_wait(run_process(io, shell("sleep 60 & echo $!")));
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(is_gone(std::stoi(ended->stdout_text)));
}

BOOST_AUTO_TEST_CASE(busy_io_thread_loses_no_output) {
  const auto folder = scratch{};
  const auto pid_file = folder.path + "/pid";
  auto io = io_runtime{};
  // A process in a session of its own keeps the pipes open after the program has ended.
  const auto script = "setsid sh -c 'echo $$ > " + pid_file + "; exec sleep 600' & while [ ! -s " +
                      pid_file + " ]; do :; done; head -c 3000 /dev/zero >&2; " +
                      "exec head -c 60000 /dev/zero";
  occupy(io, 20);
  const auto ended = sync_wait(run_process(io, shell(script)));
  const auto kept_open_by = numbers_in(pid_file);
  BOOST_REQUIRE(kept_open_by.size() == 1u);
  BOOST_TEST(is_running(kept_open_by.front()));
  ::kill(kept_open_by.front(), SIGKILL);
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(ended->stdout_text.size() == 60'000u);
  BOOST_TEST(ended->stderr_text.size() == 3'000u);
}

BOOST_AUTO_TEST_CASE(excessive_output_is_truncated_and_ends_program) {
  auto io = io_runtime{};
  auto request = program({"yes"});
  request.output_bytes_max = 10'000;
  const auto ended = sync_wait(run_process(io, request));
  BOOST_REQUIRE(ended.has_value());
  BOOST_TEST(ended->is_output_truncated);
  BOOST_TEST(!ended->ok());
  BOOST_TEST(ended->stdout_text.size() == 10'000u);
}

BOOST_AUTO_TEST_CASE(destroyed_coroutine_kills_its_program) {
  auto io = io_runtime{};
  const auto path = "/tmp/superstep_gone_" + std::to_string(::getpid());
  auto pid = 0;
  {
    auto where = detail::make_thread_executor();
    auto at = execution_context{where.get(), nullptr};
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

BOOST_AUTO_TEST_CASE(eight_programs_run_concurrently_and_leave_no_zombies) {
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
  BOOST_TEST(::waitpid(-1, nullptr, WNOHANG) <= 0); // no zombie is left
}

BOOST_AUTO_TEST_CASE(programs_are_killed_when_parent_process_dies) {
  const auto folder = scratch{};
  const auto list = folder.path + "/pids";
  constexpr auto count = std::size_t{64};
  const auto victim = ::fork();
  if (victim == 0) {
    auto io = io_runtime{};
    run_all(io, shell("sleep 600 & echo $$ $! >> " + list + "; wait", 600s), count);
    std::_Exit(0);
  }
  auto pids = std::vector<int>{};
  for (auto i = 0; i < 20'000 && pids.size() < 2 * count; ++i) {
    std::this_thread::sleep_for(1ms);
    pids = numbers_in(list);
  }
  BOOST_TEST(pids.size() == 2 * count); // programs and their children
  ::kill(victim, SIGKILL);
  ::waitpid(victim, nullptr, 0);
  for (const auto pid : pids)
    BOOST_TEST(is_gone(pid));
}

BOOST_AUTO_TEST_CASE(programs_are_killed_when_io_runtime_is_destroyed) {
  const auto folder = scratch{};
  const auto list = folder.path + "/pids";
  auto pids = std::vector<int>{};
  auto reported = std::error_code{};
  {
    auto io = std::make_unique<io_runtime>();
    auto waiting = std::thread{[&list, &reported, &running = *io] {
      const auto ended = sync_wait(
          run_process(running, shell("sleep 600 & echo $$ $! >> " + list + "; wait", 600s)));
      reported = ended.error().code;
    }};
    for (auto i = 0; i < 10'000 && pids.size() < 2; ++i) {
      std::this_thread::sleep_for(1ms);
      pids = numbers_in(list);
    }
    io.reset();
    waiting.join();
  }
  BOOST_TEST((reported == make_error_code(errc::cancelled)));
  BOOST_TEST(pids.size() == 2u);
  for (const auto pid : pids)
    BOOST_TEST(is_gone(pid));
}

BOOST_AUTO_TEST_CASE(programs_wait_for_free_descriptors) {
  auto io = io_runtime{};
  BOOST_REQUIRE(sync_wait(run_process(io, program({"true"})))->ok());
  const auto few = few_descriptors{16}; // enough for two or three programs
  for (const auto& one : run_all(io, shell("sleep 0.02; echo done"), 40)) {
    BOOST_REQUIRE(one.value.has_value());
    BOOST_REQUIRE(one.value->has_value());
    BOOST_TEST((*one.value)->stdout_text == "done\n");
  }
}

BOOST_AUTO_TEST_CASE(start_fails_with_shortage_when_descriptors_stay_exhausted) {
  auto io = io_runtime{};
  const auto folder = scratch{};
  const auto mark = folder.path + "/ran";
  BOOST_REQUIRE(sync_wait(run_process(io, program({"true"})))->ok());
  {
    const auto none = few_descriptors{3};
    auto request = shell("touch " + mark);
    request.start_wait_max = 100ms;
    for (const auto& one : run_all(io, request, 5))
      BOOST_TEST((one.value->error().code == make_error_code(errc::shortage)));
    request.start_wait_max = 60s;
    request.timeout = 100ms; // includes the wait for descriptors
    const auto late = sync_wait(run_process(io, request));
    BOOST_TEST((late.error().code == make_error_code(errc::shortage)));
    BOOST_TEST(late.error().text.find("Too many open files") != std::string::npos);
  }
  BOOST_TEST(!std::filesystem::exists(mark));
  BOOST_TEST(sync_wait(run_process(io, program({"true"})))->ok());
}

// The program has not run: its limits, inherited from this process, prevent that it is loaded.
BOOST_AUTO_TEST_CASE(shortage_in_dynamic_loader_fails_start_of_program) {
  auto io = io_runtime{};
  for (const auto* limit : {"ulimit -v 2000", "ulimit -n 3"}) {
    const auto ended = sync_wait(run_process(io, shell(std::string{limit} + "; exec sh")));
    BOOST_TEST_CONTEXT(limit) {
      BOOST_TEST_REQUIRE(ended.has_error());
      BOOST_TEST((ended.error().code == errc::shortage));
      BOOST_TEST(ended.error().text.find("\"sh\" could not be started: sh: error while loading") ==
                 0U);
    }
  }
  // Other errors with this exit code are results, also those of limits that the request sets.
  auto limited = shell("true");
  limited.limits.memory_bytes = std::uint64_t{2'000'000};
  for (auto& request : {shell("exit 127"), shell("no_such_program"),
                        shell("echo part; ulimit -v 2000; exec sh"), std::move(limited)}) {
    const auto ended = sync_wait(run_process(io, request));
    BOOST_TEST_REQUIRE(ended.has_value());
    BOOST_TEST(ended->exit_status == 127);
  }
}

BOOST_AUTO_TEST_CASE(invalid_program_or_folder_is_rejected_before_start) {
  const auto folder = scratch{};
  const auto missing = std::string{"/no/such/interpreter"};
  const auto fault_of = [](std::vector<std::string> argv, std::string at = {}) {
    auto request = program(std::move(argv));
    request.working_directory = std::move(at);
    return find_start_fault(request);
  };
  BOOST_TEST(!fault_of({"cat"}));
  BOOST_TEST(!fault_of({"/bin/sh", "-c", "true"}));
  BOOST_TEST(!fault_of({folder.file("good", "#!/bin/sh\ntrue\n", true)}));
  BOOST_TEST(!fault_of({"./good"}, folder.path));
  const auto refused = [&](std::vector<std::string> argv, std::string at = {}) {
    auto request = program(argv);
    request.working_directory = at;
    const auto fault = fault_of(std::move(argv), std::move(at));
    BOOST_TEST(fault.has_value());
    auto io = io_runtime{}; // the program does not start
    BOOST_TEST(sync_wait(run_process(io, request)).has_error());
  };
  refused({"superstep-no-such-program"});
  refused({"/no/such/program"});
  refused({folder.file("plain", "echo\n")});
  refused({folder.path});
  refused({folder.file("no_format", "echo\n", true)});
  refused({folder.file("orphan", "#! " + missing + " -x\n", true)});
  refused({"cat"}, "/no/such/folder");
  refused({});
}

BOOST_AUTO_TEST_CASE(resource_limits_apply_to_the_program) {
  auto io = io_runtime{};
  auto request = shell("ulimit -v; ulimit -t; ulimit -n");
  request.limits.memory_bytes = std::uint64_t{512} << 20U;
  request.limits.cpu = 7s;
  request.limits.files = 33;
  BOOST_TEST(sync_wait(run_process(io, request))->stdout_text == "524288\n7\n33\n");
}

BOOST_AUTO_TEST_SUITE_END()
