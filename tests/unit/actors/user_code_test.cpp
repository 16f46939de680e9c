// SPDX-License-Identifier: Apache-2.0
// Application code outside node bodies throws: the run ends with an error that names the code, and
// the engine continues.
#include "actors/engine_access.hpp"
#include "forwarding_checkpointer.hpp"
#include "graphs.hpp"

#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/write_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <stdexcept>
#include <string>

using namespace testing;

BOOST_AUTO_TEST_SUITE(user_code)

namespace {

/// Throws a std::exception, or another type.
void throw_as(bool is_exception) {
  if (is_exception)
    throw std::runtime_error{"oops"};
  throw 42; // NOLINT: user code may throw anything
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

ss::compiled_graph<numbers> simple(const ss::compile_options& options = {},
                                   const ss::node_options& node = {}) {
  auto g = ss::graph<numbers>{};
  g.add(a, add_one, node).edge(ss::start, a);
  return g.compile(options);
}

/// Checks that the engine's next run succeeds.
void check_engine(ss::engine& e) {
  BOOST_TEST(e.invoke(simple(), numbers{}).state.n == 1);
  BOOST_TEST(e.debug().live_runs() == 0U);
}

/// Returns the error of a run that user code ends. Checks that the error names the code (`whose`)
/// that failed.
ss::run_error check_failure(ss::engine& e, const ss::compiled_graph<numbers>& graph,
                            std::string_view whose, ss::run_config config = {}) {
  const auto ended = e.try_invoke(graph, numbers{}, std::move(config));
  BOOST_TEST_REQUIRE(ended.error.has_value());
  BOOST_TEST(contains(ended.error->text, whose), ended.error->text);
  check_engine(e);
  return *ended.error;
}

class throwing_cache final : public ss::write_cache {
public:
  throwing_cache(bool in_find, bool is_exception)
      : in_find_{in_find}, is_exception_{is_exception} {}
  std::optional<ss::task_output> find(std::string_view, std::string_view,
                                      const ss::layout_ptr&) override {
    if (in_find_)
      throw_as(is_exception_);
    return std::nullopt;
  }
  void put(std::string_view, std::string_view, ss::task_output,
           std::optional<std::chrono::milliseconds>, const ss::layout_ptr&) override {
    if (!in_find_)
      throw_as(is_exception_);
  }
  void clear(std::string_view) override {}

private:
  bool in_find_;
  bool is_exception_;
};

ss::node_options cached() {
  auto node = ss::node_options{};
  node.cache = ss::cache_policy{[](const ss::body_input&) { return std::string{"k"}; }, {}};
  return node;
}

} // namespace

BOOST_AUTO_TEST_CASE(throwing_cache_key_function_fails_only_its_run) {
  for (const auto is_exception : {true, false}) {
    auto e = ss::engine{{.workers = 1}};
    auto node = ss::node_options{};
    node.cache = ss::cache_policy{[is_exception](const ss::body_input&) -> std::string {
                                    throw_as(is_exception);
                                    return {};
                                  },
                                  {}};
    auto options = ss::compile_options{};
    options.cache = std::make_shared<ss::memory_cache>();
    const auto error = check_failure(e, simple(options, node), "cache key of node 'a'");
    BOOST_TEST((error.code == ss::graph_errc::user_code_failed));
  }
}

BOOST_AUTO_TEST_CASE(throwing_cache_fails_only_its_run) {
  for (const auto in_find : {true, false})
    for (const auto is_exception : {true, false})
      for (const auto kept : {true, false}) {
        auto e = ss::engine{{.workers = 1}};
        auto options = ss::compile_options{};
        options.cache = std::make_shared<throwing_cache>(in_find, is_exception);
        auto config = ss::run_config{};
        if (kept) {
          options.checkpointer = ss::memory_checkpointer();
          config.thread_id = "t";
        }
        check_failure(e, simple(options, cached()),
                      in_find ? "the cache lookup of node '" : "caching the output of node '",
                      config);
      }
}

namespace {

struct bad_fold {
  void operator()(int& into, int&& more) const {
    if (more > 1)
      throw_as(more == 2);
    into += more;
  }
};
struct folded {
  int before = 0;
  int v = 0;
  std::string after;
  using reducers = ss::reducers<ss::by<&folded::before, std::plus<>>, ss::by<&folded::v, bad_fold>>;
};
BOOST_DESCRIBE_STRUCT(folded, (), (before, v, after))
constexpr auto first = ss::node<folded>{"first"};
constexpr auto second = ss::node<folded>{"second"};

/// Runs a step that succeeds and one that is rejected; the first step's state must remain.
void check_state_before(const ss::update<folded>& refused, bool with_sibling, bool streamed) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<folded>{};
  g.add(first, [](const folded&) {
    return ss::update{ss::set<&folded::before>(5), ss::set<&folded::v>(1),
                      ss::set<&folded::after>("whole")};
  });
  g.add(second, [refused](const folded&) { return refused; });
  g.edge(ss::start, first).edge(first, second);
  static constexpr auto third = ss::node<folded>{"third"};
  if (with_sibling) {
    g.add(third, [](const folded&) {
      return ss::update{ss::set<&folded::before>(1), ss::set<&folded::after>("half")};
    });
    g.edge(first, third);
  }
  const auto graph = g.compile();
  auto check = [](const auto& error, const folded& left) {
    BOOST_TEST(error.has_value());
    BOOST_TEST(left.before == 5);
    BOOST_TEST(left.v == 1);
    BOOST_TEST(left.after == "whole");
  };
  if (!streamed) {
    const auto ended = e.try_invoke(graph, folded{});
    check(ended.error, ended.state);
    return;
  }
  auto stream = ss::detail::engine_access::stream(e, graph, folded{}, ss::stream_mode::values);
  auto last = std::optional<folded>{};
  try {
    while (const auto event = stream.next())
      last = static_cast<const ss::struct_block<folded>&>(*event->state).state;
  } catch (const ss::graph_error&) { // checked below
  }
  BOOST_TEST_REQUIRE(last.has_value());
  check(stream.result().error, *last);
  check(stream.result().error,
        static_cast<const ss::struct_block<folded>&>(*stream.result().state).state);
}

} // namespace

