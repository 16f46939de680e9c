// SPDX-License-Identifier: Apache-2.0
// Kills a process at its writes to the database, or simulates a power failure there. Another
// process resumes, and the result is compared with an uninterrupted run: state and history of every
// thread.
//
// SUPERSTEP_KILL_POINTS (80) sets the number of crashes, which are spread over all writes, both
// kinds of crash and three durabilities. Each run is a separate process, so that the driver, which
// forks these processes, has no threads.
#include "checkpoint/version_1.hpp"
#include "system/checkpoint/crash_graph.hpp"
#include "system/checkpoint/crashing_vfs.hpp"

#include <superstep/checkpoint/sqlite.hpp>

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
using crash_test::crash_kind;
using crash_test::describe;
using crash_test::make_graph;

void work(const std::string& path, ss::durability when) {
  crash_test::work(ss::sqlite_checkpointer(path), when);
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
