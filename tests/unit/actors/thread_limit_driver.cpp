// SPDX-License-Identifier: Apache-2.0
// thread_limit_driver
//
// Runs an engine as a user with a small process limit (RLIMIT_NPROC), from too few threads for an
// engine, where its constructor must throw, to enough for some. Runs must succeed with any number
// of threads. Needs root to become another user; exits with 77 otherwise.
#include "graphs.hpp"

#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/net/io_runtime.hpp>

#include <cstdio>
#include <string>
#include <system_error>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace testing;
using namespace std::chrono_literals;

namespace {

constexpr auto lonely_user = 54'321U; // no other process belongs to this user
constexpr auto refused = 3;           // a constructor threw an error that names the limit

/// Whether blocking bodies, suspended bodies and a nested graph complete.
bool works() {
  auto e = ss::engine{{.workers = 2}};
  auto g = ss::graph<numbers>{};
  g.add(worker, [](const int& i) -> ss::task<ss::update<numbers>> {
    if (i % 2 == 0) {
      std::this_thread::sleep_for(2ms);
    } else {
      auto nap = ss::sleep_for{2ms};
      co_await nap;
    }
    co_return ss::update{ss::set<&numbers::total>(1)};
  });
  g.branch(ss::start, fan_out);
  const auto fan = g.compile();
  for (auto round = 0; round < 3; ++round) // later rounds know that the node is slow
    if (e.invoke(fan, numbers{.n = 40, .total = 0, .seen = {}}).state.total != 40)
      return false;
  return true;
}

/// Runs `what` in a child process that may have the given number of threads. Returns its exit code,
/// 0 for success.
template <class What>
int run_limited(rlim_t threads, What what) {
  std::fflush(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    const auto limit = rlimit{threads, threads};
    if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setgid(lonely_user) != 0 ||
        ::setuid(lonely_user) != 0)
      ::_exit(77);
    ::alarm(60);
    auto code = 1;
    try {
      code = what() ? 0 : 1;
    } catch (const std::system_error& e) {
      code = std::string{e.what()}.find("ulimit") != std::string::npos ? refused : 1;
    } catch (...) {
      code = 2;
    }
    std::fflush(nullptr);
    ::_exit(code);
  }
  auto status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status))
    return 100 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0); // aborted or timed out
  return WEXITSTATUS(status);
}

int failures = 0;

void check(bool holds, const char* what, rlim_t threads, int code) {
  if (holds)
    return;
  ++failures;
  std::fprintf(stderr, "%s with at most %u threads ended with %d\n", what,
               static_cast<unsigned>(threads), code);
}

} // namespace

int main() {
  if (::geteuid() != 0)
    return 77;
  auto has_worked = false;
  for (const auto threads : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 10U, 12U, 20U, 40U}) {
    const auto code = run_limited(threads, works);
    if (code == 77)
      return 77;
    check(code == 0 || (code == refused && !has_worked), "an engine", threads, code);
    has_worked = has_worked || code == 0;
  }
  check(has_worked, "every engine", 40, 0);
  const auto path = "/tmp/superstep-thread-limit-" + std::to_string(::getpid()) + ".db";
  const auto checkpointer = run_limited(1, [&path] {
    static_cast<void>(ss::sqlite_checkpointer(path));
    return true;
  });
  check(checkpointer == refused, "a checkpointer", 1, checkpointer);
  ::unlink(path.c_str());
  const auto io = run_limited(1, [] {
    static_cast<void>(ss::io_runtime{});
    return true;
  });
  check(io == refused, "an I/O runtime", 1, io);
  return failures == 0 ? 0 : 1;
}