BOOST_AUTO_TEST_CASE(step_with_rejected_update_keeps_previous_state) {
  for (const auto streamed : {false, true})
    for (const auto sibling : {false, true}) {
      for (const auto thrown : {2, 3}) { // a std::exception and another type
        auto fold = ss::update{ss::set<&folded::before>(1), ss::set<&folded::v>(thrown),
                               ss::set<&folded::after>("half")};
        if (!sibling)
          check_state_before(fold, sibling, streamed);
        check_state_before(ss::update{ss::set<&folded::v>(thrown)}, sibling, streamed);
      }
    }
  // Two values for a field without a reducer.
  const auto rival = ss::update{ss::set<&folded::before>(1), ss::set<&folded::after>("other")};
  check_state_before(rival, true, false);
}

BOOST_AUTO_TEST_CASE(throwing_completion_callback_does_not_stop_engine) {
  for (const auto is_exception : {true, false})
    for (const auto kept : {true, false}) {
      auto e = ss::engine{{.workers = 1}};
      auto options = ss::compile_options{};
      auto config = ss::run_config{};
      if (kept) {
        options.checkpointer = ss::memory_checkpointer();
        config.thread_id = "t";
      }
      auto called = std::latch{1};
      e.submit(simple(options), numbers{}, config, [&](const ss::run_result<numbers>&) {
        called.count_down();
        throw_as(is_exception);
      });
      called.wait();
      check_engine(e);
    }
}

