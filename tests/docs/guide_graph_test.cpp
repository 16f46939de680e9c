// SPDX-License-Identifier: Apache-2.0
// The code of docs/graph-api.md down to its section "Failures". The page quotes the text between
// two markers with the same name; snippets_test.cpp compares page and text.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/base/await.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/graph.hpp>
//! [includes]

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// A named namespace, because coroutine frames of templates contain the state.
namespace guide_trips {

//! [state]
namespace ss = superstep;

struct append {
  void operator()(std::vector<std::string>& into, std::vector<std::string>&& more) const {
    into.insert(into.end(), more.begin(), more.end());
  }
};

struct trip {
  std::string city;               // no rule: a write replaces the value
  std::vector<std::string> notes; // written lists are appended
  int cost = 0;                   // written numbers are added
  std::string hint;               // a written value is kept for the next step

  using reducers = ss::reducers<ss::by<&trip::notes, append>, ss::by<&trip::cost, std::plus<>>,
                                ss::by<&trip::hint, ss::ephemeral_rule>>;
};
BOOST_DESCRIBE_STRUCT(trip, (), (city, notes, cost, hint))
//! [state]

//! [messages]
struct conversation {
  ss::message_list messages;
  using reducers = ss::reducers<ss::by<&conversation::messages, ss::add_messages>>;
};
BOOST_DESCRIBE_STRUCT(conversation, (), (messages))
//! [messages]

//! [projections]
struct wish { // the input that a caller passes
  std::string city;
};
BOOST_DESCRIBE_STRUCT(wish, (), (city))

struct offer { // the output that the caller reads
  std::string city;
  int cost = 0;
};
BOOST_DESCRIBE_STRUCT(offer, (), (city, cost))
//! [projections]

//! [nodes]
constexpr auto plan = ss::node<trip>{"plan"};
constexpr auto book = ss::node<trip>{"book"};

ss::update<trip> make_plan(const trip& t) {
  return ss::update{ss::set<&trip::notes>({"a plan for " + t.city}), ss::set<&trip::cost>(10)};
}

ss::update<trip> make_booking(const trip& t) {
  return ss::update{ss::set<&trip::cost>(100), ss::overwrite<&trip::notes>({"booked " + t.city})};
}
//! [nodes]

//! [counter]
struct counter {
  int n = 0;
  using reducers = superstep::reducers<superstep::by<&counter::n, std::plus<>>>;
};
BOOST_DESCRIBE_STRUCT(counter, (), (n))
//! [counter]

//! [send_node]
constexpr auto visit = ss::node<std::string>{"visit"}; // its input is a text, not the state
//! [send_node]

//! [labels]
enum class mood { cheap, fancy };
BOOST_DESCRIBE_ENUM(mood, cheap, fancy)
//! [labels]

trip to(std::string city) {
  auto t = trip{};
  t.city = std::move(city);
  return t;
}

} // namespace guide_trips

using namespace guide_trips;

BOOST_AUTO_TEST_SUITE(guide)

