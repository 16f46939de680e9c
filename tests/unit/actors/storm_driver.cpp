// SPDX-License-Identifier: Apache-2.0
// storm_driver SECONDS SEED
//
// Stress test that mixes every feature at random: runs of graphs with Sends, forks, subgraphs,
// timeouts, heartbeats, retries, failures and interrupts, with and without threads; cancels,
// drains, exits and deadlines at any moment; stream readers that are slow or stop early; callbacks
// that submit and that throw; engines that are destroyed meanwhile. Each run must end once and its
// callback be called once. No lease may outlive its run, and no record of a run or call may remain.
// Prints the seed of a round that fails.
#include "actors/engine_access.hpp"
#include "storm_bodies.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

using namespace testing;
using namespace std::chrono_literals;

namespace {

namespace json = ss::json;

constexpr auto runs_of_a_round = 250;
constexpr auto threads_of_a_round = 6;
constexpr auto round_max = std::chrono::seconds{240}; // a lost run makes its round exceed this

std::uint32_t round_seed = 0;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "storm: seed %u: %s\n", round_seed, what.c_str());
  std::fflush(stderr);
  std::abort();
}

void expect(bool holds, const std::string& what) {
  if (!holds)
    fail(what);
}

/// Aborts the process when a round does not end in time.
class watchdog {
public:
  watchdog()
      : thread_{[this] {
          auto lock = std::unique_lock{mutex_};
          if (!changed_.wait_for(lock, round_max, [this] { return is_over_; }))
            fail("the round does not end");
        }} {}
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;
  ~watchdog() {
    {
      const auto lock = std::scoped_lock{mutex_};
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

/// A body of 0 to 2 ms: in place, spinning, sleeping, suspended, forking, sending heartbeats or
/// throwing.
ss::task<ss::update<numbers>> stormy(int kind, ss::runtime rt) {
  const auto length = length_of_body(kind);
  const auto way = kind % 12;
  if (way < ways_to_pass_time) {
    auto passing = pass_time(way, length);
    co_await passing;
  }
  switch (way) {
  case 5: // blocks for several watcher polls and sends heartbeats from its thread
    for (auto i = 0; i < 4; ++i) {
      rt.heartbeat();
      std::this_thread::sleep_for(length);
    }
    break;
  case 6:
    if (rt.attempt() < 2)
      throw std::runtime_error{"first attempt"};
    break;
  case 7:
    if (kind % 60 == 7)
      throw 7; // permanent: not a std::exception, and the retry predicate rejects it
    break;
  case 8:
    rt.emit(kind);
    break;
  case 9:
    if (kind % 48 == 9) { // longer than its timeout
      auto nap = ss::sleep_for{1h};
      co_await nap;
    }
    break;
  default:
    break;
  }
  co_return ss::update{ss::set<&numbers::total>(1)};
}

ss::node_options stormy_options() {
  auto options = ss::node_options{};
  options.timeout = ss::timeout_policy{.run = 40ms, .idle = 20ms};
  auto policy = ss::retry_policy{};
  policy.initial_interval = 1ms;
  policy.jitter = false;
  policy.retry_on = [](const std::exception_ptr& cause) {
    try {
      std::rethrow_exception(cause);
    } catch (const ss::graph_error&) {
      return false;
    } catch (const std::exception&) {
      return true;
    } catch (...) {
      return false;
    }
  };
  options.retry = {policy};
  return options;
}

/// The graphs of a storm: a fan-out, one nested in another, three levels deep, one that runs a
/// graph in a body, one that interrupts, and those that keep threads.
struct graphs {
  ss::compiled_graph<numbers> fan = make_fan(
      [](const int& i, ss::runtime rt) { return stormy(i, std::move(rt)); }, stormy_options());
  ss::compiled_graph<numbers> below = wrap(fan);
  ss::compiled_graph<numbers> deep = wrap(wrap(below));
  ss::compiled_graph<numbers> in_body = make_in_body();
  ss::compiled_graph<numbers> kept;
  ss::compiled_graph<numbers> kept_below;

  explicit graphs(const std::shared_ptr<ss::checkpointer>& checkpointer)
      : kept{asking(keeping(checkpointer))}, kept_below{wrap(fan, keeping(checkpointer))} {}

private:
  static ss::compile_options keeping(const std::shared_ptr<ss::checkpointer>& checkpointer) {
    auto options = ss::compile_options{};
    options.checkpointer = checkpointer;
    options.step_timeout = 500ms;
    return options;
  }

  static ss::compiled_graph<numbers> wrap(const ss::compiled_graph<numbers>& inner,
                                          const ss::compile_options& options = {}) {
    auto g = ss::graph<numbers>{};
    g.add(
        b, inner, [](const numbers& s) { return s; },
        [](const numbers& s) { return ss::update{ss::set<&numbers::total>(s.total)}; });
    g.add(c, [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n)}; });
    g.edge(ss::start, b).edge(ss::start, c);
    return g.compile(options);
  }

  static ss::compiled_graph<numbers> make_in_body() {
    auto child = ss::json_graph{};
    child.channel("n", "add");
    child.add("x", [](const json::value&) -> ss::task<json::value> {
      auto nap = ss::sleep_for{100us};
      co_await nap;
      co_return json::object{{"n", 1}};
    });
    child.edge("__start__", "x");
    const auto inner = child.compile();
    auto g = ss::graph<numbers>{};
    g.add(a, [inner](const numbers&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
      for (auto i = 0; i < sends_of_a_run; ++i) {
        auto in = json::object{{"n", 0}};
        auto running = rt.invoke(inner, std::move(in));
        const auto out = co_await running;
        static_cast<void>(out);
      }
      co_return ss::update{ss::set<&numbers::total>(sends_of_a_run)};
    });
    g.edge(ss::start, a);
    return g.compile();
  }

  static ss::compiled_graph<numbers> asking(const ss::compile_options& options) {
    auto g = ss::graph<numbers>{};
    g.add(a, [](const numbers& s, ss::runtime rt) -> ss::task<ss::update<numbers>> {
      const auto n = s.n;
      auto nap = ss::sleep_for{std::chrono::microseconds{n % 500}};
      co_await nap;
      if (n % 5 == 0) {
        auto question = json::value{n};
        auto asked = rt.interrupt(std::move(question));
        const auto answer = co_await asked;
        static_cast<void>(answer);
      }
      co_return ss::update{ss::set<&numbers::total>(sends_of_a_run - s.total)};
    });
    g.edge(ss::start, a);
    return g.compile(options);
  }
};

/// Records of a round's runs, by number.
struct ledger {
  explicit ledger(std::size_t n) : calls(n) {}
  std::vector<std::atomic<int>> calls; ///< of each run's callback
  std::atomic<int> ended{0};
  std::atomic<int> whole{0};
  std::atomic<int> submitted{0};
};

class thrower final : public ss::detail::event_sink {
public:
  void push(ss::detail::run_event) override {
    if (++seen_ > 5)
      throw std::runtime_error{"a sink that throws"};
  }

private:
  std::atomic<int> seen_{0};
};

class storm {
public:
  explicit storm(std::uint32_t seed)
      : random_{seed}, book_{static_cast<std::size_t>(runs_of_a_round)} {
    auto options = ss::engine_options{};
    options.workers = 1 + pick(4);
    options.pool_actors = pick(4) != 0;
    options.threads_max = 8 + pick(56);
    options.steps_per_turn = pick(2) == 0 ? 1 : 1'024;
    options.watcher_tick = std::chrono::microseconds{200 + pick(800)};
    options.shutdown_grace = 60s;
    engine_ = std::make_unique<ss::engine>(options);
    at_ = engine_.get();
  }

