// SPDX-License-Identifier: Apache-2.0
// Kills a process at its writes to the database, or simulates a power failure there. Another
// process resumes, and the result is compared with an uninterrupted run: state and history of every
// thread.
//
// SUPERSTEP_KILL_POINTS (80) sets the number of crashes, which are spread over all writes, both
// kinds of crash and three durabilities. Each run is a separate process, so that the driver, which
// forks these processes, has no threads.
#include "checkpoint/version_1.hpp"
#include "system/checkpoint/crashing_vfs.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

namespace ss = superstep;
namespace json = boost::json;
using crash_test::crash_kind;

constexpr auto threads = 2;

ss::task<json::object> ask(json::value, ss::runtime rt) {
  auto asked = rt.interrupt("go on?");
  const auto answer = co_await asked;
  co_return json::object{{"log", json::array{answer}}};
}

auto says(const char* line) {
  return [line](const json::value&) { return json::object{{"log", json::array{line}}}; };
}

/// A graph with parallel nodes, a join, Sends, an interrupt, and a subgraph that also interrupts.
/// Each thread is run to its end twice: the second time in a branch that is forked from its start.
ss::compiled_json_graph make_graph(std::shared_ptr<ss::checkpointer> checkpointer) {
  auto inner = ss::json_graph{};
  inner.channel("log", "append");
  inner.add("one", says("inner one")).add("two", ask).add("three", says("inner three"));
  inner.edge("__start__", "one").edge("one", "two").edge("two", "three");
  auto g = ss::json_graph{};
  g.channel("log", "append").channel("total", "add");
  g.add("plan", says("plan")).add("left", says("left")).add("right", says("right"));
  g.add("work", [](const json::value& in) {
    return json::object{{"total", in.at("n")}, {"log", json::array{in.at("n")}}};
  });
  auto reading_log = ss::json_node_options{};
  reading_log.reads = {"log"};
  g.add("ask", ask).add("inner", inner.compile({.name = "inner"}), reading_log);
  g.edge("__start__", "plan").edge("plan", "left").edge("plan", "right");
  g.branch("plan", [](const json::value&) {
    auto to = std::vector<ss::json_target>{};
    for (auto n = 1; n <= 3; ++n)
      to.emplace_back("work", json::object{{"n", n}});
    return to;
  });
  g.join({"left", "right"}, "ask").edge("ask", "inner");
  auto options = ss::compile_options{};
  options.checkpointer = std::move(checkpointer);
  return g.compile(std::move(options));
}

ss::run_config config_for(const std::string& thread, ss::durability when) {
  auto config = ss::run_config{};
  config.thread_id = thread;
  config.thread.emplace().durability = when;
  return config;
}

/// Runs a thread to its end from its current state.
void finish(ss::engine& e, const ss::compiled_json_graph& g, const std::string& thread,
            ss::durability when) {
  for (auto tries = 0; tries < 20; ++tries) {
    const auto at = ss::detail::get_state(ss::detail::program_of(g), {thread, {}, {}});
    if (at.checkpoint && at.tasks.empty())
      return; // not next.empty(): a task with saved writes is not in `next`
    const auto config = config_for(thread, when);
    const auto answer = at.interrupts().empty() ? ss::resume() : ss::resume("yes");
    const auto done =
        at.checkpoint ? e.try_invoke(g, answer, config) : e.try_invoke(g, {{"total", 1}}, config);
    if (done.error)
      throw std::runtime_error{done.error->text};
  }
  throw std::runtime_error{"thread '" + thread + "' does not finish"};
}

/// Repeats the run from the thread's first checkpoint in a new branch, unless that branch exists
/// already.
void fork(ss::engine& e, const ss::compiled_json_graph& g, const std::string& thread,
          ss::durability when) {
  const auto all = ss::detail::state_history(ss::detail::program_of(g), {thread, {}, {}});
  for (const auto& s : all)
    if (s.checkpoint->source == ss::checkpoint_source::fork)
      return;
  auto config = config_for(thread, when);
  config.thread->checkpoint_id = all.back().checkpoint->id;
  const auto done = e.try_invoke(g, ss::resume(), config);
  if (done.error)
    throw std::runtime_error{done.error->text};
}

std::string describe(const ss::compiled_json_graph& g) {
  auto out = std::string{};
  for (auto t = 0; t < threads; ++t) {
    const auto thread = "t" + std::to_string(t);
    for (const auto& s : ss::detail::state_history(ss::detail::program_of(g), {thread, {}, {}})) {
      auto next = json::array{};
      for (const auto& n : s.next)
        next.emplace_back(n);
      out += ss::to_text(json::object{{"thread", thread},
                                      {"id", s.checkpoint->id},
                                      {"parent", s.checkpoint->parent},
                                      {"step", s.checkpoint->step},
                                      {"source", ss::to_text(s.checkpoint->source)},
                                      {"next", next},
                                      {"state", ss::detail::adapter_of(g).state(*s.state)}}) +
             '\n';
    }
  }
  return out;
}

void work(const std::string& path, ss::durability when) {
  const auto checkpointer = ss::sqlite_checkpointer(path);
  const auto g = make_graph(checkpointer);
  auto options = ss::engine_options{};
  options.workers = 1;
  auto e = ss::engine{options};
  for (auto t = 0; t < threads; ++t) {
    const auto thread = "t" + std::to_string(t);
    finish(e, g, thread, when);
    fork(e, g, thread, when);
    finish(e, g, thread, when);
  }
}

