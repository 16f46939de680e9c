// SPDX-License-Identifier: Apache-2.0
// The CAF actors of a run: handles for bodies, writes of other actors to channels, ends of actors.
#include "peers.hpp"

#include <superstep/actors/caf.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

namespace testing {

struct order {
  std::string item{};
  bool approved = false;
  std::vector<std::string> log{};
  struct append {
    void operator()(std::vector<std::string>& into, std::vector<std::string>&& more) const {
      into.insert(into.end(), more.begin(), more.end());
    }
  };
  using reducers = ss::reducers<ss::by<&order::log, append>>;
};
BOOST_DESCRIBE_STRUCT(order, (), (item, approved, log))

/// A list of numbers that counts its copies. A list that begins with a negative number throws when
/// it is copied more often than `copies_left`. Small enough for a value to hold it without sharing.
struct touchy {
  std::vector<int> numbers{};
  static inline std::atomic<int> copies{0};
  static inline std::atomic<int> copies_left{0};

  touchy() = default;
  explicit touchy(int number) : numbers{number} {}
  touchy(const touchy& from) : numbers{from.numbers} {
    ++copies;
    if (!numbers.empty() && numbers.front() < 0 && --copies_left < 0)
      throw std::runtime_error{"not copied"};
  }
  touchy(touchy&&) noexcept = default;
  touchy& operator=(const touchy& from) { return *this = touchy{from}; }
  touchy& operator=(touchy&&) noexcept = default;
  ~touchy() = default;
};

/// Appends in place. Nothing can undo it, because copies may throw.
struct append_numbers {
  void operator()(touchy& into, touchy&& more) const {
    into.numbers.insert(into.numbers.end(), more.numbers.begin(), more.numbers.end());
  }
};

struct tally {
  bool done = false;
  touchy list{};
  using reducers = ss::reducers<ss::by<&tally::list, append_numbers>>;
};
BOOST_DESCRIBE_STRUCT(tally, (), (done, list))

struct posts {
  std::vector<int> items{};
  std::vector<int> seen{};
  using reducers = ss::reducers<ss::by<&posts::items, ss::topic_rule>>;
};
BOOST_DESCRIBE_STRUCT(posts, (), (items, seen))

} // namespace testing

template <>
struct superstep::stored_form<testing::touchy> {
  static std::string type() { return "touchy"; }
  static void write(std::string& out, const testing::touchy&) { out += "0"; }
  static result<void> read(const json::value&, testing::touchy&) { throw 7; }
};

using namespace testing;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(run_actor)

namespace {

using texts = std::vector<std::string>;

/// The answer to a request: an error, or none.
struct reply {
  std::optional<caf::error> error;
};

/// Sends a message to an actor and waits for the answer.
template <class... Args>
reply ask(caf::actor_system& system, const caf::actor& target, Args... args) {
  auto self = caf::scoped_actor{system};
  auto out = reply{};
  self->request(target, 60s, std::move(args)...)
      .receive([] {}, [&](const caf::error& e) { out.error = e; });
  return out;
}

/// Receives a handle from the body of a node.
class handed_over {
public:
  void set(caf::actor handle) { promise_.set_value(std::move(handle)); }
  [[nodiscard]] caf::actor get() { return promise_.get_future().get(); }

private:
  std::promise<caf::actor> promise_;
};

/// A graph whose first node waits for a write to `approved`, and whose second node reads it.
ss::compiled_graph<order> approval(handed_over& run, std::atomic<bool>& seen,
                                   ss::compile_options options = {}) {
  auto g = ss::graph<order>{};
  g.add("wait", [&run](const order&, ss::runtime rt) -> ss::task<ss::update<order>> {
    run.set(ss::coordinator(rt));
    auto waiting = ss::next_write<bool>(rt, "approved");
    const auto approved = co_await waiting;
    auto out = ss::update{ss::set<&order::log>(texts{approved ? "yes" : "no"})};
    co_return out;
  });
  g.add("check", [&seen](const order& o) { seen = o.approved; });
  g.edge(ss::start, "wait").edge("wait", "check");
  return g.compile(std::move(options));
}

template <class State>
std::future<ss::run_result<State>> submit(ss::engine& e, const ss::compiled_graph<State>& graph,
                                          State input, ss::run_config config = {}) {
  auto ended = std::make_shared<std::promise<ss::run_result<State>>>();
  auto result = ended->get_future();
  e.submit(graph, std::move(input), std::move(config),
           [ended](ss::run_result<State> r) { ended->set_value(std::move(r)); });
  return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(write_wakes_waiting_body) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 2}};
  auto run = handed_over{};
  auto seen = std::atomic<bool>{false};
  auto ended = submit(e, approval(run, seen), order{.item = "book"});
  const auto answer = ask(system, run.get(), ss::write_of<&order::approved>(true));
  BOOST_TEST(!answer.error.has_value());
  const auto result = ended.get();
  BOOST_TEST(!result.error.has_value());
  BOOST_TEST(result.state.approved);
  BOOST_TEST((result.state.log == texts{"yes"}));
  BOOST_TEST(seen);
}

