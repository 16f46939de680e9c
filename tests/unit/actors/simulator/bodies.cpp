// SPDX-License-Identifier: Apache-2.0
// Turns the scripts of a scenario into graphs. What a body writes depends only on what it reads, so
// that a run must end with the same state however it is disturbed.
#include "unit/actors/simulator/bodies.hpp"

#include <superstep/base/await.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace superstep::simulation {

namespace {

using namespace std::chrono_literals;
using state_update = superstep::update<notebook>;

void mix(std::uint64_t& hash, std::uint64_t more) {
  hash = (hash ^ more) * 0x100000001b3;
}

void mix(std::uint64_t& hash, std::string_view text) {
  for (const auto c : text)
    mix(hash, static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
}

std::uint64_t digest_of(const notebook& s, std::string_view name) {
  auto hash = std::uint64_t{0xcbf29ce484222325};
  mix(hash, name);
  for (const auto& line : s.log)
    mix(hash, line);
  mix(hash, static_cast<std::uint64_t>(s.sum));
  return hash;
}

/// Counts the frames of bodies.
class presence {
public:
  explicit presence(std::shared_ptr<observations> seen) : seen_{std::move(seen)} {
    ++seen_->live_bodies;
  }
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;
  ~presence() { --seen_->live_bodies; }

private:
  std::shared_ptr<observations> seen_;
};

task<int> forked(int which, std::shared_ptr<observations> seen) {
  const auto here = presence{seen};
  yield();
  if (which % 3 == 0) {
    world::current()->block(microseconds{which == 0 ? 6'000 : 1'500});
  } else if (which % 3 == 1) {
    auto nap = sleep_for{microseconds{200 * which}};
    co_await nap;
  }
  if (which == 3) {
    auto inner = std::vector<task<int>>{};
    inner.push_back(forked(1, seen));
    inner.push_back(forked(2, seen));
    auto both = when_all(std::move(inner));
    const auto ended = co_await both;
    static_cast<void>(ended);
  }
  yield();
  co_return which;
}

/// A node of a scripted graph, shared by the bodies of its tasks.
struct actor_script {
  std::string name;
  scripted_node what;
  std::shared_ptr<observations> seen;
  std::vector<std::string> names; ///< of the nodes of its graph
  std::vector<compiled_graph<notebook>> below;
};
using script_ptr = std::shared_ptr<const actor_script>;

/// Runs the operations of a script; returns a digest of what it got from outside.
task<std::uint64_t> perform(script_ptr s, runtime rt, notebook state) {
  auto hash = std::uint64_t{1};
  for (const auto& o : s->what.script) {
    switch (o.what) {
    case operation::kind::work:
      for (auto i = 0; i < o.amount; ++i)
        yield();
      break;
    case operation::kind::wait: {
      auto nap = sleep_for{microseconds{o.amount}};
      co_await nap;
      break;
    }
    case operation::kind::block:
      world::current()->block(microseconds{o.amount});
      break;
    case operation::kind::ask: {
      auto question = json::value(json::string(s->name + std::to_string(o.amount)));
      auto asked = rt.interrupt(std::move(question));
      const auto answer = co_await asked;
      mix(hash, std::string_view{answer.as_string()});
      break;
    }
    case operation::kind::fork: {
      auto calls = std::vector<task<int>>{};
      for (auto i = 0; i < o.amount; ++i)
        calls.push_back(forked(i, s->seen));
      auto all = when_all(std::move(calls));
      const auto ended = co_await all;
      for (const auto& e : ended) {
        if (!e.value) // the actor of the call has received an exit message
          s->seen->tainted.insert(rt.config().run_id);
        mix(hash, static_cast<std::uint64_t>(e.value.value_or(0)));
      }
      break;
    }
    case operation::kind::nest: {
      auto input = notebook{{s->name}, state.sum};
      auto graph = s->below[static_cast<std::size_t>(o.amount)];
      auto running = rt.invoke(std::move(graph), std::move(input));
      const auto out = co_await running;
      mix(hash, digest_of(out, "nested"));
      break;
    }
    case operation::kind::beat:
      for (auto i = 0; i < o.amount; ++i) {
        rt.heartbeat();
        auto nap = sleep_for{20ms};
        co_await nap;
      }
      break;
    case operation::kind::emit:
      rt.emit(json::value(json::string(s->name)));
      break;
    case operation::kind::bulk:
      break; // see output_of()
    }
  }
  co_return hash;
}

/// Ends an attempt that must fail.
task<void> fail(script_ptr s) {
  switch (s->what.fails_by) {
  case ending::throws:
    throw std::runtime_error{s->name + " fails"};
  case ending::throws_int:
    throw 7;
  case ending::hangs: {
    auto nap = sleep_for{std::chrono::hours{1'000}};
    co_await nap;
  }
  }
}

command<notebook> output_of(const actor_script& s, std::uint64_t hash) {
  auto lines = std::vector<std::string>{s.name + ':' + std::to_string(hash % 10'007)};
  auto out = command<notebook>{};
  out.update = state_update{set<&notebook::log>(std::move(lines)),
                            set<&notebook::sum>(static_cast<std::int64_t>(hash % 10))};
  for (const auto& o : s.what.script) {
    if (o.what != operation::kind::bulk)
      continue;
    out.update.add(set<&notebook::log>(std::vector<std::string>{std::string{slow_line}}));
    for (auto i = 0; i < o.amount; ++i)
      out.update.add(set<&notebook::sum>(std::int64_t{0}));
  }
  for (auto i = 0; i < s.what.sends; ++i)
    out.go_to.emplace_back(node<int>{"worker"}, static_cast<int>(hash % 89) + i);
  if (s.what.goes_to >= 0)
    out.go_to.emplace_back(std::string_view{s.names[static_cast<std::size_t>(s.what.goes_to)]});
  return out;
}

task<command<notebook>> act(script_ptr s, runtime rt, notebook state, std::uint64_t hash) {
  const auto here = presence{s->seen};
  auto performing = perform(s, rt, std::move(state));
  const auto got = co_await performing;
  if (static_cast<int>(rt.attempt()) <= s->what.failures) {
    auto failing = fail(s);
    co_await failing;
  }
  mix(hash, got);
  co_return output_of(*s, hash);
}

/// The body of a node that commands the parent graph.
task<parent_command<notebook>> leave(script_ptr s, runtime rt, notebook state, std::uint64_t hash) {
  const auto here = presence{s->seen};
  auto performing = perform(s, rt, std::move(state));
  const auto got = co_await performing;
  mix(hash, got);
  auto lines = std::vector<std::string>{s->name + " leaves:" + std::to_string(hash % 10'007)};
  auto out = parent_command<notebook>{};
  out.update = state_update{set<&notebook::log>(std::move(lines))};
  co_return out;
}

/// Whether the task would fail in the same way without disturbances.
bool is_scripted(const actor_script& s, const run_error& e) {
  const auto nests = std::ranges::any_of(
      s.what.script, [](const operation& o) { return o.what == operation::kind::nest; });
  return !nests && (e.code == graph_errc::node_failed || e.code == graph_errc::node_timeout);
}

node_options options_of(const script_ptr& s) {
  auto o = node_options{};
  const auto& n = s->what;
  o.defer = n.is_deferred;
  if (n.attempts > 1) {
    auto policy = retry_policy{};
    policy.max_attempts = static_cast<std::uint32_t>(n.attempts);
    policy.initial_interval = std::chrono::milliseconds{n.retry_ms};
    policy.jitter = false;
    policy.retry_on = [](const std::exception_ptr&) { return true; };
    o.retry = {policy};
  }
  if (n.timeout_ms > 0 || n.idle_ms > 0) {
    o.timeout.emplace();
    if (n.timeout_ms > 0)
      o.timeout->run = std::chrono::milliseconds{n.timeout_ms};
    if (n.idle_ms > 0)
      o.timeout->idle = std::chrono::milliseconds{n.idle_ms};
  }
  if (n.has_on_failure)
    o.on_failure = [s](const body_input& in, const run_error& e) -> std::optional<node_output> {
      if (!is_scripted(*s, e))
        s->seen->tainted.insert((*in.config)->run_id);
      auto update = state_update{set<&notebook::sum>(std::int64_t{5})};
      auto out = node_output{};
      out.writes.assign(update.writes().begin(), update.writes().end());
      return out;
    };
  return o;
}

/// Builds one graph after the graphs that it nests.
class builder {
public:
  builder(const scenario& s, std::shared_ptr<observations> seen,
          std::shared_ptr<checkpointer> saver)
      : scenario_{s}, seen_{std::move(seen)}, checkpointer_{std::move(saver)} {}

  compiled_graph<notebook> build(std::size_t index) {
    const auto& from = scenario_.graphs[index];
    if (index + 1 < scenario_.graphs.size())
      static_cast<void>(build(index + 1));
    auto g = graph<notebook>{};
    auto names = std::vector<std::string>{};
    for (auto i = std::size_t{0}; i < from.nodes.size(); ++i)
      names.push_back(std::string(1, static_cast<char>('a' + i)) + std::to_string(index));
    for (auto i = std::size_t{0}; i < from.nodes.size(); ++i)
      add_node(g, script(names[i], from.nodes[i], names));
    add_worker(g, script("worker", from.worker, names));
    connect(g, from, names);
    auto options = compile_options{};
    options.name = "g" + std::to_string(index);
    options.persistence = from.persistence;
    if (index == 0)
      options.checkpointer = checkpointer_;
    if (from.step_timeout_ms > 0)
      options.step_timeout = std::chrono::milliseconds{from.step_timeout_ms};
    for (const auto n : from.stops_before)
      options.interrupt_before.push_back(names[static_cast<std::size_t>(n)]);
    for (const auto n : from.stops_after)
      options.interrupt_after.push_back(names[static_cast<std::size_t>(n)]);
    built_.insert(built_.begin(), g.compile(std::move(options)));
    return built_.front();
  }

private:
  /// Returns a script whose graph numbers are indexes of `below`.
  script_ptr script(std::string name, const scripted_node& what, std::vector<std::string> names) {
    auto s = std::make_shared<actor_script>();
    s->name = std::move(name);
    s->what = what;
    s->seen = seen_;
    s->names = std::move(names);
    s->below.reserve(scenario_.graphs.size());
    const auto missing = scenario_.graphs.size() - built_.size();
    for (auto i = std::size_t{0}; i < scenario_.graphs.size() && !built_.empty(); ++i)
      s->below.push_back(built_[i < missing ? 0 : i - missing]);
    return s;
  }

  static void add_node(graph<notebook>& g, const script_ptr& s) {
    if (s->what.subgraph >= 0) {
      g.add(
          std::string_view{s->name}, s->below[static_cast<std::size_t>(s->what.subgraph)],
          [s](const notebook& state) {
            yield();
            return notebook{{s->name}, state.sum};
          },
          [s](const notebook& child) {
            auto lines = std::vector<std::string>{s->name + '/' +
                                                  std::to_string(digest_of(child, s->name) % 997)};
            return state_update{set<&notebook::log>(std::move(lines)),
                                set<&notebook::sum>(child.sum % 10)};
          },
          options_of(s));
      return;
    }
    if (s->what.leaves) {
      g.add(
          std::string_view{s->name},
          [s](const notebook& state, runtime rt) {
            return leave(s, std::move(rt), state, digest_of(state, s->name));
          },
          options_of(s));
      return;
    }
    g.add(
        std::string_view{s->name},
        [s](const notebook& state, runtime rt) {
          return act(s, std::move(rt), state, digest_of(state, s->name));
        },
        options_of(s));
    if (s->what.has_handler)
      g.on_error(std::string_view{s->name}, [s](const notebook&, runtime rt) {
        if (rt.failure() == nullptr || !is_scripted(*s, *rt.failure()))
          s->seen->tainted.insert(rt.config().run_id);
        yield();
        return state_update{set<&notebook::sum>(std::int64_t{3})};
      });
  }

  static void add_worker(graph<notebook>& g, const script_ptr& s) {
    g.add(
        node<int>{"worker"},
        [s](const int& n, runtime rt) {
          auto hash = digest_of({}, s->name);
          mix(hash, static_cast<std::uint64_t>(n));
          return act(s, std::move(rt), {}, hash);
        },
        options_of(s));
  }

  static void connect(graph<notebook>& g, const scripted_graph& from,
                      const std::vector<std::string>& names) {
    const auto name = [&](int n) { return std::string_view{names[static_cast<std::size_t>(n)]}; };
    for (auto i = 0; i < from.entries; ++i)
      g.edge(start, name(i));
    for (auto i = std::size_t{0}; i < from.nodes.size(); ++i) {
      const auto& n = from.nodes[i];
      for (const auto to : n.edges)
        g.edge(std::string_view{names[i]}, name(to));
      if (n.branches.size() == 2) {
        const auto first = std::string{name(n.branches[0])};
        const auto second = std::string{name(n.branches[1])};
        g.branch(std::string_view{names[i]}, [first, second](const notebook& s) {
          yield();
          auto chosen = destinations{};
          chosen.emplace_back(std::string_view{s.sum % 2 == 0 ? first : second});
          return chosen;
        });
      }
    }
    for (const auto& j : from.joins)
      g.edge({name(j.sources[0]), name(j.sources[1])}, name(j.target));
  }

  const scenario& scenario_;
  std::shared_ptr<observations> seen_;
  std::shared_ptr<checkpointer> checkpointer_;
  std::vector<compiled_graph<notebook>> built_; ///< the last graphs of the scenario
};

} // namespace

std::string to_text(const notebook& state) {
  auto out = "sum " + std::to_string(state.sum) + ", log";
  for (const auto& line : state.log)
    out += ' ' + line;
  return out;
}

compiled_graph<notebook> build(const scenario& s, const std::shared_ptr<observations>& seen,
                               std::shared_ptr<checkpointer> checkpointer) {
  return builder{s, seen, std::move(checkpointer)}.build(0);
}

json::value answer_to(const json::value& question) {
  return json::value(json::string("re " + std::string{std::string_view{question.as_string()}}));
}

} // namespace superstep::simulation