namespace {

/// Throws at the n-th call of each member.
class throwing_sink final : public ss::detail::event_sink {
public:
  enum class member { push, is_full, on_room };
  throwing_sink(member at, int n, bool is_exception) : at_{at}, left_{n}, as_{is_exception} {}
  void push(ss::detail::run_event) override { count(member::push); }
  bool is_full() const override {
    count(member::is_full);
    return false;
  }
  void on_room(std::function<void()>) override { count(member::on_room); }

private:
  void count(member called) const {
    if (called == at_ && --left_ == 0)
      throw_as(as_);
  }
  member at_;
  mutable std::atomic<int> left_;
  bool as_;
};

} // namespace

BOOST_AUTO_TEST_CASE(throwing_event_sink_fails_only_its_run) {
  using member = throwing_sink::member;
  constexpr auto modes = ss::stream_mode::values | ss::stream_mode::updates |
                         ss::stream_mode::tasks | ss::stream_mode::debug | ss::stream_mode::custom |
                         ss::stream_mode::checkpoints;
  for (const auto at : {member::push, member::is_full})
    for (const auto is_exception : {true, false})
      for (const auto n : {1, 2}) {
        auto e = ss::engine{{.workers = 1}};
        auto g = ss::graph<numbers>{};
        g.add(a, [](const numbers& s, const ss::runtime& rt) {
          rt.emit("hello");
          return ss::update{ss::set<&numbers::n>(s.n + 1)};
        });
        g.add(b, add_one).edge(ss::start, a).edge(a, b);
        auto ended = std::promise<ss::detail::raw_result>{};
        const auto graph = g.compile();
        ss::detail::engine_access::start(
            e, ss::detail::program_of(graph), ss::detail::input_for(graph, numbers{}), {},
            [&](ss::detail::raw_result raw) { ended.set_value(std::move(raw)); }, modes,
            std::make_shared<throwing_sink>(at, n, is_exception));
        const auto raw = ended.get_future().get();
        BOOST_TEST_REQUIRE(raw.error.has_value());
        BOOST_TEST(contains(raw.error->text, "the sink"), raw.error->text);
        check_engine(e);
      }
}

BOOST_AUTO_TEST_CASE(throwing_retry_predicate_fails_the_task) {
  for (const auto is_exception : {true, false}) {
    auto e = ss::engine{{.workers = 1}};
    auto node = ss::node_options{};
    auto policy = ss::retry_policy{};
    policy.retry_on = [is_exception](const std::exception_ptr&) {
      throw_as(is_exception);
      return true;
    };
    node.retry = {policy};
    auto g = ss::graph<numbers>{};
    g.add(
        a, [](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"body"}; }, node);
    g.edge(ss::start, a);
    const auto error = check_failure(e, g.compile(), "retry_on function failed too");
    BOOST_TEST(error.node == "a");
    BOOST_TEST(contains(error.text, "body"));
  }
}

BOOST_AUTO_TEST_CASE(throwing_on_failure_handler_fails_the_task) {
  for (const auto is_exception : {true, false}) {
    auto e = ss::engine{{.workers = 1}};
    auto node = ss::node_options{};
    node.on_failure = [is_exception](const ss::body_input&,
                                     const ss::run_error&) -> std::optional<ss::node_output> {
      throw_as(is_exception);
      return std::nullopt;
    };
    auto g = ss::graph<numbers>{};
    g.add(
        a, [](const numbers&) -> ss::update<numbers> { throw std::runtime_error{"body"}; }, node);
    g.edge(ss::start, a);
    check_failure(e, g.compile(), "on_failure function failed too");
  }
}

BOOST_AUTO_TEST_CASE(throwing_router_fails_the_task) {
  for (const auto is_exception : {true, false}) {
    auto e = ss::engine{{.workers = 1}};
    auto g = ss::graph<numbers>{};
    g.add(a, add_one).edge(ss::start, a);
    g.branch(a,
             [is_exception](const numbers&) -> ss::destination {
               throw_as(is_exception);
               return ss::end;
             },
             {a, ss::end});
    check_failure(e, g.compile(), "node 'a'");
  }
}