BOOST_AUTO_TEST_CASE(write_is_part_of_checkpoint_and_events) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto seen = std::atomic<bool>{false};
  auto options = ss::compile_options{};
  options.checkpointer = ss::memory_checkpointer();
  const auto graph = approval(run, seen, std::move(options));
  const auto thread = ss::run_config{.thread_id = "t"};
  auto events = e.stream(graph, order{.item = "book"}, ss::stream_mode::values, thread);
  auto answer = std::async(std::launch::async, [&] {
    return ask(system, run.get(), ss::write_atom::value, std::string{"approved"},
               std::string{"true"});
  });
  auto shown = std::vector<bool>{};
  for (const auto& event : events)
    shown.push_back(std::get<ss::values_event<order>>(event).state->approved);
  BOOST_TEST(!answer.get().error.has_value());
  BOOST_TEST((shown == std::vector<bool>{false, true}));
  const auto saved = e.get_state(graph, thread);
  BOOST_TEST(saved.values->approved);
  BOOST_TEST((saved.values->log == texts{"yes"}));
  BOOST_TEST(saved.values->item == "book");
}

BOOST_AUTO_TEST_CASE(writes_use_reducer_in_order_of_arrival) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto seen = std::atomic<bool>{false};
  auto ended = submit(e, approval(run, seen), order{});
  const auto target = run.get();
  caf::anon_send(target, ss::write_of<&order::log>(texts{"a"}));
  caf::anon_send(target, ss::write_of<&order::log>(texts{"b"}));
  caf::anon_send(target, ss::write_of<&order::approved>(false));
  BOOST_TEST((ended.get().state.log == texts{"no", "a", "b"}));
}

BOOST_AUTO_TEST_CASE(invalid_write_is_refused_and_run_continues) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto seen = std::atomic<bool>{false};
  auto ended = submit(e, approval(run, seen), order{});
  const auto target = run.get();
  const auto unknown = ask(system, target, ss::run_write{"colour", ss::value{1}});
  BOOST_TEST_REQUIRE(unknown.error.has_value());
  BOOST_TEST((*unknown.error == ss::graph_errc::invalid_update));
  BOOST_TEST(ss::text_of(*unknown.error).find("colour") != std::string::npos);
  const auto text =
      ask(system, target, ss::write_atom::value, std::string{"approved"}, std::string{"{"});
  BOOST_TEST(text.error.has_value());
  const auto repeated = ask(system, target, ss::write_atom::value, std::string{"approved"},
                            std::string{R"({"a":1,"a":2})"});
  BOOST_TEST_REQUIRE(repeated.error.has_value());
  BOOST_TEST(ss::text_of(*repeated.error).find("not valid JSON") != std::string::npos);
  auto wrong = std::async(std::launch::async, [&] {
    return ask(system, target, ss::run_write{"item", ss::value{1}});
  });
  std::this_thread::sleep_for(20ms);
  caf::anon_send(target, ss::write_of<&order::approved>(true));
  BOOST_TEST(wrong.get().error.has_value());
  const auto result = ended.get();
  BOOST_TEST(!result.error.has_value());
  BOOST_TEST(result.state.approved);
}

