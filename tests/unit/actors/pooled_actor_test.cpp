// SPDX-License-Identifier: Apache-2.0
// The actors of a lane: how they are given back while a CAF worker runs them, and how a busy actor
// gets its activation.
#include "actors/idle_actors.hpp"
#include "graphs.hpp"
#include "slow_client.hpp"

#include <superstep/actors/caf.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <future>
#include <mutex>
#include <string>
#include <thread>

using namespace testing;
using ss::idle_actors;
using ss::pooled_actor_of;

BOOST_AUTO_TEST_SUITE(pooled_actors)

/// While a CAF worker runs an actor, only this worker may close its mailbox.
BOOST_AUTO_TEST_CASE(actor_that_worker_runs_ends_after_its_message) {
  auto client = slow_client{};
  auto pool = idle_actors{client.system(), 8};
  auto taken = pool.take({});
  const auto watched = taken;
  auto ended = std::promise<void>{};
  watched->get()->attach_functor([&] { ended.set_value(); });
  client.send_request(watched);
  client.await_first_response();
  pool.give_back(std::move(taken));
  BOOST_TEST(!pooled_actor_of(watched).is_dead());
  client.go_on();
  ended.get_future().wait();
  BOOST_TEST(pooled_actor_of(watched).is_dead());
  BOOST_TEST(pool.idle() == 0U);
  client.send_request(watched);
  client.await_second_response();
}

BOOST_AUTO_TEST_CASE(actor_that_others_hold_ends_when_it_is_given_back) {
  auto client = slow_client{};
  auto pool = idle_actors{client.system(), 8};
  auto taken = pool.take({});
  const auto held = taken;
  pool.give_back(std::move(taken));
  BOOST_TEST(pooled_actor_of(held).is_dead());
  BOOST_TEST(pool.idle() == 0U);
  pool.give_back(pool.take({}));
  BOOST_TEST(pool.idle() == 1U);
}

BOOST_AUTO_TEST_CASE(request_to_actor_without_run_gets_receiver_down) {
  auto client = slow_client{};
  auto pool = idle_actors{client.system(), 8};
  const auto taken = pool.take({});
  auto& actor = pooled_actor_of(taken);
  BOOST_REQUIRE(actor.try_acquire());
  client.go_on();
  client.send_request(taken);
  actor.release(); // handles the request on this thread
  client.await_first_response();
  BOOST_TEST((client.first_error() == caf::sec::request_receiver_down));
}

namespace {

/// A run of node `a`, which gives its actor to the test, then `b`, which waits, then `a` again. The
/// actor of `a` is busy when `b` ends.
class run_with_busy_actor {
public:
  run_with_busy_actor() {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers& s, const ss::runtime& rt) {
      if (++runs_of_a_ == 1)
        actor_.set_value(caf::actor_cast<caf::strong_actor_ptr>(ss::self(rt)));
      return ss::update{ss::set<&numbers::n>(s.n + 1)};
    });
    g.add(b, [this](const numbers&) -> ss::task<ss::update<numbers>> {
      auto waiting = held_.pass();
      co_await waiting;
      co_return ss::update{ss::set<&numbers::total>(1)};
    });
    g.edge(ss::start, a).edge(a, b);
    g.branch(
        b, [](const numbers& s) { return s.n < 2 ? ss::destination{a} : ss::destination{ss::end}; },
        {a, ss::end});
    graph_ = g.compile();
    run_ = engine_.submit(*graph_, numbers{}, {},
                          [this](ss::run_result<numbers> r) { result_.set_value(std::move(r)); });
    busy_ = actor_.get_future().get();
    held_.await_arrivals(1);
    client_.send_request(busy_);
    client_.await_first_response();
  }
  run_with_busy_actor(const run_with_busy_actor&) = delete;
  run_with_busy_actor& operator=(const run_with_busy_actor&) = delete;

  /// Lets `b` end, and waits until the activation of `a` is in the mailbox of its actor.
  void mail_activation() {
    held_.open();
    for (;;) {
      for (const auto& each : engine_.debug().actors(run_))
        if (each.node == "a" && each.state == ss::call_state::queued)
          return;
      std::this_thread::yield();
    }
  }
  [[nodiscard]] int runs_of_a() const { return runs_of_a_.load(); }
  [[nodiscard]] slow_client& client() { return client_; }
  [[nodiscard]] const caf::strong_actor_ptr& actor() const { return busy_; }
  [[nodiscard]] ss::engine& engine() { return engine_; }
  [[nodiscard]] const ss::run_handle& run() const { return run_; }
  [[nodiscard]] ss::run_result<numbers> result() { return result_.get_future().get(); }

