// SPDX-License-Identifier: Apache-2.0
// Looks for schedules that break a rule, and makes them smaller. Schedules run in child processes,
// because a fault may also crash or fail an assertion.
#include "unit/actors/simulator/search.hpp"

#include "unit/actors/simulator/schedule.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace superstep::simulation {

namespace {

/// The longest CPU time for a child process, which ends one that loops without events: so many
/// seconds, and one for each `schedules_per_second` schedules. Usually a schedule takes 10 ms.
constexpr auto child_seconds = 240U;
constexpr auto schedules_per_second = 20U;
/// The number of smaller scenarios that minimise() tries.
constexpr auto tries_max = 600;

/// The report of a child process, in memory that both processes share.
struct shared_report {
  std::uint64_t seed;
  std::uint64_t schedules;
  std::uint64_t orders;
  std::uint64_t events;
  std::uint64_t finished;
  std::uint64_t failed;
  std::uint64_t interrupted;
  transition_counts transitions;
  std::array<char, 2'000> broken;
};

/// Runs a function in a child process and returns its report. `broken` is set if the child crashed.
template <class Work>
shared_report run_in_child(std::uint64_t schedules, Work work) {
  auto* const mapped = ::mmap(nullptr, sizeof(shared_report), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::bad_alloc{};
  auto* const shared = new (mapped) shared_report{};
  std::fflush(nullptr);
  const auto child = ::fork();
  if (child == 0) {
    // the test framework would continue with the next test in this process
    for (const auto s : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGXCPU})
      std::signal(s, SIG_DFL);
    const auto seconds = rlim_t{child_seconds + schedules / schedules_per_second};
    const auto limit = rlimit{seconds, seconds};
    ::setrlimit(RLIMIT_CPU, &limit);
    work(*shared);
    std::fflush(nullptr);
    ::_exit(0);
  }
  auto status = 0;
  ::waitpid(child, &status, 0);
  auto out = *shared;
  ::munmap(mapped, sizeof(shared_report));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    std::snprintf(out.broken.data(), out.broken.size(),
                  "the process ended with status %d (see the lines above)", status);
  return out;
}

void note(shared_report& to, const std::string& broken) {
  std::strncpy(to.broken.data(), broken.c_str(), to.broken.size() - 1);
}

/// Does not print what a child prints; its faults are known.
void silence() {
  if (std::freopen("/dev/null", "w", stderr) == nullptr)
    ::_exit(1);
}

/// Returns smaller forms of a scenario, the smallest first.
class reducer {
public:
  std::vector<scenario> smaller(const scenario& s) {
    out_.clear();
    drop_each(s, &scenario::disturbances);
    if (s.runs.size() > 1)
      drop_runs(s);
    simplify_machine(s);
    for (auto g = std::size_t{0}; g < s.graphs.size(); ++g) {
      for (auto n = std::size_t{0}; n < s.graphs[g].nodes.size(); ++n)
        reduce_node(s, [g, n](scenario& x) -> scripted_node& { return x.graphs[g].nodes[n]; });
      reduce_node(s, [g](scenario& x) -> scripted_node& { return x.graphs[g].worker; });
      reduce_graph(s, g);
    }
    return std::move(out_);
  }

private:
  template <class Change>
  void offer(const scenario& s, Change change) {
    auto copy = s;
    change(copy);
    if (to_text(copy) != to_text(s))
      out_.push_back(std::move(copy));
  }

  template <class Items>
  void drop_each(const scenario& s, std::vector<Items> scenario::*member) {
    for (auto i = std::size_t{0}; i < (s.*member).size(); ++i)
      offer(s, [&](scenario& x) {
        (x.*member).erase((x.*member).begin() + static_cast<std::ptrdiff_t>(i));
      });
  }

  void drop_runs(const scenario& s) {
    for (auto i = 0; i < static_cast<int>(s.runs.size()); ++i)
      offer(s, [i](scenario& x) {
        x.runs.erase(x.runs.begin() + i);
        std::erase_if(x.disturbances, [i](const disturbance& d) { return d.run == i; });
        for (auto& d : x.disturbances)
          d.run -= d.run > i ? 1 : 0;
      });
  }