BOOST_AUTO_TEST_CASE(text_writes_have_the_form_of_json_updates) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto g = ss::json_graph{};
  g.channel("done")
      .channel("sum", "add")
      .channel("list", "append")
      .channel("left", "remaining_steps");
  g.add("wait", [&run](const ss::json::value&, ss::runtime rt) -> ss::task<void> {
    run.set(ss::coordinator(rt));
    auto waiting = ss::next_write<ss::json::value>(rt, "done");
    static_cast<void>(co_await waiting);
  });
  g.edge("__start__", "wait");
  auto ended = submit(e, g.compile(), ss::json::object{{"sum", 1}, {"list", ss::json::array{1}}});
  const auto target = run.get();
  const auto write = [&](const char* channel, const char* text) {
    caf::anon_send(target, ss::write_atom::value, std::string{channel}, std::string{text});
  };
  write("sum", "5");
  write("list", R"({"__overwrite__":[7]})");
  write("list", "[8]");
  for (const auto& refused :
       {ask(system, target, ss::write_atom::value, std::string{"left"}, std::string{"3"}),
        ask(system, target, ss::run_write{"left", ss::value{ss::json::value(3)}})}) {
    BOOST_TEST_REQUIRE(refused.error.has_value());
    BOOST_TEST(ss::text_of(*refused.error).find("read-only") != std::string::npos);
  }
  write("done", "true");
  const auto result = ended.get();
  BOOST_TEST(!result.error.has_value());
  BOOST_TEST(ss::to_text(result.state) == R"({"done":true,"sum":6,"list":[7,8]})");
}

namespace {

/// A graph with one node, which waits for a write to `done`.
ss::compiled_graph<tally> counting(handed_over& run) {
  auto g = ss::graph<tally>{};
  g.add("wait", [&run](const tally&, ss::runtime rt) -> ss::task<void> {
    run.set(ss::coordinator(rt));
    auto waiting = ss::next_write<bool>(rt, "done");
    static_cast<void>(co_await waiting);
  });
  g.edge(ss::start, "wait");
  return g.compile();
}

} // namespace

BOOST_AUTO_TEST_CASE(write_whose_value_throws_is_answered_and_run_continues) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto ended = submit(e, counting(run), tally{});
  const auto target = run.get();
  const auto read =
      ask(system, target, ss::write_atom::value, std::string{"list"}, std::string{"1"});
  BOOST_TEST_REQUIRE(read.error.has_value());
  BOOST_TEST((*read.error == ss::graph_errc::user_code_failed));
  touchy::copies_left = 0;
  const auto copied = ask(system, target, ss::run_write{"list", ss::value{touchy{-1}}});
  BOOST_TEST_REQUIRE(copied.error.has_value());
  BOOST_TEST(ss::text_of(*copied.error).find("not copied") != std::string::npos);
  caf::anon_send(target, ss::write_of<&tally::done>(true));
  const auto result = ended.get();
  BOOST_TEST(!result.error.has_value());
  BOOST_TEST(result.state.list.numbers.empty());
}

BOOST_AUTO_TEST_CASE(write_that_throws_at_the_barrier_does_not_affect_others) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto ended = submit(e, counting(run), tally{});
  const auto target = run.get();
  auto self = caf::scoped_actor{system};
  const auto send = [&](touchy list) {
    return self->request(target, 60s, ss::run_write{"list", ss::value{std::move(list)}});
  };
  auto before = send(touchy{1});
  touchy::copies_left = 1; // it is copied when it arrives, but not at the barrier
  auto failing = send(touchy{-1});
  auto after = send(touchy{3});
  caf::anon_send(target, ss::write_of<&tally::done>(true));
  auto errors = 0;
  auto count = [&](const caf::error&) { ++errors; };
  before.receive([] {}, count);
  after.receive([] {}, count);
  BOOST_TEST(errors == 0);
  failing.receive([] {}, count);
  BOOST_TEST(errors == 1);
  const auto result = ended.get();
  BOOST_TEST(!result.error.has_value());
  BOOST_TEST((result.state.list.numbers == std::vector<int>{1, 3}));
}

BOOST_AUTO_TEST_CASE(writes_of_one_barrier_do_not_copy_state_for_each) {
  constexpr auto writes = 64;
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto ended = submit(e, counting(run), tally{});
  const auto target = run.get();
  touchy::copies = 0;
  for (auto i = 0; i < writes; ++i)
    caf::anon_send(target, ss::run_write{"list", ss::value{touchy{i}}});
  caf::anon_send(target, ss::write_of<&tally::done>(true));
  const auto result = ended.get();
  BOOST_TEST(result.state.list.numbers.size() == std::size_t{writes});
  BOOST_TEST(touchy::copies < 2 * writes + 10); // each write when it arrives and at the barrier
}

