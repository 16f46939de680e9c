// SPDX-License-Identifier: Apache-2.0
// Generates random scenarios: graphs, scripts, runs and disturbances.
#include "unit/actors/simulator/scenario.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace superstep::simulation {

namespace {

int to_int(std::size_t n) {
  return static_cast<int>(n);
}

class generator {
public:
  explicit generator(std::uint64_t seed) : random_{seed * 2 + 1} {}

  scenario make(std::uint64_t seed) {
    auto s = scenario{};
    s.seed = seed;
    s.order = seed * 7 + 3;
    depth_ = to_int(random_.below(3));
    for (auto i = 0; i <= depth_; ++i)
      s.graphs.push_back(make_graph(i));
    for (auto i = 1; i <= depth_; ++i)
      if (random_.one_in(3))
        leave_early(s.graphs, static_cast<std::size_t>(i));
    for (auto i = 1 + random_.below(3); i > 0; --i)
      s.runs.push_back(make_run());
    for (auto i = random_.one_in(4) ? 0 : random_.below(4); i > 0; --i)
      s.disturbances.push_back(make_disturbance(s));
    if (random_.one_in(2))
      s.faults.save_max = microseconds{1 + random_.below(3'000)};
    if (random_.one_in(3))
      s.faults.lease_max = microseconds{1 + random_.below(2'000)};
    if (random_.one_in(8))
      s.faults.fails_at = 1 + random_.below(12);
    s.faults.fails_late = random_.one_in(2);
    s.lanes = 1 + random_.below(3);
    s.pools_actors = !random_.one_in(4);
    s.steps_per_turn = random_.one_in(3) ? 1 : 1'024;
    s.crashes = random_.one_in(3);
    strain(s);
    if (seed % 4 == 3)
      keep_actors_busy(s);
    return s;
  }

private:
  int pick(int low, int high) {
    return low + to_int(random_.below(static_cast<std::size_t>(high - low + 1)));
  }

  operation make_operation(int graph) {
    using kind = operation::kind;
    switch (random_.below(12)) {
    case 0:
    case 1:
      return {kind::wait, pick(1, 3'000)};
    case 2:
    case 3:
      return {kind::block, pick(1, 2'500)};
    case 4:
      return {random_.one_in(2) ? kind::ask : kind::wait, pick(1, 50)};
    case 5:
      return {kind::fork, pick(1, 4)};
    case 6:
      if (graph < depth_)
        return {kind::nest, pick(graph + 1, depth_)};
      return {kind::work, 2};
    case 7:
      return {kind::emit, 1};
    default:
      return {kind::work, pick(1, 3)};
    }
  }

  scripted_node make_node(int graph) {
    auto n = scripted_node{};
    for (auto i = random_.below(4); i > 0; --i)
      n.script.push_back(make_operation(graph));
    if (random_.one_in(5)) {
      n.failures = random_.one_in(10) ? 100 : pick(1, 2);
      n.fails_by = static_cast<ending>(random_.below(3));
      n.attempts = random_.one_in(10) ? 1 : 3;
      n.retry_ms = random_.one_in(3) ? 0 : pick(1, 30);
      if (n.fails_by == ending::hangs)
        n.timeout_ms = pick(20, 60);
      n.has_handler = random_.one_in(4);
      n.has_on_failure = random_.one_in(6);
    } else if (random_.one_in(8)) {
      n.idle_ms = 100;
      n.script.push_back({operation::kind::beat, pick(4, 9)});
    }
    if (n.timeout_ms > 0) // only short operations, so that the outcome does not depend on delays
      std::erase_if(n.script, [](const operation& o) {
        return o.what != operation::kind::work && o.what != operation::kind::emit;
      });
    return n;
  }

  scripted_graph make_graph(int index) {
    auto g = scripted_graph{};
    const auto count = index == 0 ? pick(2, 7) : pick(1, 4);
    g.entries = pick(1, std::min(count, 3));
    for (auto i = 0; i < count; ++i) {
      auto n = make_node(index);
      if (index < depth_ && random_.one_in(4)) {
        n = scripted_node{};
        n.subgraph = pick(index + 1, depth_);
        if (random_.one_in(4)) {
          n.attempts = 2;
          n.retry_ms = 5;
        }
      }
      if (i + 1 < count) {
        for (auto e = random_.below(3); e > 0; --e)
          n.edges.push_back(pick(i + 1, count - 1));
        if (random_.one_in(5))
          n.branches = {pick(i + 1, count - 1), pick(i + 1, count - 1)};
        if (random_.one_in(6) && n.subgraph < 0)
          n.goes_to = pick(i + 1, count - 1);
      }
      if (random_.one_in(4) && n.subgraph < 0)
        n.sends = pick(1, 5);
      n.is_deferred = random_.one_in(12);
      g.nodes.push_back(std::move(n));
    }
    for (auto i = g.entries; i < count; ++i) // all nodes can be reached
      g.nodes[static_cast<std::size_t>(pick(0, i - 1))].edges.push_back(i);
    for (auto& n : g.nodes) {
      std::ranges::sort(n.edges);
      n.edges.erase(std::unique(n.edges.begin(), n.edges.end()), n.edges.end());
    }
    if (count >= 4 && random_.one_in(2))
      g.joins.push_back({{0, pick(1, count - 2)}, count - 1});
    g.worker = make_node(index);
    g.worker.has_handler = false;
    if (random_.one_in(8))
      g.step_timeout_ms = random_.one_in(2) ? 5 : 60'000;
    if (index == 0 && random_.one_in(8))
      g.stops_before.push_back(pick(0, count - 1));
    if (index == 0 && random_.one_in(8))
      g.stops_after.push_back(pick(0, count - 1));
    g.persistence = random_.one_in(6) ? persistence::none : persistence::per_call;
    return g;
  }

  /// Lets the last node of a subgraph command the parent graph. No other node of it may fail or
  /// ask, because its outcome would then depend on the order of events.
  static void leave_early(std::vector<scripted_graph>& graphs, std::size_t index) {
    using kind = operation::kind;
    auto& g = graphs[index];
    const auto calm = [](scripted_node& n) {
      auto simple = scripted_node{};
      simple.script = n.script;
      std::erase_if(simple.script, [](const operation& o) {
        return o.what == kind::ask || o.what == kind::nest || o.what == kind::beat;
      });
      simple.edges = n.edges;
      simple.sends = n.sends;
      n = std::move(simple);
    };
    std::ranges::for_each(g.nodes, calm);
    calm(g.worker);
    g.step_timeout_ms = 0;
    g.nodes.back().leaves = true;
    g.nodes.back().sends = 0;
    for (auto i = std::size_t{0}; i < index; ++i) // only a node of a graph has a parent graph
      for (auto& n : graphs[i].nodes)
        drop_nest(n, index);
    for (auto i = std::size_t{0}; i < index; ++i)
      drop_nest(graphs[i].worker, index);
  }

  static void drop_nest(scripted_node& n, std::size_t graph) {
    std::erase_if(n.script, [&](const operation& o) {
      return o.what == operation::kind::nest && o.amount == static_cast<int>(graph);
    });
  }

  /// Lets two tasks of the first step fail for good, one after the other.
  void fail_twice(scripted_graph& g) {
    for (auto i = std::size_t{0}; i < 2; ++i) {
      g.nodes[i] = scripted_node{};
      g.nodes[i].script = {{operation::kind::wait, pick(1, 2'000)}};
      g.nodes[i].failures = 100;
    }
  }

  /// Replaces a part of some scenarios by a case that random choices seldom give.
  void strain(scenario& s) {
    auto& g = s.graphs[0];
    switch (random_.below(30)) {
    case 0:
    case 1:
      if (g.entries >= 2)
        fail_twice(g);
      return;
    case 2: // a forked call and then its parent are given up while threads run them
      g.nodes[0] = scripted_node{};
      g.nodes[0].script = {{operation::kind::fork, 4}, {operation::kind::block, 2'400}};
      g.entries = 1;
      s.runs[0].start_us = 0;
      s.runs[0].deadline_ms = 0;
      s.disturbances = {{disturbance::kind::exit_actor, pick(1'000, 2'500), 0, pick(2, 4)},
                        {disturbance::kind::cancel, pick(2'800, 5'800), 0, 0}};
      return;
    case 3: // a job thread applies a step of a run that is cancelled
      g.nodes[0] = scripted_node{};
      g.nodes[0].script = {{operation::kind::bulk, 2'100}};
      s.lanes = 1;
      s.runs.push_back(make_run());
      for (auto& r : s.runs)
        r.start_us = 0;
      s.disturbances = {{disturbance::kind::cancel, pick(100, 2'500), 0, 0},
                        {disturbance::kind::cancel, pick(100, 2'500), 1, 0}};
      return;
    case 4: // a run ends before its forked calls have started
    case 5:
      g.nodes[0] = scripted_node{};
      g.nodes[0].script = {{operation::kind::work, 2}, {operation::kind::fork, 12}};
      g.entries = 1;
      s.lanes = 1;
      for (auto& r : s.runs)
        r.start_us = 0;
      s.disturbances = {
          {disturbance::kind::cancel, pick(0, 1), 0, 0},
          {disturbance::kind::exit_coordinator, pick(0, 1), to_int(s.runs.size()) - 1, 0}};
      return;
    case 6: // runs that move between lanes, and then wait for long, are cancelled
    case 7:
      cancel_moved_runs(s);
      return;
    default:
      return;
    }
  }

  void cancel_moved_runs(scenario& s) {
    constexpr auto quick_nodes = 6;
    auto& g = s.graphs[0];
    g = scripted_graph{};
    for (auto i = 0; i < quick_nodes; ++i) {
      auto n = scripted_node{};
      n.script = {{operation::kind::work, 1}};
      n.edges = {i + 1};
      g.nodes.push_back(std::move(n));
    }
    g.nodes.emplace_back().script.assign(12, {operation::kind::wait, 3'000});
    s.lanes = 2 + random_.below(2);
    while (s.runs.size() < 6)
      s.runs.push_back(make_run());
    s.disturbances.clear();
    for (auto i = 0; i < to_int(s.runs.size()); ++i) {
      auto& r = s.runs[static_cast<std::size_t>(i)];
      r.start_us = 0;
      r.deadline_ms = 0;
      if (random_.one_in(2))
        s.disturbances.push_back({disturbance::kind::cancel, pick(500, 8'000), i, 0});
    }
  }

  /// Sends messages to the actors of the runs, most of them soon after the start.
  void keep_actors_busy(scenario& s) {
    for (auto i = pick(8, 32); i > 0; --i)
      s.disturbances.push_back({disturbance::kind::message,
                                random_.one_in(4) ? pick(0, 40'000) : pick(0, 5'000),
                                to_int(random_.below(s.runs.size())), pick(1, 5'000)});
  }

  scripted_run make_run() {
    auto r = scripted_run{};
    r.is_saved = random_.one_in(2);
    r.durability = static_cast<durability>(random_.below(3));
    r.max_concurrency = random_.one_in(5) ? pick(1, 3) : 0;
    r.deadline_ms = random_.one_in(8) ? pick(1, 60) : 0;
    r.start_us = random_.one_in(2) ? 0 : pick(0, 4'000);
    r.buffer = random_.one_in(3) ? pick(1, 6) : 0;
    r.reader_us = pick(1, 2'000);
    r.resubmits = random_.one_in(6);
    return r;
  }

  disturbance make_disturbance(const scenario& s) {
    auto d = disturbance{};
    using kind = disturbance::kind;
    constexpr auto kinds =
        std::array{kind::cancel,          kind::cancel,           kind::drain,   kind::exit_actor,
                   kind::exit_actor,      kind::exit_coordinator, kind::monitor, kind::hold_lease,
                   kind::take_over_lease, kind::shut_down};
    d.what = kinds[random_.below(kinds.size())];
    d.at_us = random_.one_in(3) ? pick(0, 60'000) : pick(0, 6'000);
    d.run = to_int(random_.below(s.runs.size()));
    d.amount = pick(0, 5'000);
    return d;
  }

  dice random_;
  int depth_ = 0;
};

constexpr auto operations = std::array<std::string_view, 9>{"work", "wait", "block", "ask", "fork",
                                                            "nest", "beat", "emit",  "bulk"};
constexpr auto endings = std::array<std::string_view, 3>{"throws", "throws_int", "hangs"};
constexpr auto kinds = std::array<std::string_view, 9>{
    "cancel",  "drain",      "exit_actor",      "exit_coordinator", "monitor",
    "message", "hold_lease", "take_over_lease", "shut_down"};

/// Appends ` name=value` unless the value is the usual one.
void add(std::string& out, std::string_view name, std::int64_t value, std::int64_t usual = 0) {
  if (value != usual)
    out += ' ' + std::string{name} + '=' + std::to_string(value);
}

void add(std::string& out, std::string_view name, const std::vector<int>& values) {
  if (values.empty())
    return;
  out += ' ' + std::string{name} + "=[";
  for (const auto v : values)
    out += std::to_string(v) + ' ';
  out.back() = ']';
}

std::string text_of(const scripted_node& n) {
  auto out = std::string{};
  for (const auto& o : n.script)
    out += ' ' + std::string{operations[static_cast<std::size_t>(o.what)]} + '(' +
           std::to_string(o.amount) + ')';
  if (n.failures > 0)
    out += ' ' + std::string{endings[static_cast<std::size_t>(n.fails_by)]} + '(' +
           std::to_string(n.failures) + ')';
  add(out, "attempts", n.attempts, 1);
  add(out, "retry_ms", n.retry_ms);
  add(out, "timeout_ms", n.timeout_ms);
  add(out, "idle_ms", n.idle_ms);
  add(out, "handler", n.has_handler ? 1 : 0);
  add(out, "on_failure", n.has_on_failure ? 1 : 0);
  add(out, "deferred", n.is_deferred ? 1 : 0);
  add(out, "subgraph", n.subgraph, -1);
  add(out, "edges", n.edges);
  add(out, "branches", n.branches);
  add(out, "sends", n.sends);
  add(out, "goes_to", n.goes_to, -1);
  add(out, "leaves", n.leaves ? 1 : 0);
  return out;
}

} // namespace

scenario make_scenario(std::uint64_t seed) {
  return generator{seed}.make(seed);
}

std::string to_text(const scenario& s) {
  auto out = "seed " + std::to_string(s.seed) + ", order " + std::to_string(s.order) + ", lanes " +
             std::to_string(s.lanes);
  add(out, "pools_actors", s.pools_actors ? 1 : 0, 1);
  add(out, "steps_per_turn", s.steps_per_turn, 1'024);
  add(out, "save_max_us", s.faults.save_max.count());
  add(out, "lease_max_us", s.faults.lease_max.count());
  add(out, "fails_at", static_cast<std::int64_t>(s.faults.fails_at));
  add(out, "fails_late", s.faults.fails_at > 0 && s.faults.fails_late ? 1 : 0);
  add(out, "crashes", s.crashes ? 1 : 0);
  for (auto i = std::size_t{0}; i < s.graphs.size(); ++i) {
    const auto& g = s.graphs[i];
    out += "\n  graph " + std::to_string(i);
    add(out, "entries", g.entries);
    add(out, "step_timeout_ms", g.step_timeout_ms);
    add(out, "stops_before", g.stops_before);
    add(out, "stops_after", g.stops_after);
    add(out, "persistence", static_cast<int>(g.persistence));
    for (auto n = std::size_t{0}; n < g.nodes.size(); ++n)
      out += "\n    node " + std::to_string(n) + ':' + text_of(g.nodes[n]);
    out += "\n    worker:" + text_of(g.worker);
    for (const auto& j : g.joins) {
      out += "\n    join";
      add(out, "sources", j.sources);
      out += " target=" + std::to_string(j.target);
    }
  }
  for (auto i = std::size_t{0}; i < s.runs.size(); ++i) {
    const auto& r = s.runs[i];
    out += "\n  run " + std::to_string(i) + (r.is_saved ? ": saved" : ":");
    add(out, "durability", static_cast<int>(r.durability));
    add(out, "max_concurrency", r.max_concurrency);
    add(out, "deadline_ms", r.deadline_ms);
    add(out, "start_us", r.start_us);
    add(out, "buffer", r.buffer);
    if (r.buffer > 0)
      add(out, "reader_us", r.reader_us);
    add(out, "resubmits", r.resubmits ? 1 : 0);
  }
  for (const auto& d : s.disturbances)
    out += "\n  at " + std::to_string(d.at_us) +
           " us: " + std::string{kinds[static_cast<std::size_t>(d.what)]} + " run " +
           std::to_string(d.run) + " amount " + std::to_string(d.amount);
  return out + '\n';
}

} // namespace superstep::simulation