private:
  slow_client client_;
  gate held_;
  std::atomic<int> runs_of_a_{0};
  std::promise<caf::strong_actor_ptr> actor_;
  std::promise<ss::run_result<numbers>> result_;
  std::optional<ss::compiled_graph<numbers>> graph_;
  caf::strong_actor_ptr busy_;
  ss::engine engine_{{.workers = 1}};
  ss::run_handle run_;
};

} // namespace

BOOST_AUTO_TEST_CASE(busy_actor_gets_its_activation_by_message) {
  auto busy = run_with_busy_actor{};
  busy.mail_activation();
  auto g = ss::graph<numbers>{}; // the lane has other work meanwhile
  g.add(c, add_one).edge(ss::start, c);
  BOOST_TEST(busy.engine().invoke(g.compile(), numbers{}).state.n == 1);
  BOOST_TEST(busy.runs_of_a() == 1);
  busy.client().go_on();
  const auto ended = busy.result();
  BOOST_TEST(!ended.error);
  BOOST_TEST(ended.state.n == 2);
  BOOST_TEST(ended.state.total == 2);
}

BOOST_AUTO_TEST_CASE(messages_behind_activation_are_handled_after_body) {
  auto busy = run_with_busy_actor{};
  busy.mail_activation();
  busy.client().send_request(busy.actor());
  busy.client().go_on();
  busy.client().await_second_response();
  BOOST_TEST(busy.runs_of_a() == 2);
  BOOST_TEST(busy.result().state.n == 2);
}

BOOST_AUTO_TEST_CASE(run_is_cancelled_while_activation_waits) {
  auto busy = run_with_busy_actor{};
  busy.mail_activation();
  auto down = std::promise<void>{};
  busy.actor()->get()->attach_functor([&] { down.set_value(); });
  busy.run().cancel();
  const auto ended = busy.result();
  BOOST_REQUIRE(ended.error);
  BOOST_TEST((ended.error->code == ss::graph_errc::cancelled));
  BOOST_TEST(!pooled_actor_of(busy.actor()).is_dead());
  busy.client().go_on();
  down.get_future().wait();
  BOOST_TEST(busy.runs_of_a() == 1);
}

BOOST_AUTO_TEST_CASE(exit_ahead_of_activation_ends_run) {
  auto busy = run_with_busy_actor{};
  caf::anon_send_exit(caf::actor_cast<caf::actor>(busy.actor()), caf::exit_reason::kill);
  busy.mail_activation();
  busy.client().go_on();
  const auto ended = busy.result();
  BOOST_REQUIRE(ended.error);
  BOOST_TEST((ended.error->code == ss::graph_errc::actor_exited));
  BOOST_TEST(busy.runs_of_a() == 1);
}

BOOST_AUTO_TEST_CASE(engine_is_destroyed_while_activation_waits) {
  auto busy = std::make_unique<run_with_busy_actor>();
  busy->mail_activation();
  busy->client().go_on();
}

BOOST_AUTO_TEST_CASE(full_pool_does_not_end_a_call_that_waits) {
  auto e = ss::engine{{.workers = 1, .pooled_actors_max = 1}};
  auto first = gate{};
  auto second = gate{};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers&) -> ss::task<ss::update<numbers>> {
    auto waiting = first.pass();
    co_await waiting; // the actor returns to the pool, which is full now
    auto again = second.pass();
    co_await again;
    co_return ss::update{ss::set<&numbers::n>(1)};
  });
  g.edge(ss::start, a);
  const auto graph = g.compile();
  auto run = background_run{e, graph, numbers{}};
  first.await_arrivals(1);
  static_cast<void>(e.debug().actors(run.handle)); // creates another actor for the call
  first.open();
  second.await_arrivals(1); // there is no room in the pool for the other actor, which ends
  static_cast<void>(e.debug().actors(run.handle)); // the lane has handled the end
  second.open();
  const auto ended = run.result();
  BOOST_TEST(!ended.error.has_value());
  BOOST_TEST(ended.state.n == 1);
}