void check_integrity(const std::string& path) {
  auto* db = static_cast<sqlite3*>(nullptr);
  auto* s = static_cast<sqlite3_stmt*>(nullptr);
  auto text = std::string{"cannot be opened"};
  if (sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
      sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &s, nullptr) == SQLITE_OK &&
      sqlite3_step(s) == SQLITE_ROW)
    text = reinterpret_cast<const char*>(sqlite3_column_text(s, 0));
  sqlite3_finalize(s);
  sqlite3_close(db);
  if (text != "ok")
    throw std::runtime_error{"the database fails its integrity check: " + text};
}

std::string text_of(const std::string& path) {
  auto in = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// Runs a function in a child process. Returns whether it exited normally with success.
template <class Run>
bool in_child(Run run) {
  const auto child = ::fork();
  if (child == 0) {
    auto code = 0;
    try {
      run();
    } catch (const std::exception& e) {
      std::cerr << e.what() << std::endl;
      code = 1;
    }
    ::_exit(code);
  }
  auto status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class driver {
public:
  explicit driver(std::filesystem::path folder) : folder_{std::move(folder)} {}

  int run(std::size_t points) {
    constexpr auto durabilities =
        std::array{ss::durability::sync, ss::durability::async, ss::durability::exit};
    constexpr auto kinds = std::array{crash_kind::kill, crash_kind::power};
    auto tried = std::size_t{0};
    for (const auto when : durabilities) {
      const auto writes = learn(when);
      if (writes == 0)
        return fail("the uninterrupted run failed", when, crash_kind::none, 0);
      const auto each = (points + durabilities.size() * kinds.size() - 1) /
                        (durabilities.size() * kinds.size()); // rounded up
      for (const auto kind : kinds)
        for (auto i = std::size_t{0}; i < each; ++i) {
          const auto at = 1 + i * writes / each;
          if (!crash_and_go_on(when, kind, at))
            return fail("it does not end as it should", when, kind, at);
          ++tried;
        }
    }
    std::cout << tried << " crashes, all results equal\n";
    return migrate();
  }

private:
  /// Kills a process that migrates a file of version 1 at each of its writes. The file must be of
  /// one version or the other, with all of its data.
  int migrate() {
    const auto open = [&] { static_cast<void>(ss::sqlite_checkpointer(database())); };
    if (learn(ss::durability::exit) == 0)
      return fail("the uninterrupted run failed", ss::durability::exit, crash_kind::none, 0);
    const auto today = (folder_ / "today").string();
    std::filesystem::rename(database(), today);
    auto tried = 0;
    for (const auto kind : {crash_kind::kill, crash_kind::power})
      for (auto at = std::uint64_t{1};; ++at) {
        clear();
        make_version_1(database(), today);
        const auto is_over = in_child([&] {
          crash_test::install_crashing_vfs(kind, at);
          open();
        });
        const auto version = ask_sql(database(), "PRAGMA user_version");
        check_integrity(database());
        if (version < 1 || version > 4 || !look() || text_of(result()) != expected_)
          return fail("a file is not as it was", ss::durability::exit, kind, at);
        if (is_over)
          break;
        ++tried;
      }
    std::cout << tried << " crashes of migrations, all results equal\n";
    return tried > 0 ? 0 : 1;
  }

  /// Counts the writes of an uninterrupted run and stores its result in `expected_`.
  std::uint64_t learn(ss::durability when) {
    clear();
    const auto count = (folder_ / "count").string();
    const auto is_well = in_child([&] {
      crash_test::install_crashing_vfs(crash_kind::none, 0);
      work(database(), when);
      std::ofstream{count} << crash_test::writes_seen();
    });
    if (!is_well || !look())
      return 0;
    expected_ = text_of(result());
    return std::stoull(text_of(count));
  }

  bool crash_and_go_on(ss::durability when, crash_kind kind, std::uint64_t at) {
    clear();
    static_cast<void>(in_child([&] {
      crash_test::install_crashing_vfs(kind, at);
      work(database(), when);
    }));
    const auto goes_on = in_child([&] {
      if (std::filesystem::exists(database()))
        check_integrity(database());
      work(database(), when);
      check_integrity(database());
    });
    return goes_on && look() && text_of(result()) == expected_;
  }

  bool look() {
    return in_child([&] {
      const auto g = make_graph(ss::sqlite_checkpointer(database()));
      std::ofstream{result()} << describe(g);
    });
  }

  int fail(const char* what, ss::durability when, crash_kind kind, std::uint64_t at) {
    std::cerr << what << ": durability " << static_cast<int>(when) << ", crash "
              << static_cast<int>(kind) << " at write " << at << "\nwanted:\n"
              << expected_ << "found:\n"
              << text_of(result());
    return 1;
  }

  void clear() {
    for (const auto* suffix : {"", "-wal", "-shm"})
      std::filesystem::remove(database() + suffix);
    std::filesystem::remove(result());
  }
  [[nodiscard]] std::string database() const { return (folder_ / "threads.db").string(); }
  [[nodiscard]] std::string result() const { return (folder_ / "result").string(); }

  std::filesystem::path folder_;
  std::string expected_;
};

} // namespace

int main() {
  const auto* wanted = std::getenv("SUPERSTEP_KILL_POINTS");
  auto name = (std::filesystem::temp_directory_path() / "superstep-crash-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    return 1;
  const auto code = driver{name}.run(wanted != nullptr ? std::stoull(wanted) : 80);
  std::filesystem::remove_all(name);
  return code;
}