BOOST_AUTO_TEST_CASE(first_graph_runs_its_two_nodes_in_order) {
  //! [first]
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).add(book, make_booking);
  g.edge(ss::start, plan).edge(plan, book).edge(book, ss::end);
  const auto graph = g.compile({.name = "trips"});

  auto input = trip{};
  input.city = "Rome";
  auto engine = ss::engine{};
  const auto done = engine.invoke(graph, input).state;
  // done.cost == 110, done.notes == {"booked Rome"}
  //! [first]
  BOOST_TEST(done.cost == 110);
  BOOST_TEST(done.notes == std::vector<std::string>{"booked Rome"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(plus_reducer_adds_write_of_node_to_value) {
  //! [count]
  auto g = superstep::graph<counter>{};
  g.add("one", [](const counter&) { return superstep::update{superstep::set<&counter::n>(1)}; });
  g.edge(superstep::start, "one");
  const auto graph = g.compile();

  auto engine = superstep::engine{};
  const auto done = engine.invoke(graph, counter{.n = 41}).state; // done.n == 42
  //! [count]
  BOOST_TEST(done.n == 42);
}

BOOST_AUTO_TEST_CASE(projections_set_input_and_select_output_fields) {
  auto engine = ss::engine{{.workers = 1}};
  //! [project]
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).edge(ss::start, plan);
  const auto done = engine.invoke(g.compile(), wish{"Rome"}).state;
  const auto made = ss::project<offer>(done); // made.city == "Rome", made.cost == 10
  //! [project]
  BOOST_TEST(made.city == "Rome");
  BOOST_TEST(made.cost == 10);
}

BOOST_AUTO_TEST_CASE(message_of_node_is_appended_to_conversation) {
  auto engine = ss::engine{{.workers = 1}};
  constexpr auto answer = ss::node<conversation>{"answer"};
  auto g = ss::graph<conversation>{};
  g.add(answer, [](const conversation&) {
    return ss::update{ss::set<&conversation::messages>({ss::ai_message("hello")})};
  });
  g.edge(ss::start, answer);
  auto input = conversation{};
  input.messages = {ss::human_message("hi")};
  BOOST_TEST(engine.invoke(g.compile(), std::move(input)).state.messages.size() == 2U);
}

BOOST_AUTO_TEST_CASE(node_reads_context_passed_in_run_config) {
  auto engine = ss::engine{{.workers = 1}};
  //! [context]
  struct traveller {
    std::string name;
  };
  auto g = ss::graph<trip>{};
  g.add(plan, [](const trip&, const ss::runtime& rt) {
    const auto* who = rt.context<traveller>();
    if (rt.is_last_step()) // the run fails if it needs another step
      return ss::update{ss::set<&trip::notes>({"no time left"})};
    return ss::update{ss::set<&trip::notes>({"for " + (who != nullptr ? who->name : "a guest")})};
  });
  g.edge(ss::start, plan);

  auto config = ss::run_config{};
  config.context = std::make_shared<const traveller>(traveller{"Ada"});
  config.recursion_limit = 10;
  const auto done = engine.invoke(g.compile(), trip{}, config).state; // done.notes == {"for Ada"}
  //! [context]
  BOOST_TEST(done.notes.at(0) == "for Ada");
}

BOOST_AUTO_TEST_CASE(join_runs_after_all_its_sources) {
  auto engine = ss::engine{{.workers = 1}};
  //! [joins]
  constexpr auto flights = ss::node<trip>{"flights"};
  constexpr auto hotels = ss::node<trip>{"hotels"};
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).add(book, make_booking);
  g.add(flights, [](const trip&) { return ss::update{ss::set<&trip::cost>(200)}; });
  g.add(hotels, [](const trip&) { return ss::update{ss::set<&trip::cost>(80)}; });
  g.edge(ss::start, plan).edge(plan, flights).edge(plan, hotels); // both run in one step
  g.edge({flights, hotels}, book);                                // a join: waits for both
  g.sequence({book, ss::end});                                    // the same as edge(book, ss::end)
  //! [joins]
  BOOST_TEST(engine.invoke(g.compile(), to("Rome")).state.cost == 390);
}

BOOST_AUTO_TEST_CASE(labels_and_destinations_of_routers_select_nodes) {
  auto engine = ss::engine{{.workers = 1}};
  //! [branches]
  constexpr auto hostel = ss::node<trip>{"hostel"};
  constexpr auto palace = ss::node<trip>{"palace"};
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan);
  g.add(hostel, [](const trip&) { return ss::update{ss::set<&trip::cost>(20)}; });
  g.add(palace, [](const trip&) { return ss::update{ss::set<&trip::cost>(900)}; });
  g.edge(ss::start, plan);
  // A router sees the state with the writes of its own node. It can return a label:
  g.branch(plan, [](const trip& t) { return t.city == "Monaco" ? mood::fancy : mood::cheap; },
           {{mood::cheap, hostel}, {mood::fancy, palace}});
  // It can also return a destination or a list of them. The last argument lists all that it may
  // return.
  g.branch(hostel, [](const trip& t) { return t.cost > 1'000 ? ss::destination{plan} : ss::end; },
           {plan, ss::end});
  //! [branches]
  const auto graph = g.compile();
  BOOST_TEST(engine.invoke(graph, to("Rome")).state.cost == 30);
  BOOST_TEST(engine.invoke(graph, to("Monaco")).state.cost == 910);
}