  void rage() {
    auto readers = std::vector<std::thread>{};
    for (auto i = 0; i < runs_of_a_round;) {
      if (pick(6) == 0)
        readers.emplace_back([this, seed = static_cast<std::uint32_t>(random_())] { read(seed); });
      submit(i++);
      for (auto actions = pick(3); actions > 0; --actions)
        disturb();
      if (pick(16) == 0)
        std::this_thread::sleep_for(std::chrono::microseconds{pick(3'000)});
    }
    if (pick(2) == 0) { // otherwise it is destroyed with runs in progress
      for (auto& r : readers)
        r.join();
      readers.clear();
      while (book_.ended < book_.submitted)
        std::this_thread::sleep_for(100us);
      // the cancellation of a run whose reader has gone may still be on its way
      for (auto tries = 0; engine_->debug().live_runs() > 0 && tries < 20'000; ++tries)
        std::this_thread::sleep_for(100us);
      expect(engine_->debug().live_runs() == 0, "runs are counted that have ended");
      expect(book_.whole > 0, "no run came through");
    } else {
      for (auto& r : readers)
        r.join();
    }
    engine_.reset();
    expect(book_.ended == book_.submitted, "a run submitted from a callback was not answered");
    for (auto i = 0; i < runs_of_a_round; ++i)
      if (const auto n = book_.calls[static_cast<std::size_t>(i)].load(); n != 1)
        fail("run " + std::to_string(i) + " was answered " + std::to_string(n) + " times");
    check_leases();
  }

private:
  std::uint32_t pick(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }

  const ss::compiled_graph<numbers>& choose(bool& is_kept) {
    const auto which = pick(8);
    is_kept = which >= 6;
    switch (which) {
    case 0:
    case 1:
      return graphs_.fan;
    case 2:
    case 3:
      return graphs_.below;
    case 4:
      return graphs_.deep;
    case 5:
      return graphs_.in_body;
    case 6:
      return graphs_.kept;
    default:
      return graphs_.kept_below;
    }
  }

  void submit(int i) {
    auto is_kept = false;
    const auto& graph = choose(is_kept);
    auto config = ss::run_config{};
    if (is_kept) {
      config.thread_id = "t" + std::to_string(pick(threads_of_a_round));
      auto& how = config.thread.emplace();
      how.on_busy = static_cast<ss::busy_policy>(pick(3));
      how.durability = static_cast<ss::durability>(pick(3));
    }
    if (pick(10) == 0)
      config.deadline = std::chrono::milliseconds{1 + pick(20)};
    if (pick(6) == 0)
      config.max_concurrency = 1 + pick(3);
    const auto resubmits = pick(8) == 0;
    const auto throws = pick(12) == 0;
    ++book_.submitted;
    auto done = [this, i, resubmits, throws, is_kept](const ss::detail::raw_result& raw) {
      ++book_.calls[static_cast<std::size_t>(i)];
      if (!raw.error && !raw.interrupts) {
        const auto& left = static_cast<const ss::struct_block<numbers>&>(*raw.state).state;
        if (!is_kept && left.total != sends_of_a_run) // a saved thread adds up all of its runs
          fail("a run that ended well has the sum " + std::to_string(left.total));
        ++book_.whole;
      }
      if (resubmits) {
        ++book_.submitted;
        engine_at()->submit(graphs_.fan, numbers{.n = i, .total = 0, .seen = {}}, {},
                            [this](const ss::run_result<numbers>&) { ++book_.ended; });
      }
      ++book_.ended; // last access here to memory that may be destroyed
      if (throws)
        throw std::runtime_error{"storm"};
    };
    auto input = ss::update{ss::set<&numbers::n>(i)};
    auto sink = pick(20) == 0 ? std::make_shared<thrower>() : nullptr;
    const auto modes = sink ? ss::stream_mode::updates | ss::stream_mode::tasks |
                                  ss::stream_mode::custom | ss::stream_mode::subgraphs
                            : ss::stream_mode::none;
    handles_.push_back(ss::detail::engine_access::start(
        *engine_, ss::detail::program_of(graph), ss::detail::input_for(graph, std::move(input)),
        std::move(config), std::move(done), modes, std::move(sink)));
  }

  /// Callbacks also run while the engine is destroyed, so they use this stable address.
  [[nodiscard]] ss::engine* engine_at() noexcept { return at_; }

  void disturb() {
    const auto& victim = handles_[pick(static_cast<std::uint32_t>(handles_.size()))];
    switch (pick(12)) {
    case 0:
      victim.cancel();
      break;
    case 1:
      victim.drain();
      break;
    case 2: {
      const auto actors = engine_->debug().actors(victim);
      if (!actors.empty())
        actors[pick(static_cast<std::uint32_t>(actors.size()))].actor.exit();
      break;
    }
    case 3: {
      const auto actors = engine_->debug().actors(victim);
      if (!actors.empty())
        actors.front().actor.monitor([this] { ++downs_; });
      break;
    }
    default:
      break;
    }
  }

  /// Reads a run's stream to the end, slowly, or stops early.
  void read(std::uint32_t seed) {
    auto random = std::mt19937{seed};
    const auto n = static_cast<int>(random() % runs_of_a_round);
    const auto& graph = random() % 2 == 0 ? graphs_.fan : graphs_.deep;
    auto stream = engine_->stream(graph, numbers{.n = n, .total = 0, .seen = {}},
                                  ss::stream_mode::values | ss::stream_mode::updates |
                                      ss::stream_mode::tasks | ss::stream_mode::custom |
                                      ss::stream_mode::subgraphs,
                                  {}, 1 + random() % 4);
    const auto events_max = random() % 3 == 0 ? random() % 8 : 1'000U;
    try {
      for (auto i = 0U; i < events_max && stream.next(); ++i)
        if (random() % 4 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds{random() % 500});
    } catch (const ss::graph_error&) { // many runs fail on purpose
    }
  }

  /// Checks that another engine can lease every thread at once.
  void check_leases() {
    auto e = ss::engine{{.workers = 1}};
    for (auto i = 0; i < threads_of_a_round; ++i) {
      auto config = ss::run_config{};
      config.thread_id = "t" + std::to_string(i);
      config.thread.emplace().on_busy = ss::busy_policy::refuse;
      const auto ended = e.try_invoke(graphs_.kept, ss::update{ss::set<&numbers::n>(1)}, config);
      if (ended.error && ended.error->code == ss::make_error_code(ss::checkpoint_errc::in_use))
        fail("thread t" + std::to_string(i) + " is still in use");
    }
  }

  std::mt19937 random_;
  std::shared_ptr<ss::checkpointer> checkpointer_ = ss::memory_checkpointer();
  graphs graphs_{checkpointer_};
  ledger book_;
  std::atomic<int> downs_{0};
  std::vector<ss::run_handle> handles_;
  std::unique_ptr<ss::engine> engine_;
  ss::engine* at_ = nullptr;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "storm_driver SECONDS SEED\n");
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{std::atoi(argv[1])};
  const auto first = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10));
  auto rounds = 0U;
  do {
    round_seed = first + rounds;
    const auto limit = watchdog{};
    auto s = storm{round_seed};
    s.rage();
    ++rounds;
  } while (std::chrono::steady_clock::now() < end);
  std::printf("storm: %u rounds of %d runs, seeds %u to %u: nothing lost\n", rounds,
              runs_of_a_round, first, first + rounds - 1);
  return 0;
}