namespace {

/// A checkpointer whose n-th call throws.
class throwing_checkpointer final : public forwarding_checkpointer {
public:
  using failure = void (*)();
  throwing_checkpointer(int n, failure fail) : left_{n}, fail_{fail} {}
  [[nodiscard]] bool has_thrown() const { return left_ <= 0; }

  std::optional<ss::saved_checkpoint> load(const ss::thread_key& key, std::string_view id,
                                           const ss::layout_ptr& as) override {
    count();
    return forwarding_checkpointer::load(key, id, as);
  }
  std::vector<ss::saved_checkpoint> list(const ss::thread_key& key, const ss::checkpoint_query& q,
                                         const ss::layout_ptr& as) override {
    count();
    return forwarding_checkpointer::list(key, q, as);
  }
  std::string head(const ss::thread_key& key) override {
    count();
    return forwarding_checkpointer::head(key);
  }
  void put(const ss::thread_key& key, ss::checkpoint_ptr point) override {
    count();
    forwarding_checkpointer::put(key, std::move(point));
  }
  void put_task(const ss::thread_key& key, const ss::checkpoint& of,
                ss::task_record record) override {
    count();
    forwarding_checkpointer::put_task(key, of, std::move(record));
  }
  bool when_saved(const ss::thread_key& key, std::function<void()> done) override {
    count();
    return forwarding_checkpointer::when_saved(key, std::move(done));
  }
  void check(const ss::thread_key& key) override {
    count();
    forwarding_checkpointer::check(key);
  }
  void take(const std::string& id, ss::busy_policy how,
            std::function<void(ss::result<ss::lease_ptr>)> done) override {
    count();
    forwarding_checkpointer::take(id, how, std::move(done));
  }

private:
  void count() {
    if (--left_ == 0)
      fail_();
  }
  std::atomic<int> left_;
  failure fail_;
};

} // namespace

BOOST_AUTO_TEST_CASE(throwing_checkpointer_fails_only_its_run) {
  // Each of its calls throws once, in each durability, with a nested graph that keeps its state.
  const throwing_checkpointer::failure out_of_memory = [] { throw std::bad_alloc{}; };
  const throwing_checkpointer::failure failures[] = {[] { throw_as(true); },
                                                     [] { throw_as(false); }, out_of_memory};
  for (const auto when : {ss::durability::sync, ss::durability::async, ss::durability::exit})
    for (const auto fail : failures)
      for (auto n = 1;; ++n) {
        auto e = ss::engine{{.workers = 1}};
        const auto checkpointer = std::make_shared<throwing_checkpointer>(n, fail);
        auto options = ss::compile_options{};
        options.checkpointer = checkpointer;
        auto g = ss::graph<numbers>{};
        g.add(
            a, simple(), [](const numbers& s) { return s; },
            [](const numbers& s) { return ss::update{ss::set<&numbers::n>(s.n)}; });
        g.add(b, add_one).edge(ss::start, a).edge(a, b);
        auto config = ss::run_config{};
        config.thread_id = "t";
        config.thread.emplace().durability = when;
        const auto ended = e.try_invoke(g.compile(options), numbers{}, config);
        check_engine(e);
        if (!checkpointer->has_thrown())
          break;
        BOOST_TEST_REQUIRE(ended.error.has_value(), "call " << n);
        BOOST_TEST(contains(ended.error->text, "checkpoint"), ended.error->text);
        const auto is_short =
            ss::failure_code(ended.error->cause, ended.error->code) == ss::errc::shortage;
        BOOST_TEST(is_short == (fail == out_of_memory), ended.error->text);
      }
}