BOOST_AUTO_TEST_CASE(write_to_ended_run_is_answered_with_error) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto g = ss::graph<order>{};
  g.add("only", [&run](const order&, ss::runtime rt) { run.set(ss::coordinator(rt)); });
  g.edge(ss::start, "only");
  const auto result = e.invoke(g.compile(), order{});
  const auto answer = ask(system, run.get(), ss::write_of<&order::approved>(true));
  BOOST_TEST_REQUIRE(answer.error.has_value());
  BOOST_TEST((*answer.error == caf::sec::request_receiver_down));
}

BOOST_AUTO_TEST_CASE(cancelled_run_answers_its_writes) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto g = ss::graph<order>{};
  g.add("wait", [&run](const order&, ss::runtime rt) -> ss::task<void> {
    run.set(ss::coordinator(rt));
    co_await ss::sleep_for(1h);
  });
  g.edge(ss::start, "wait");
  auto ended = std::promise<void>{};
  const auto handle =
      e.submit(g.compile(), order{}, {}, [&](ss::run_result<order>) { ended.set_value(); });
  const auto target = run.get();
  auto answer = std::async(std::launch::async, [&] {
    return ask(system, target, ss::write_of<&order::approved>(true));
  });
  std::this_thread::sleep_for(20ms);
  handle.cancel();
  BOOST_TEST(answer.get().error.has_value());
  ended.get_future().get();
}

namespace {

/// Starts a run whose second step must not start, and whose node waits for a write. With
/// `is_nested` the node belongs to a subgraph.
std::future<ss::run_result<order>> waiting_run(ss::engine& e, handed_over& run,
                                               std::atomic<bool>& seen, bool is_nested) {
  if (!is_nested)
    return submit(e, approval(run, seen), order{});
  auto outer = ss::graph<order>{};
  outer.add("inner", approval(run, seen));
  outer.edge(ss::start, "inner");
  return submit(e, outer.compile(), order{});
}

} // namespace

BOOST_AUTO_TEST_CASE(cancel_message_cancels_whole_run) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  for (const auto is_nested : {false, true}) {
    BOOST_TEST_INFO_SCOPE("nested: " << is_nested);
    auto run = handed_over{};
    auto seen = std::atomic<bool>{false};
    auto ended = waiting_run(e, run, seen, is_nested);
    const auto answer = ask(system, run.get(), ss::cancel_atom::value);
    BOOST_TEST(!answer.error.has_value());
    const auto result = ended.get();
    BOOST_TEST_REQUIRE(result.error.has_value());
    BOOST_TEST(result.error->code == ss::graph_errc::cancelled);
    BOOST_TEST(!seen);
  }
}

BOOST_AUTO_TEST_CASE(drain_message_ends_run_after_its_step) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto seen = std::atomic<bool>{false};
  auto ended = waiting_run(e, run, seen, false);
  const auto target = run.get();
  BOOST_TEST(!ask(system, target, ss::drain_atom::value, std::string{"maintenance"}).error);
  caf::anon_send(target, ss::write_of<&order::approved>(true));
  const auto result = ended.get();
  BOOST_TEST_REQUIRE(result.error.has_value());
  BOOST_TEST(result.error->code == ss::graph_errc::drained);
  BOOST_TEST(result.error->text.find("maintenance") != std::string::npos);
  BOOST_TEST((result.state.log == texts{"yes"}));
  BOOST_TEST(!seen);
  const auto late = ask(system, target, ss::cancel_atom::value);
  BOOST_TEST_REQUIRE(late.error.has_value());
  BOOST_TEST((*late.error == caf::sec::request_receiver_down));
}

BOOST_AUTO_TEST_CASE(other_requests_are_unexpected) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto run = handed_over{};
  auto seen = std::atomic<bool>{false};
  auto ended = submit(e, approval(run, seen), order{});
  const auto target = run.get();
  const auto answer = ask(system, target, 42);
  BOOST_TEST_REQUIRE(answer.error.has_value());
  BOOST_TEST((*answer.error == caf::sec::unexpected_message));
  caf::anon_send(target, ss::write_of<&order::approved>(true));
  BOOST_TEST(ended.get().state.approved);
}