BOOST_AUTO_TEST_CASE(each_send_runs_node_with_its_input) {
  auto engine = ss::engine{{.workers = 2}};
  //! [sends]
  auto g = ss::graph<trip>{};
  g.add(visit, [](const std::string& sight) {
    return ss::update{ss::set<&trip::notes>({"saw " + sight})};
  });
  g.branch(ss::start,
           [](const trip&) {
             return ss::destinations{{visit, "the forum"}, {visit, "the market"}};
           },
           {visit});
  //! [sends]
  const auto done = engine.invoke(g.compile(), to("Rome")).state;
  BOOST_TEST(done.notes == (std::vector<std::string>{"saw the forum", "saw the market"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(command_selects_the_next_node) {
  auto engine = ss::engine{{.workers = 1}};
  //! [commands]
  auto g = ss::graph<trip>{};
  g.add(plan,
        [](const trip& t) {
          auto out = ss::command<trip>{};
          out.update.add(ss::set<&trip::cost>(10));
          if (t.cost < 50)
            out.go_to = {plan}; // run `plan` again
          else
            out.go_to = {book};
          return out;
        },
        {.destinations = {"plan", "book"}}); // compile() checks that these nodes exist
  g.add(book, make_booking).edge(ss::start, plan);
  //! [commands]
  BOOST_TEST(engine.invoke(g.compile(), to("Rome")).state.cost == 160);
}

BOOST_AUTO_TEST_CASE(run_retries_failing_node_and_runs_deferred_node) {
  auto engine = ss::engine{{.workers = 1}};
  //! [retry]
  auto policy = ss::retry_policy{};
  policy.max_attempts = 5;
  policy.initial_interval = std::chrono::milliseconds{1};
  policy.jitter = false;
  policy.retry_on = [](const std::exception_ptr& failure) {
    return ss::describe(failure) == "line is busy";
  };
  auto retried = ss::node_options{};
  retried.retry = {policy};

  auto calls = 0;
  auto g = ss::graph<trip>{};
  g.add(
      plan,
      [&](const trip&) {
        if (++calls < 3) // the first two attempts fail
          throw std::runtime_error{"line is busy"};
        return ss::update{ss::set<&trip::cost>(10)};
      },
      retried);
  //! [retry]
  //! [defer]
  auto deferred = ss::node_options{};
  deferred.defer = true;
  g.add(book, make_booking, deferred);
  g.edge(ss::start, plan).edge(ss::start, book);
  //! [defer]
  BOOST_TEST(engine.invoke(g.compile(), to("Rome")).state.cost == 110);
  BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(error_handler_receives_timeout_of_node) {
  auto engine = ss::engine{{.workers = 1}};
  //! [limits]
  auto limited = ss::node_options{};
  limited.timeout = ss::timeout_policy{.run = std::chrono::milliseconds{20}};

  auto g = ss::graph<trip>{};
  g.add(
      plan,
      [](const trip&) -> ss::task<ss::update<trip>> {
        auto nap = ss::sleep_for{std::chrono::hours{1}};
        co_await nap;
        co_return ss::update<trip>{};
      },
      limited);
  g.on_error(plan, [](const trip&, const ss::runtime& rt) {
    const auto note = rt.failure()->node + " took too long";
    return ss::command<trip>{ss::set<&trip::notes>({note}), {book}};
  });
  g.add(book, [](const trip&) { return ss::update{ss::set<&trip::cost>(100)}; });
  g.edge(ss::start, plan);
  const auto graph = g.compile({.step_timeout = std::chrono::seconds{30}});
  const auto done = engine.invoke(graph, wish{"Rome"}).state;
  // done.notes == {"plan took too long"}, done.cost == 100
  //! [limits]
  BOOST_TEST(done.notes.at(0) == "plan took too long");
  BOOST_TEST(done.cost == 100);
}

BOOST_AUTO_TEST_CASE(cached_node_runs_once_per_key) {
  auto engine = ss::engine{{.workers = 1}};
  //! [cache]
  auto cached = ss::node_options{};
  cached.cache =
      ss::cache_policy{.key = [](const ss::body_input& in) { return ss::input_as<trip>(in).city; },
                       .ttl = std::chrono::hours{24}};
  auto calls = 0; // counts the activations that are not answered by the cache
  auto g = ss::graph<trip>{};
  g.add(
      plan,
      [&](const trip& t) {
        ++calls;
        return make_plan(t);
      },
      cached);
  g.edge(ss::start, plan);
  const auto graph = g.compile({.cache = std::make_shared<ss::memory_cache>()});
  //! [cache]
  BOOST_TEST(engine.invoke(graph, to("Rome")).state.cost == 10);
  BOOST_TEST(engine.invoke(graph, to("Rome")).state.cost == 10);
  BOOST_TEST(engine.invoke(graph, to("Oslo")).state.cost == 10);
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(compile_reports_faults_and_strict_mode_reports_warnings) {
  //! [faults]
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).add(book, make_booking);
  g.edge(ss::start, plan).edge(plan, ss::node<trip>{"bok"});
  auto text = std::string{};
  try {
    static_cast<void>(g.compile());
  } catch (const ss::compile_error& e) {
    for (const auto& fault : e.faults())
      text += fault.text + '\n';
  } // text == "Found edge ending at unknown node `bok`\n"
  //! [faults]
  BOOST_TEST(text == "Found edge ending at unknown node `bok`\n");
  auto h = ss::graph<trip>{};
  h.add(plan, make_plan).add(book, make_booking).edge(ss::start, plan);
  //! [strict]
  auto options = ss::compile_options{};
  options.strict = true; // compile() throws for warnings as well
  options.lint = true;   // also warns of nodes that run more than once
  //! [strict]
  BOOST_CHECK_THROW(static_cast<void>(h.compile(options)), ss::compile_error);
}

BOOST_AUTO_TEST_CASE(error_of_run_names_node_and_step) {
  auto engine = ss::engine{{.workers = 1}};
  //! [failures]
  auto g = ss::graph<trip>{};
  g.add(plan, [](const trip&) -> ss::update<trip> { throw std::runtime_error{"no paper"}; });
  g.edge(ss::start, plan);
  auto text = std::string{};
  try {
    engine.invoke(g.compile(), trip{});
  } catch (const ss::graph_error& e) { // e.node() == "plan", e.step() == 1
    text = e.what();                   // "node 'plan' (task plan, step 1) failed: no paper"
  }
  //! [failures]
  BOOST_TEST(text == "node 'plan' (task plan, step 1) failed: no paper");
}

BOOST_AUTO_TEST_SUITE_END()
