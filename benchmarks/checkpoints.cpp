// SPDX-License-Identifier: Apache-2.0
// W8: what it costs to keep threads, in time and in bytes.
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/memory_saver.hpp>
#include <superstep/checkpoint/sqlite_saver.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/runtime/graph.hpp>

#include <boost/describe/class.hpp>

#include <deque>
#include <filesystem>
#include <future>
#include <string>

#include <unistd.h>

namespace superstep::bench {

struct kept_count {
  std::int64_t n = 0;
};
BOOST_DESCRIBE_STRUCT(kept_count, (), (n))

namespace {

/// A saver as the parameters ask for it, on a file of its own that goes with it.
class kept_place {
public:
  kept_place(parameters& p, bool may_be_none)
      : kind_{p.choice("saver", may_be_none ? std::vector<std::string>{"sqlite", "mem", "none"}
                                            : std::vector<std::string>{"sqlite", "mem"})},
        folder_{p.text("dir", ".")}, keep_{p.flag("keep", false)} {
    const auto when = p.choice("dur", {"async", "sync", "exit"});
    when_ =
        when == "sync" ? durability::sync : (when == "exit" ? durability::exit : durability::async);
  }
  kept_place(const kept_place&) = delete;
  kept_place& operator=(const kept_place&) = delete;
  ~kept_place() {
    if (!keep_)
      clear();
  }

  /// A saver that has seen nothing.
  std::shared_ptr<saver> open() {
    if (kind_ == "none")
      return nullptr;
    if (kind_ == "mem")
      return std::make_shared<memory_saver>();
    clear();
    return std::make_shared<sqlite_saver>(path().string());
  }
  /// What the closed database takes.
  [[nodiscard]] std::uintmax_t bytes() const {
    auto sum = std::uintmax_t{0};
    for (const auto* suffix : {"", "-wal"}) {
      auto ignored = std::error_code{};
      const auto size = std::filesystem::file_size(path().string() + suffix, ignored);
      sum += ignored ? 0 : size;
    }
    return sum;
  }
  [[nodiscard]] durability when() const noexcept { return when_; }
  [[nodiscard]] bool is_file() const noexcept { return kind_ == "sqlite"; }

private:
  [[nodiscard]] std::filesystem::path path() const {
    return std::filesystem::path{folder_} / ("w8-" + std::to_string(::getpid()) + ".db");
  }
  void clear() const {
    for (const auto* suffix : {"", "-wal", "-shm"}) {
      auto ignored = std::error_code{};
      std::filesystem::remove(path().string() + suffix, ignored);
    }
  }