BOOST_AUTO_TEST_CASE(unknown_channel_fails_waiting_body) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<order>{};
  g.add("wait", [](const order&, ss::runtime rt) -> ss::task<void> {
    auto waiting = ss::next_write<int>(rt, "colour");
    static_cast<void>(co_await waiting);
  });
  g.edge(ss::start, "wait");
  const auto result = e.try_invoke(g.compile(), order{});
  BOOST_TEST_REQUIRE(result.error.has_value());
  BOOST_TEST(result.error->text.find("colour") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(exit_of_own_actor_fails_its_task) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<order>{};
  g.add("die", [](const order&, ss::runtime rt) -> ss::task<void> {
    caf::anon_send_exit(ss::self(rt), caf::exit_reason::kill);
    co_await ss::sleep_for(1h);
  });
  g.edge(ss::start, "die");
  const auto result = e.try_invoke(g.compile(), order{});
  BOOST_TEST_REQUIRE(result.error.has_value());
  BOOST_TEST(result.error->code == ss::graph_errc::actor_exited);
}

BOOST_AUTO_TEST_CASE(monitors_see_normal_end_of_work) {
  auto system = peer_system{};
  auto reasons = std::promise<std::vector<caf::error>>{};
  const auto watcher = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    auto seen = std::make_shared<std::vector<caf::error>>();
    self->set_down_handler([&, self, seen](const caf::down_msg& down) {
      seen->push_back(down.reason);
      if (seen->size() == 3) {
        reasons.set_value(*seen);
        self->quit();
      }
    });
    return {[self](const caf::actor& other) { self->monitor(other); }};
  });
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<order>{};
  const auto worker = ss::node<int>{"worker"};
  auto has_failed = std::atomic<bool>{false};
  const auto watch = [&](const caf::actor& one) {
    if (ask(system, watcher, one).error.has_value())
      has_failed = true;
  };
  g.add("first", [&](const order&, ss::runtime rt) {
    watch(ss::self(rt));
    watch(ss::coordinator(rt));
  });
  g.add(worker, [&](const int&, ss::runtime rt) { watch(ss::self(rt)); });
  g.edge(ss::start, "first").branch("first", [worker](const order&) {
    auto all = ss::destinations{};
    all.emplace_back(worker, 1);
    return all;
  });
  // The actors go back to the pool, and later runs use others.
  BOOST_TEST(!e.try_invoke(g.compile(), order{}).error.has_value());
  BOOST_TEST_REQUIRE(!has_failed);
  for (const auto& reason : reasons.get_future().get())
    BOOST_TEST((reason == caf::exit_reason::normal || !reason));
}

BOOST_AUTO_TEST_CASE(handles_may_outlive_engine) {
  auto system = peer_system{};
  auto run = handed_over{};
  auto own = handed_over{};
  auto kept = std::vector<caf::actor>{};
  {
    auto e = ss::engine{{.workers = 1}};
    auto g = ss::graph<order>{};
    g.add("wait", [&](const order&, ss::runtime rt) -> ss::task<void> {
      own.set(ss::self(rt));
      run.set(ss::coordinator(rt));
      co_await ss::sleep_for(1h);
    });
    g.edge(ss::start, "wait");
    e.submit(g.compile(), order{}, {}, [](ss::run_result<order>) {});
    kept.push_back(own.get());
    kept.push_back(run.get());
  }
  for (const auto& actor : kept) {
    BOOST_TEST(ask(system, actor, ss::write_of<&order::approved>(true)).error.has_value());
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
}

BOOST_AUTO_TEST_CASE(write_to_topic_follows_writes_of_tasks) {
  auto system = peer_system{};
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<posts>{};
  g.add("send", [](const posts&, ss::runtime rt) -> ss::task<ss::update<posts>> {
    const auto run = ss::coordinator(rt);
    for (const auto n : {10, 11})
      caf::anon_send(run, ss::run_write{"items", ss::value{std::vector{n}}, false});
    co_await ss::sleep_for(std::chrono::milliseconds{20}); // the writes have arrived
    co_return ss::update{ss::set<&posts::items>(std::vector{1, 2})};
  });
  g.add("read", [](const posts& s) { return ss::update{ss::set<&posts::seen>(s.items)}; });
  g.edge(ss::start, "send").edge("send", "read");
  const auto seen = e.invoke(g.compile(), posts{}).state.seen;
  BOOST_TEST(seen == (std::vector{1, 2, 10, 11}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
