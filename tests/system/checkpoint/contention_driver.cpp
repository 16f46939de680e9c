// SPDX-License-Identifier: Apache-2.0
// Several processes on one database: each adds to the totals of random threads, and all additions
// must be there in the end. No process may get an error because the database was busy.
//
// SUPERSTEP_CONTENTION="PROCESSES THREADS RUNS" (4 20 30): number of processes, threads, and runs
// per process. The argument is the URL of a PostgreSQL database; without it, a file of SQLite is
// used.
#include "checkpoint/sqlite_fixtures.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/postgres.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>

#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace ss = superstep;
namespace json = boost::json;

struct size {
  int processes = 4;
  int threads = 20;
  int runs = 30;
};

/// The processes should contend for rows, not for the disk.
/// @param syncs whether commits to a file are synced, which also keeps space in the log
std::shared_ptr<ss::checkpointer> open(const std::string& path, bool syncs) {
  if (!ss::is_postgres_url(path))
    return syncs ? ss::sqlite_checkpointer(path) : open_checkpointer(path);
  auto with = ss::postgres_checkpointer_options{};
  with.survives_power_loss = false;
  return ss::postgres_checkpointer(path, with);
}

ss::compiled_json_graph make_graph(const std::string& path, bool syncs = false) {
  auto g = ss::json_graph{};
  g.channel("total", "add");
  g.add("one", [](const json::value&) { return json::object{{"total", 1}}; });
  g.add("two", [](const json::value&) { return json::object{{"total", 1}}; });
  g.edge("__start__", "one").edge("one", "two");
  auto options = ss::compile_options{};
  options.checkpointer = open(path, syncs);
  return g.compile(std::move(options));
}

std::string name_of(int thread) {
  return "thread-" + std::to_string(thread);
}

/// Half of the runs wait for a thread that another process holds; the others are rejected and
/// retry.
void work(const std::string& path, const size& how, int process) {
  const auto g = make_graph(path, process == 0);
  auto random = std::mt19937{static_cast<unsigned>(process)};
  auto pick = std::uniform_int_distribution<int>{0, how.threads - 1};
  auto e = ss::engine{ss::engine_options{.workers = 1}};
  for (auto i = 0; i < how.runs; ++i) {
    auto config = ss::run_config{};
    config.thread_id = name_of(pick(random));
    config.thread.emplace().on_busy = i % 2 == 0 ? ss::busy_policy::wait : ss::busy_policy::refuse;
    while (true) {
      const auto done = e.try_invoke(g, {{"total", 1}}, config);
      if (!done.error)
        break;
      if (done.error->code != make_error_code(ss::checkpoint_errc::in_use))
        throw std::runtime_error{done.error->text};
    }
  }
}

/// Checks that every run has added three and left three checkpoints: its input, and one per step.
void check(const std::string& path, const size& how) {
  const auto g = make_graph(path);
  auto total = std::int64_t{0};
  for (auto t = 0; t < how.threads; ++t) {
    const auto history = ss::detail::state_history(ss::detail::program_of(g), {name_of(t), {}, {}});
    if (history.empty())
      continue;
    const auto found = ss::detail::adapter_of(g)
                           .state(*history.front().state)
                           .at("total")
                           .to_number<std::int64_t>();
    total += found;
    auto child = std::string{};
    for (const auto& s : history) {
      if (!child.empty() && child != s.checkpoint->id)
        throw std::runtime_error{name_of(t) + ": its checkpoints are not a single chain"};
      child = s.checkpoint->parent;
    }
  }
  const auto wanted = std::int64_t{3} * how.processes * how.runs;
  if (total != wanted)
    throw std::runtime_error{"updates were lost: the totals are " + std::to_string(total) +
                             ", not " + std::to_string(wanted)};
  std::cout << how.processes << " processes, " << how.threads << " threads, "
            << how.processes * how.runs << " runs: nothing was lost\n";
}

template <class Run>
pid_t start(Run run) {
  const auto child = ::fork();
  if (child != 0)
    return child;
  auto code = 0;
  try {
    run();
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    code = 1;
  }
  std::cout << std::flush;
  std::cerr << std::flush;
  ::_exit(code);
}

bool ended_well(pid_t child) {
  auto status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

int main(int count, char** arguments) {
  auto how = size{};
  if (const auto* wanted = std::getenv("SUPERSTEP_CONTENTION"))
    std::istringstream{wanted} >> how.processes >> how.threads >> how.runs;
  const auto folder = temporary_folder{};
  const auto database = count > 1 ? std::string{arguments[1]} : folder.file();
  auto children = std::vector<pid_t>{};
  for (auto p = 0; p < how.processes; ++p)
    children.push_back(start([&] { work(database, how, p); }));
  auto is_well = true;
  for (const auto child : children)
    is_well = ended_well(child) && is_well;
  return is_well && ended_well(start([&] { check(database, how); })) ? 0 : 1;
}