BOOST_AUTO_TEST_CASE(suspended_body_of_busy_actor_continues_after_the_message) {
  auto client = slow_client{};
  auto held = gate{};
  auto actor = std::promise<caf::strong_actor_ptr>{};
  auto is_resumed = std::atomic<bool>{false};
  auto g = ss::graph<numbers>{};
  g.add(a, [&](const numbers& s, ss::runtime rt) -> ss::task<ss::update<numbers>> {
    const auto n = s.n;
    actor.set_value(caf::actor_cast<caf::strong_actor_ptr>(ss::self(rt)));
    auto waiting = held.pass();
    const auto got = co_await waiting;
    is_resumed = true;
    co_return ss::update{ss::set<&numbers::n>(n + got)};
  });
  g.edge(ss::start, a);
  const auto graph = g.compile();
  auto once = ss::graph<numbers>{};
  once.add(c, add_one).edge(ss::start, c);
  const auto other = once.compile();
  auto e = ss::engine{{.workers = 1}};
  auto run = background_run{e, graph, numbers{}};
  const auto busy = actor.get_future().get();
  held.await_arrivals(1);
  // The lane releases the actor after the body has begun to wait. Before that, the lane itself
  // would handle the request.
  await_actor(e, run.handle,
              [](const ss::actor_info& i) { return i.state == ss::call_state::suspended; });
  client.send_request(busy);
  client.await_first_response();
  held.open(5);
  for (auto i = 0; i < 3; ++i) // the lane has handled the end of the wait then
    e.invoke(other, numbers{});
  BOOST_TEST(!is_resumed.load());
  client.go_on();
  BOOST_TEST(run.result().state.n == 5);
}

namespace {

/// A run whose body waits twice and asks for its actor between the waits, when it has none.
class run_that_asks_late {
public:
  run_that_asks_late() {
    auto g = ss::graph<numbers>{};
    g.add(a, [this](const numbers&, ss::runtime rt) -> ss::task<ss::update<numbers>> {
      auto first = first_.pass();
      co_await first;
      own_.set_value(caf::actor_cast<caf::strong_actor_ptr>(ss::self(rt)));
      is_same_ = ss::self(rt) == ss::self(rt);
      auto second = second_.pass();
      const auto got = co_await second;
      is_resumed_ = true;
      co_return ss::update{ss::set<&numbers::n>(got)};
    });
    g.edge(ss::start, a);
    graph_ = g.compile();
    run_ = engine_.submit(*graph_, numbers{}, {},
                          [this](ss::run_result<numbers> r) { result_.set_value(std::move(r)); });
    first_.await_arrivals(1);
    first_.open();
    actor_ = own_.get_future().get();
    second_.await_arrivals(1);
    await_lane();
  }
  run_that_asks_late(const run_that_asks_late&) = delete;
  run_that_asks_late& operator=(const run_that_asks_late&) = delete;

  /// Lets the second wait end while the actor handles a message, and waits until the lane has
  /// sent the activation.
  void mail_activation() {
    client_.send_request(actor_);
    client_.await_first_response();
    second_.open(5);
    await_lane();
  }
  void end_wait() { second_.open(5); }
  [[nodiscard]] bool is_same() const { return is_same_; }
  [[nodiscard]] bool is_resumed() const { return is_resumed_; }
  [[nodiscard]] slow_client& client() { return client_; }
  [[nodiscard]] const caf::strong_actor_ptr& actor() const { return actor_; }
  [[nodiscard]] ss::engine& engine() { return engine_; }
  [[nodiscard]] const ss::run_handle& run() const { return run_; }
  [[nodiscard]] ss::run_result<numbers> result() { return result_.get_future().get(); }

private:
  /// Waits until the lane has handled what has happened so far. Does not use engine_debug, which
  /// would ask for the actors.
  void await_lane() {
    auto once = ss::graph<numbers>{};
    once.add(c, add_one).edge(ss::start, c);
    const auto other = once.compile();
    for (auto i = 0; i < 3; ++i)
      engine_.invoke(other, numbers{});
  }