namespace {

/// A state whose n-th construction or copy throws.
struct fragile_part {
  static inline std::atomic<int> left{0};
  static void count() {
    if (--left == 0)
      throw std::runtime_error{"fragile"};
  }
  fragile_part() { count(); }
  fragile_part(const fragile_part& other) : v{other.v} { count(); }
  fragile_part(fragile_part&&) = default;
  fragile_part& operator=(const fragile_part& other) {
    count();
    v = other.v;
    return *this;
  }
  fragile_part& operator=(fragile_part&&) = default;
  ~fragile_part() = default;
  int v = 0;
};
struct fragile {
  int n = 0;
  fragile_part part;
  using reducers = ss::reducers<ss::by<&fragile::n, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(fragile, (), (n, part))

} // namespace

BOOST_AUTO_TEST_CASE(throwing_state_copy_fails_only_its_run) {
  static constexpr auto one = ss::node<fragile>{"one"};
  static constexpr auto two = ss::node<fragile>{"two"};
  for (auto n = 1;; ++n) {
    auto e = ss::engine{{.workers = 1}};
    fragile_part::left = 0;
    auto g = ss::graph<fragile>{};
    g.add(one, [](const fragile&) { return ss::update{ss::set<&fragile::n>(1)}; });
    g.add(two, [](const fragile&) { return ss::update{ss::set<&fragile::n>(1)}; });
    g.edge(ss::start, one).edge(ss::start, two);
    g.branch(one, [](const fragile&) -> ss::destination { return ss::end; }, {ss::end});
    const auto graph = g.compile();
    auto input = ss::detail::input_writes(fragile{});
    fragile_part::left = n;
    auto called = std::latch{1};
    auto failed = std::atomic<bool>{false};
    struct caller {
      static void run(ss::engine& e, const ss::compiled_graph<fragile>& g, ss::write_list in,
                      std::function<void(ss::detail::raw_result)> done) {
        ss::detail::engine_access::start(e, ss::detail::program_of(g), std::move(in), {},
                                         std::move(done));
      }
    };
    caller::run(e, graph, std::move(input.writes), [&](const ss::detail::raw_result& raw) {
      failed = raw.error.has_value();
      called.count_down();
    });
    called.wait();
    const auto has_thrown = fragile_part::left <= 0;
    fragile_part::left = 0;
    check_engine(e);
    BOOST_TEST(failed == has_thrown, "call " << n);
    if (!has_thrown)
      break;
  }
}

BOOST_AUTO_TEST_CASE(throwing_actor_monitor_does_not_stop_engine) {
  for (const auto is_exception : {true, false}) {
    auto e = ss::engine{{.workers = 1}};
    auto held = gate{};
    auto g = ss::graph<numbers>{};
    g.add(a, [&held](const numbers&) -> ss::task<void> { co_await held.pass(); });
    g.edge(ss::start, a);
    auto run = background_run<numbers>{e, g.compile(), numbers{}};
    held.await_arrivals(1);
    await_actor(e, run.handle, [](const auto& i) {
      return i.node == "a";
    }).actor.monitor([is_exception] { throw_as(is_exception); });
    held.open();
    static_cast<void>(run.result());
    check_engine(e);
  }
}

namespace {

std::atomic<bool> may_construct = true;

} // namespace

struct unmade_state {
  int n = 0;
  unmade_state() {
    if (!may_construct)
      throw std::runtime_error{"no state"};
  }
};
BOOST_DESCRIBE_STRUCT(unmade_state, (), (n))

BOOST_AUTO_TEST_CASE(batch_returns_if_constructor_of_state_throws) {
  auto g = ss::graph<unmade_state>{};
  g.add("a", [](const unmade_state&) { return ss::update{ss::set<&unmade_state::n>(1)}; });
  g.edge(ss::start, "a");
  const auto graph = g.compile();
  auto e = ss::engine{{.workers = 1}};
  auto inputs = std::vector<ss::update<unmade_state>>(3);
  may_construct = false;
  auto results = 0;
  e.batch(graph, std::move(inputs), {}, [&](std::size_t, const auto&) { ++results; });
  may_construct = true;
  BOOST_TEST(results == 0);
  check_engine(e);
}

BOOST_AUTO_TEST_SUITE_END()
