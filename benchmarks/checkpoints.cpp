// SPDX-License-Identifier: Apache-2.0
// W8: the cost of checkpoints in time and file size.
#include "checkpoint/row_checkpointer.hpp"
#include "echo_agent.hpp"
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/postgres.hpp>
#include <superstep/checkpoint/sqlite.hpp>
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

/// A checkpointer that the parameters select: a temporary file, memory, a server, or none.
class kept_place {
public:
  kept_place(parameters& p, bool may_be_none)
      : kind_{p.choice("saver", may_be_none
                                    ? std::vector<std::string>{"sqlite", "mem", "postgres", "none"}
                                    : std::vector<std::string>{"sqlite", "mem", "postgres"})},
        folder_{p.text("dir", ".")}, url_{p.text("url", "")}, keep_{p.flag("keep", false)} {
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

  /// Returns a new checkpointer with empty caches.
  std::shared_ptr<superstep::checkpointer> open() {
    if (kind_ == "none")
      return nullptr;
    if (kind_ == "mem")
      return memory_checkpointer();
    if (kind_ == "postgres")
      return open_server();
    clear();
    return sqlite_checkpointer(path().string());
  }
  /// Returns another new checkpointer with empty caches. Its file is not that of open().
  std::shared_ptr<superstep::checkpointer> open_beside() {
    if (kind_ == "mem")
      return memory_checkpointer();
    if (kind_ == "postgres")
      return open_server();
    remove("-young");
    return sqlite_checkpointer(path().string() + "-young");
  }
  /// Returns the size of the database file and its write-ahead log.
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
  [[nodiscard]] bool is_kept() const noexcept { return keep_; }
  [[nodiscard]] std::string file() const { return path().string(); }

private:
  /// Returns a checkpointer on the server, whose threads are deleted.
  [[nodiscard]] std::shared_ptr<superstep::checkpointer> open_server() const {
    auto out = postgres_checkpointer(url_);
    auto all = prune_options{};
    all.whole_threads = true;
    (void)out->prune(all);
    return out;
  }

  [[nodiscard]] std::filesystem::path path() const {
    return std::filesystem::path{folder_} / ("w8-" + std::to_string(::getpid()) + ".db");
  }
  void clear() const {
    remove("");
    remove("-young");
  }
  void remove(const std::string& which) const {
    for (const auto* suffix : {"", "-wal", "-shm", "-lease"}) {
      auto ignored = std::error_code{};
      std::filesystem::remove(path().string() + which + suffix, ignored);
    }
  }

  std::string kind_;
  std::string folder_;
  std::string url_;
  bool keep_;
  durability when_;
};

run_config config_for(std::string thread,
                      const std::shared_ptr<superstep::checkpointer>& checkpointer,
                      durability when) {
  auto out = run_config{};
  out.recursion_limit = 10'000'000;
  if (!checkpointer)
    return out;
  out.thread_id = std::move(thread);
  out.thread.emplace();
  out.thread->durability = when;
  out.thread->checkpointer = checkpointer;
  return out;
}

constexpr auto first = node<kept_count>{"a"};
constexpr auto second = node<kept_count>{"b"};

compiled_graph<kept_count> make_kept_loop(std::int64_t steps) {
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

/// Runs the graph `runs` times concurrently. Each run has its own thread of checkpoints.
void run_loops(engine& e, const compiled_graph<kept_count>& graph, std::size_t runs,
               const std::shared_ptr<superstep::checkpointer>& checkpointer, durability when,
               std::int64_t steps) {
  auto over = std::promise<void>{};
  auto left = std::atomic{runs};
  auto wrong = std::atomic<std::size_t>{0};
  for (auto i = std::size_t{0}; i < runs; ++i)
    e.submit(graph, kept_count{}, config_for("t" + std::to_string(i), checkpointer, when),
             [&](run_result<kept_count> r) {
               if (r.error || r.state.n != steps)
                 ++wrong;
               if (--left == 0)
                 over.set_value();
             });
  over.get_future().get();
  expect(wrong == 0, std::to_string(wrong) + " runs failed or had a wrong result");
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
  const auto graph = make_kept_loop(steps);
  const auto as = detail::program_of(graph)->layout();
  auto out =
      report{.unit = "super-step", .units = static_cast<double>(steps) * static_cast<double>(runs)};
  auto checkpoints = std::size_t{0};
  out.time = measure(repetitions, [&] {
    const auto checkpointer = place.open();
    run_loops(e, graph, runs, checkpointer, place.when(), steps);
    return checkpointer;
  });
  const auto checkpointer = place.open(); // the measured files are gone; this run is inspected
  run_loops(e, graph, runs, checkpointer, place.when(), steps);
  if (checkpointer)
    checkpoints = checkpointer->list({"t0", ""}, {}, as).size();
  if (const auto* file = dynamic_cast<const row_checkpointer*>(checkpointer.get())) {
    const auto [transactions, rows] = file->written();
    out.extra["transactions"] = transactions;
    out.extra["rows"] = rows;
  }
  out.checks = {{"n", steps}, {"checkpoints", checkpoints}};
  return out;
}

namespace {

/// The cost of one turn of a conversation.
struct turn_cost {
  double wall = 0;
  double cpu = 0;
  double model = 0; // the part of `cpu` in which the model reads all messages
};

class conversation {
public:
  conversation(engine& e, const compiled_graph<chat_state>& graph, run_config config,
               const std::atomic<std::int64_t>& reading_ns)
      : engine_{e}, graph_{graph}, config_{std::move(config)}, reading_ns_{reading_ns} {}

  turn_cost say_next() {
    auto text = "hi " + std::to_string(++said_) + ' ';
    text.resize(std::max<std::size_t>(text.size(), 200), 'x');
    const auto read = reading_ns_.load();
    const auto cpu = cpu_seconds();
    const auto wall = wall_seconds();
    auto in = update{set<&chat_state::messages>({human_message(std::move(text))})};
    auto r = engine_.try_invoke(graph_, std::move(in), config_);
    const auto out = turn_cost{wall_seconds() - wall, cpu_seconds() - cpu,
                               static_cast<double>(reading_ns_.load() - read) * 1e-9};
    if (r.error)
      throw std::runtime_error{r.error->text};
    state_ = std::move(r.state);
    return out;
  }
  [[nodiscard]] const message_list& messages() const noexcept { return state_.messages; }

private:
  engine& engine_;
  const compiled_graph<chat_state>& graph_;
  run_config config_;
  const std::atomic<std::int64_t>& reading_ns_;
  std::int64_t said_ = 0;
  chat_state state_;
};

/// Returns the mean cost of ten turns, in milliseconds.
double ten(const std::vector<turn_cost>& of, std::size_t from, double turn_cost::*what) {
  auto sum = 0.0;
  for (auto i = from; i < from + 10; ++i)
    sum += of[i].*what;
  return sum / 10 * 1'000;
}

/// Returns the lowest mean of ten consecutive turns. Other load only adds time, so the lowest mean
/// is the most exact.
double least_ten(const std::vector<turn_cost>& of, double turn_cost::*what) {
  auto least = ten(of, 0, what);
  for (auto from = std::size_t{10}; from + 10 <= of.size(); from += 10)
    least = std::min(least, ten(of, from, what));
  return least;
}

} // namespace

report kept_chat(parameters& p) {
  const auto turns = p.integer("H", 100, {.min = 20, .max = 1'000'000});
  auto place = kept_place{p, false};
  const auto options = p.engine();
  p.done();
  auto e = std::make_unique<engine>(options);
  auto reading_ns = std::atomic<std::int64_t>{0};
  auto how = script{1, 1, false};
  how.reading_ns = &reading_ns;
  const auto graph =
      make_echo_agent(how, react_version::v2, make_echo(std::chrono::milliseconds{0}, false));
  const auto talk = [&](std::shared_ptr<superstep::checkpointer> checkpointer) {
    return conversation{*e, graph, config_for("chat", std::move(checkpointer), place.when()),
                        reading_ns};
  };
  auto out = report{.unit = "turn", .units = static_cast<double>(turns)};
  auto all = std::vector<turn_cost>{};
  // Turns of new threads, measured between the last turns of the long thread.
  auto young = std::vector<turn_cost>{};
  auto messages = message_list{};
  auto checkpointer = place.open();
  out.time = measure(1, [&] {
    auto old_one = talk(checkpointer);
    const auto beside = std::min<std::int64_t>(turns / 20, 5) * 10;
    while (std::ssize(all) < turns - beside)
      all.push_back(old_one.say_next());
    // Alternates with turns of new threads in another file, so that the load of the machine affects
    // both equally.
    while (std::ssize(all) < turns) {
      auto young_one = talk(place.open_beside());
      for (auto i = 0; i < 10; ++i) {
        young.push_back(young_one.say_next());
        all.push_back(old_one.say_next());
      }
    }
    messages = old_one.messages();
    return 0;
  });
  e.reset(); // closes the file, so that its final size is measured
  checkpointer.reset();
  auto text = std::string{};
  append_json(text, messages);
  const auto late = std::vector<turn_cost>(all.end() - std::ssize(young), all.end());
  out.extra = {{"first_ms", ten(all, 0, &turn_cost::wall)},
               {"last_ms", ten(all, all.size() - 10, &turn_cost::wall)},
               {"first_cpu_ms", ten(all, 0, &turn_cost::cpu)},
               {"last_cpu_ms", ten(all, all.size() - 10, &turn_cost::cpu)},
               {"young_cpu_ms", least_ten(young, &turn_cost::cpu)},
               {"old_cpu_ms", least_ten(late, &turn_cost::cpu)},
               {"young_model_ms", least_ten(young, &turn_cost::model)},
               {"old_model_ms", least_ten(late, &turn_cost::model)},
               {"json_bytes", text.size()}};
  if (place.is_file()) {
    out.extra["bytes"] = place.bytes();
    out.extra["bytes_per_turn"] = static_cast<double>(place.bytes()) / static_cast<double>(turns);
    if (place.is_kept())
      out.extra["file"] = place.file();
  }
  expect(messages.size() == static_cast<std::size_t>(4 * turns), "messages are missing");
  out.checks = {{"messages", messages.size()}};
  return out;
}

} // namespace superstep::bench
