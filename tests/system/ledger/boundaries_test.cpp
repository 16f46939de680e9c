// SPDX-License-Identifier: Apache-2.0
// Interrupts the processes of a shared job at each of their statements, in each phase of it: a
// process is killed or paused beyond its lease, its connection is cut, or the server crashes. The
// job must end with the rows of a job in files, directly and behind a pooler.
//
// SUPERSTEP_LEDGER_POINTS (20) sets the number of interruptions, SUPERSTEP_LEDGER_ROWS (1,500) the
// number of rows, and SUPERSTEP_LEDGER_PROCESSES (3) the number of processes.
#include "pooler.hpp"
#include "shared_job_files.hpp"
#include "support/environment.hpp"
#include "system/postgres/statement_proxy.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <future>
#include <map>
#include <random>
#include <set>

namespace {

using namespace superstep::testing;
using std::chrono::milliseconds;
using std::chrono::seconds;
using superstep::test::number_from_environment;
using steady = std::chrono::steady_clock;

/// The functions of the ledger. Running processes call the first four. A start calls the next two,
/// and the end of a process the last one.
constexpr auto functions =
    std::array{"superstep.commit(",  "superstep.lease(",    "superstep.read(",   "superstep.beat(",
               "superstep.resolve(", "superstep.find_job(", "superstep.release("};
constexpr auto first_of_start = std::size_t{4};
constexpr auto find_job = std::size_t{5};
constexpr auto of_end = std::size_t{6};
constexpr auto phases =
    std::array{statement_phase::before, statement_phase::partly, statement_phase::running,
               statement_phase::ended, statement_phase::answer};

enum class interruption_kind : std::uint8_t { kill, cut, pause, crash };

/// One interruption.
struct point {
  interruption_kind kind;
  std::size_t function;
  std::size_t phase;
};

/// Returns points of all functions, phases and kinds. Of 20 points, 9 are kills, 8 cut a
/// connection, 1 pauses a process, and 2 crash the server.
std::vector<point> points_of(std::size_t count) {
  using enum interruption_kind;
  constexpr auto kinds = std::array{kill, cut, kill, cut,   crash, kill, cut, kill, cut, pause,
                                    kill, cut, kill, crash, cut,   kill, cut, kill, cut, kill};
  auto out = std::vector<point>{};
  auto of_kind = std::map<interruption_kind, std::size_t>{};
  for (auto i = std::size_t{0}; i < count; ++i) {
    const auto kind = kinds[i % kinds.size()];
    const auto n = of_kind[kind]++;
    // A process that is paused before its statement reaches the server asks for what it has lost.
    const auto function = kind == pause ? n % first_of_start : n % functions.size();
    const auto phase = kind == pause ? 0 : n / functions.size() % phases.size();
    out.push_back({kind, function, phase});
  }
  return out;
}

/// The processes of a job. A process that has been killed or has failed is started again, as a
/// launcher would do.
class fleet {
public:
  fleet(const shared_job_files& files, std::size_t count) : files_{files} {
    for (auto i = std::size_t{0}; i < count; ++i)
      workers_.push_back(files.worker());
  }

  /// Starts processes again that have ended, unless the job has ended.
  void supervise() {
    for (auto& worker : workers_) {
      if (!worker->wait_for(milliseconds{0}))
        continue;
      const auto end = worker->wait();
      is_over_ = is_over_ || end.exit_code == 0;
      if (is_over_)
        return;
      // A process that has lost its connection continues by itself.
      const auto survived = end.signal != 0 || end.exit_code == 3;
      BOOST_TEST((must_survive_.erase(worker->id()) == 0 || survived),
                 "after its connection was cut, a process ended: " << end.err);
      worker = files_.worker();
    }
  }

  void send(std::size_t to, int signal) { workers_[to % workers_.size()]->send(signal); }
  void must_survive(pid_t worker) { must_survive_.insert(worker); }
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }

  /// Waits for the end of all processes.
  void finish() {
    for (auto& worker : workers_) {
      worker->send(SIGCONT);
      for (auto tries = 0; worker->wait().exit_code != 0 && tries < 3; ++tries)
        worker = files_.worker();
      const auto end = worker->wait();
      BOOST_TEST(end.exit_code == 0, end.err);
    }
  }

private:
  const shared_job_files& files_;
  std::vector<std::unique_ptr<process>> workers_;
  std::set<pid_t> must_survive_;
  bool is_over_ = false;
};

/// Runs jobs on a server until all points have happened.
class interrupted_jobs {
public:
  /// @param port of the server or its pooler
  interrupted_jobs(postgres_server& server, int port)
      : server_{server}, proxy_{server.folder(), functions[0], port} {}