  slow_client client_;
  gate first_;
  gate second_;
  std::atomic<bool> is_same_{false};
  std::atomic<bool> is_resumed_{false};
  std::promise<caf::strong_actor_ptr> own_;
  std::promise<ss::run_result<numbers>> result_;
  std::optional<ss::compiled_graph<numbers>> graph_;
  caf::strong_actor_ptr actor_;
  ss::engine engine_{{.workers = 1}};
  ss::run_handle run_;
};

} // namespace

BOOST_AUTO_TEST_CASE(actor_asked_for_after_wait_ends_with_run) {
  auto late = run_that_asks_late{};
  BOOST_TEST(late.is_same());
  const auto seen =
      await_actor(late.engine(), late.run(), [](const ss::actor_info& i) { return i.node == "a"; });
  BOOST_TEST((seen.actor.id() == late.actor()->id()));
  auto down = std::promise<void>{};
  late.actor()->get()->attach_functor([&] { down.set_value(); });
  late.end_wait();
  BOOST_TEST(late.result().state.n == 5);
  down.get_future().wait();
}

BOOST_AUTO_TEST_CASE(busy_actor_asked_for_after_wait_gets_activation) {
  auto late = run_that_asks_late{};
  late.mail_activation();
  BOOST_TEST(!late.is_resumed());
  late.client().go_on();
  BOOST_TEST(late.result().state.n == 5);
  BOOST_TEST(pooled_actor_of(late.actor()).is_dead());
}

BOOST_AUTO_TEST_CASE(actor_asked_for_after_wait_ends_although_activation_waits) {
  auto late = run_that_asks_late{};
  late.mail_activation();
  auto down = std::promise<void>{};
  late.actor()->get()->attach_functor([&] { down.set_value(); });
  late.run().cancel();
  const auto ended = late.result();
  BOOST_REQUIRE(ended.error);
  BOOST_TEST((ended.error->code == ss::graph_errc::cancelled));
  late.client().go_on();
  down.get_future().wait();
  BOOST_TEST(!late.is_resumed());
}

BOOST_AUTO_TEST_CASE(exit_of_actor_asked_for_after_wait_fails_run) {
  auto late = run_that_asks_late{};
  caf::anon_send_exit(caf::actor_cast<caf::actor>(late.actor()), caf::exit_reason::kill);
  const auto ended = late.result();
  BOOST_REQUIRE(ended.error);
  BOOST_TEST((ended.error->code == ss::graph_errc::actor_exited));
  BOOST_TEST(!late.is_resumed());
}

/// The runs of a lane share the actors that their waiting bodies have given back.
BOOST_AUTO_TEST_CASE(waiting_bodies_share_one_actor) {
  constexpr auto runs = 20;
  auto held = gate{};
  auto g = ss::graph<numbers>{};
  auto ids = std::mutex{};
  auto seen = std::vector<caf::actor_id>{};
  g.add(b, [&](const numbers&, const ss::runtime& rt) {
    const auto lock = std::scoped_lock{ids};
    seen.push_back(ss::self(rt).id());
    return ss::update{ss::set<&numbers::n>(1)};
  });
  g.add(a, [&](const numbers&) -> ss::task<ss::update<numbers>> {
    auto waiting = held.pass();
    co_await waiting;
    co_return ss::update{ss::set<&numbers::total>(1)};
  });
  g.edge(ss::start, b).edge(b, a);
  const auto graph = g.compile();
  auto e = ss::engine{{.workers = 1}};
  auto all = std::vector<std::unique_ptr<background_run<numbers>>>{};
  for (auto i = 0; i < runs; ++i) {
    all.push_back(std::make_unique<background_run<numbers>>(e, graph, numbers{}));
    held.await_arrivals(i + 1);
  }
  held.open();
  for (auto& each : all)
    BOOST_TEST(each->result().state.total == 1);
  std::ranges::sort(seen);
  const auto repeated = std::ranges::unique(seen);
  BOOST_TEST(static_cast<int>(seen.size() - repeated.size()) < runs / 2);
}

BOOST_AUTO_TEST_SUITE_END()