  void simplify_machine(const scenario& s) {
    offer(s, [](scenario& x) { x.faults = {}; });
    offer(s, [](scenario& x) { x.crashes = false; });
    offer(s, [](scenario& x) { x.lanes = 1; });
    offer(s, [](scenario& x) { x.steps_per_turn = 1'024; });
    offer(s, [](scenario& x) { x.pools_actors = true; });
    for (auto i = std::size_t{0}; i < s.runs.size(); ++i)
      offer(s, [i](scenario& x) {
        auto simple = scripted_run{};
        simple.is_saved = x.runs[i].is_saved;
        simple.durability = x.runs[i].durability;
        x.runs[i] = simple;
      });
  }

  void reduce_graph(const scenario& s, std::size_t g) {
    offer(s, [g](scenario& x) { x.graphs[g].joins.clear(); });
    offer(s, [g](scenario& x) { x.graphs[g].step_timeout_ms = 0; });
    offer(s, [g](scenario& x) {
      x.graphs[g].stops_before.clear();
      x.graphs[g].stops_after.clear();
    });
    offer(s, [g](scenario& x) { drop_last_node(x.graphs[g]); });
  }

  static void drop_last_node(scripted_graph& g) {
    const auto last = static_cast<int>(g.nodes.size()) - 1;
    const auto is_used = [last](int n) { return n == last; };
    if (last < g.entries || std::ranges::any_of(g.joins, [&](const auto& j) {
          return j.target == last || std::ranges::any_of(j.sources, is_used);
        }))
      return;
    g.nodes.pop_back();
    std::erase_if(g.stops_before, is_used);
    std::erase_if(g.stops_after, is_used);
    for (auto& n : g.nodes) {
      std::erase_if(n.edges, is_used);
      if (std::ranges::any_of(n.branches, is_used))
        n.branches.clear();
      if (n.goes_to == last)
        n.goes_to = -1;
    }
  }

  template <class Select>
  void reduce_node(const scenario& s, Select select) {
    offer(s, [&](scenario& x) {
      auto& n = select(x);
      auto simple = scripted_node{};
      simple.edges = n.edges;
      simple.branches = n.branches;
      n = std::move(simple);
    });
    offer(s, [&](scenario& x) { select(x).sends = 0; });
    offer(s, [&](scenario& x) { select(x).goes_to = -1; });
    offer(s, [&](scenario& x) { select(x).branches.clear(); });
    offer(s, [&](scenario& x) { select(x).script.clear(); });
    auto copy = s;
    for (auto i = std::size_t{0}; i < select(copy).script.size(); ++i)
      offer(s, [&](scenario& x) {
        auto& script = select(x).script;
        script.erase(script.begin() + static_cast<std::ptrdiff_t>(i));
      });
  }

  std::vector<scenario> out_;
};

} // namespace

search_result search(std::uint64_t first, std::uint64_t count, mutant fault) {
  const auto got = run_in_child(count, [=](shared_report& to) {
    if (fault != mutant::none)
      silence();
    auto orders = std::set<std::uint64_t>{};
    for (to.seed = first; to.seed < first + count; ++to.seed) {
      const auto found = check(make_scenario(to.seed), fault);
      ++to.schedules;
      orders.insert(found.order);
      to.orders = orders.size();
      to.events += found.events;
      for (const auto& e : found.ends) {
        to.finished += e.has_finished ? 1 : 0;
        to.failed += e.error.empty() ? 0 : 1;
        to.interrupted += e.is_interrupted ? 1 : 0;
      }
      to.transitions = simulation::transitions();
      if (!found.broken.empty()) {
        note(to, found.broken);
        return;
      }
    }
  });
  return {
      got.broken[0] != '\0', got.seed,   got.broken.data(), got.schedules,  got.orders, got.events,
      got.finished,          got.failed, got.interrupted,   got.transitions};
}

std::string broken_by(const scenario& s, mutant fault) {
  const auto got = run_in_child(1, [&](shared_report& to) {
    silence();
    note(to, check(s, fault).broken);
  });
  return got.broken.data();
}

scenario minimise(scenario s, mutant fault) {
  auto tries = 0;
  for (auto has_shrunk = true; has_shrunk && tries < tries_max;) {
    has_shrunk = false;
    for (auto& candidate : reducer{}.smaller(s)) {
      if (++tries > tries_max)
        break;
      if (broken_by(candidate, fault).empty())
        continue;
      s = std::move(candidate);
      has_shrunk = true;
      break;
    }
  }
  return s;
}

std::string report(const search_result& found, mutant fault) {
  const auto smallest = minimise(make_scenario(found.seed), fault);
  return found.broken + "\nseed " + std::to_string(found.seed) +
         "; the smallest scenario that breaks a rule (" + broken_by(smallest, fault) + "):\n" +
         to_text(smallest);
}

} // namespace superstep::simulation