  void run(const std::vector<point>& points) {
    const auto rows = number_from_environment("SUPERSTEP_LEDGER_ROWS", 1'500);
    auto idle_jobs = 0; // one after the other that have ended without an interruption
    for (auto next = points.begin(); next != points.end();) {
      server_.run("drop schema if exists superstep cascade");
      const auto files = shared_job_files{server_, static_cast<int>(rows), 50, proxy_.url()};
      proxy_.plan({});
      files.submit({"--chunk-rows", "32"});
      auto workers = fleet{files, number_from_environment("SUPERSTEP_LEDGER_PROCESSES", 3)};
      const auto before = next;
      while (next != points.end() && !workers.is_over() && reach(*next, workers))
        ++next;
      idle_jobs = next == before ? idle_jobs + 1 : 0;
      if (idle_jobs > 0)
        BOOST_TEST_REQUIRE(idle_jobs < 3, "jobs end without " << functions[next->function]
                                                              << " in phase " << next->phase);
      proxy_.plan({});
      workers.finish();
      files.write_model("2\\+(\\d+)", 0); // the job in files need not be slow
      files.check_outputs();
      BOOST_TEST(server_.value("select sum(ok + dead) from superstep.chunks") ==
                 std::to_string(rows));
    }
    BOOST_TEST_MESSAGE(points.size()
                       << " interruptions: " << counts_[0] << " kills, " << counts_[1] << " cuts, "
                       << counts_[2] << " pauses, " << counts_[3] << " crashes of the server");
  }

private:
  /// Interrupts the job at a point. Returns whether it happened before the end of the job.
  bool reach(const point& at, fleet& workers) {
    auto reached = std::promise<pid_t>{};
    auto is_reached = reached.get_future();
    auto is_down = std::promise<void>{};
    auto went_down = is_down.get_future().share();
    auto plan = interruption{1, phases[at.phase], {}};
    plan.cuts = at.kind != interruption_kind::pause;
    // A plan that is repeated may be taken twice.
    plan.act = [&, kind = at.kind, went_down,
                is_first = std::make_shared<std::atomic_flag>()](pid_t client) {
      if (is_first->test_and_set())
        return;
      if (kind == interruption_kind::kill || kind == interruption_kind::pause)
        ::kill(client, kind == interruption_kind::kill ? SIGKILL : SIGSTOP);
      reached.set_value(client);
      if (kind == interruption_kind::crash)
        went_down.wait();
      else if (kind == interruption_kind::pause)
        std::this_thread::sleep_for(seconds{3}); // the statement waits with the process
      if (kind == interruption_kind::pause)
        ::kill(client, SIGCONT);
    };
    if (!wait_for(is_reached, plan, at, workers)) {
      proxy_.plan({});
      // The plan may have been taken in the meantime.
      if (is_reached.wait_for(milliseconds{200}) != std::future_status::ready)
        return false;
    }
    const auto client = is_reached.get();
    if (at.kind == interruption_kind::crash) {
      server_.crash(counts_[3] % 2 == 0 ? SIGQUIT : SIGKILL);
      is_down.set_value();
      server_.start();
    } else if (at.kind == interruption_kind::cut && at.function != find_job) {
      workers.must_survive(client);
    }
    ++counts_[static_cast<std::size_t>(at.kind)];
    workers.supervise();
    return true;
  }

  /// Waits for a point; causes it if it is at the start or end of a process. Plans it again from
  /// time to time, because the process of the planned statement may have ended before its phase.
  bool wait_for(std::future<pid_t>& reached, const interruption& plan, const point& at,
                fleet& workers) {
    const auto limit = steady::now() + seconds{60};
    auto next_cause = steady::now();
    auto next_plan = steady::now();
    while (reached.wait_for(milliseconds{5}) != std::future_status::ready) {
      workers.supervise();
      if (workers.is_over())
        return false;
      BOOST_TEST_REQUIRE((steady::now() < limit), "no process calls " << functions[at.function]);
      if (steady::now() >= next_plan) {
        proxy_.plan(plan, functions[at.function]);
        next_plan = steady::now() + seconds{5};
      }
      if (at.function < first_of_start || steady::now() < next_cause)
        continue;
      workers.send(random_(), at.function == of_end ? SIGTERM : SIGKILL);
      next_cause = steady::now() + seconds{2};
    }
    return true;
  }

  postgres_server& server_;
  statement_proxy proxy_;
  std::array<std::size_t, 4> counts_{};
  std::mt19937 random_{29};
};

} // namespace

BOOST_AUTO_TEST_SUITE(ledger_boundaries)

BOOST_AUTO_TEST_CASE(interruption_of_any_statement_loses_no_row) {
  auto server = postgres_server{};
  auto jobs = interrupted_jobs{server, 5432};
  jobs.run(points_of(number_from_environment("SUPERSTEP_LEDGER_POINTS", 20)));
}

BOOST_AUTO_TEST_CASE(interruption_behind_pooler_loses_no_row) {
  auto server = postgres_server{};
  const auto behind = pooler{server};
  auto jobs = interrupted_jobs{server, pooler::port};
  jobs.run(points_of(number_from_environment("SUPERSTEP_LEDGER_POINTS", 20)));
}

BOOST_AUTO_TEST_SUITE_END()