  std::string kind_;
  std::string folder_;
  bool keep_;
  durability when_;
};

run_config config_for(std::string thread, const std::shared_ptr<saver>& keeper, durability when) {
  auto out = run_config{};
  out.recursion_limit = 10'000'000;
  if (!keeper)
    return out;
  out.thread_id = std::move(thread);
  out.thread.emplace();
  out.thread->when = when;
  out.thread->checkpointer = keeper;
  return out;
}

constexpr auto first = node<kept_count>{"a"};
constexpr auto second = node<kept_count>{"b"};

compiled_graph<kept_count> make_loop(std::int64_t steps) {
  const auto count = [](const kept_count& s) { return update{set<&kept_count::n>(s.n + 1)}; };
  const auto next = [steps](superstep::node<kept_count> to) {
    return [steps, to](const kept_count& s) {
      return s.n < steps ? destination{to} : destination{end};
    };
  };
  auto g = graph<kept_count>{};
  g.add(first, count).add(second, count).edge(start, first);
  g.branch(first, next(second), {second, end}).branch(second, next(first), {first, end});
  return g.compile({.name = "loop"});
}

/// The same thread run `runs` times at once, each under a name of its own.
void run_loops(engine& e, const compiled_graph<kept_count>& graph, std::size_t runs,
               const std::shared_ptr<saver>& keeper, durability when, std::int64_t steps) {
  auto over = std::promise<void>{};
  auto left = std::atomic{runs};
  auto wrong = std::atomic<std::size_t>{0};
  for (auto i = std::size_t{0}; i < runs; ++i)
    e.submit(graph, kept_count{}, config_for("t" + std::to_string(i), keeper, when),
             [&](run_result<kept_count> r) {
               if (r.error || r.state->n != steps)
                 ++wrong;
               if (--left == 0)
                 over.set_value();
             });
  over.get_future().get();
  expect(wrong == 0, std::to_string(wrong) + " runs did not end as they should");
}

} // namespace

report kept_loop(parameters& p) {
  const auto steps = p.integer("S", 1'000, {.min = 2});
  const auto runs = p.count("runs", 1, {.min = 1, .max = 100'000});
  auto place = kept_place{p, true};
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  const auto graph = make_loop(steps);
  const auto as = graph.table()->layout();
  auto out =
      report{.unit = "super-step", .units = static_cast<double>(steps) * static_cast<double>(runs)};
  auto checkpoints = std::size_t{0};
  out.time = measure(repetitions, [&] {
    const auto keeper = place.open();
    run_loops(e, graph, runs, keeper, place.when(), steps);
    return keeper;
  });
  const auto keeper = place.open(); // once more, to be looked at
  run_loops(e, graph, runs, keeper, place.when(), steps);
  if (keeper)
    checkpoints = keeper->list({"t0", ""}, {}, as).size();
  if (const auto* file = dynamic_cast<const sqlite_saver*>(keeper.get())) {
    const auto [transactions, rows] = file->written();
    out.extra["transactions"] = transactions;
    out.extra["rows"] = rows;
  }
  out.checks = {{"n", steps}, {"checkpoints", checkpoints}};
  return out;
}

report kept_chat(parameters& p) {
  const auto turns = p.integer("H", 100, {.min = 20, .max = 1'000'000});
  auto place = kept_place{p, false};
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  const auto graph = make_echo_agent({1, 1, false}, react_version::v2,
                                     make_echo(std::chrono::milliseconds{0}, false));
  auto keeper = place.open();
  const auto config = config_for("chat", keeper, place.when());
  auto out = report{.unit = "turn", .units = static_cast<double>(turns)};
  auto state = chat_state{};
  auto walls = std::vector<double>{};
  auto cpus = std::vector<double>{};
  out.time = measure(1, [&] {
    for (auto k = std::int64_t{1}; k <= turns; ++k) {
      auto text = "hi " + std::to_string(k) + ' ';
      text.resize(std::max<std::size_t>(text.size(), 200), 'x');
      const auto cpu = cpu_seconds();
      const auto wall = wall_seconds();
      auto in = update{set<&chat_state::messages>({human_message(std::move(text))})};
      auto r = e.run(graph, input_writes(std::move(in)), config);
      walls.push_back(wall_seconds() - wall);
      cpus.push_back(cpu_seconds() - cpu);
      if (r.error)
        throw std::runtime_error{r.error->text};
      state = std::move(*r.state);
    }
    return 0;
  });
  keeper.reset();
  const auto ten = [](const std::vector<double>& of, std::size_t from) {
    auto sum = 0.0;
    for (auto i = from; i < from + 10; ++i)
      sum += of[i];
    return sum / 10 * 1'000;
  };
  auto text = std::string{};
  append_json(text, state.messages);
  out.extra = {{"first_ms", ten(walls, 0)},
               {"last_ms", ten(walls, walls.size() - 10)},
               {"first_cpu_ms", ten(cpus, 0)},
               {"last_cpu_ms", ten(cpus, cpus.size() - 10)},
               {"json_bytes", text.size()}};
  if (place.is_file()) {
    out.extra["bytes"] = place.bytes();
    out.extra["bytes_per_turn"] = static_cast<double>(place.bytes()) / static_cast<double>(turns);
  }
  expect(state.messages.size() == static_cast<std::size_t>(4 * turns), "messages are missing");
  out.checks = {{"messages", state.messages.size()}};
  return out;
}

} // namespace superstep::bench
