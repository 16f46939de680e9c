// SPDX-License-Identifier: Apache-2.0
// The first half of docs/graph-api.md: state, nodes, edges, Sends and commands. The text between
// two markers with the same name is quoted in the page; the test `snippets` compares the two.
//! [includes]
#include <superstep/actors/engine.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/graph.hpp>
//! [includes]

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(guide)

namespace {

//! [state]
namespace ss = superstep;

struct append {
  void operator()(std::vector<std::string>& into, std::vector<std::string>&& more) const {
    into.insert(into.end(), more.begin(), more.end());
  }
};

struct trip {
  std::string city;               // no rule: the last value; two writes in one step are an error
  std::vector<std::string> notes; // what nodes write is appended
  int cost = 0;                   // what nodes write is added up
  std::string hint;               // lives for one step

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

//! [parts]
struct wish { // the input of a caller
  std::string city;
};
BOOST_DESCRIBE_STRUCT(wish, (), (city))

struct offer { // the output; `notes` and `hint` are internal
  std::string city;
  int cost = 0;
};
BOOST_DESCRIBE_STRUCT(offer, (), (city, cost))
//! [parts]

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

trip to(std::string city) {
  auto t = trip{};
  t.city = std::move(city);
  return t;
}

} // namespace

BOOST_AUTO_TEST_CASE(first_graph) {
  //! [first]
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).add(book, make_booking);
  g.edge(ss::start, plan).edge(plan, book).edge(book, ss::end);
  const auto graph = g.compile({.name = "trips"});

  auto input = trip{};
  input.city = "Rome";
  auto engine = ss::engine{};
  const auto done =
      engine.invoke(graph, input).state; // done.cost == 110, done.notes == {"booked Rome"}
  //! [first]
  BOOST_TEST(done.cost == 110);
  BOOST_TEST(done.notes == std::vector<std::string>{"booked Rome"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(input_and_output_are_projections) {
  auto engine = ss::engine{{.workers = 1}};
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).edge(ss::start, plan);
  const auto graph = g.compile();
  //! [part]
  const auto made = ss::project<offer>(engine.invoke(graph, wish{"Rome"}).state); // made.cost == 10
  //! [part]
  BOOST_TEST(made.city == "Rome");
  BOOST_TEST(made.cost == 10);
}

BOOST_AUTO_TEST_CASE(conversations) {
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

BOOST_AUTO_TEST_CASE(node_receives_runtime_and_context) {
  //! [context]
  struct traveller {
    std::string name;
  };
  auto g = ss::graph<trip>{};
  g.add(plan, [](const trip&, const ss::runtime& rt) {
    const auto* who = rt.context<traveller>();
    if (rt.is_last_step())
      return ss::update{ss::set<&trip::notes>({"no time left"})};
    return ss::update{ss::set<&trip::notes>({"for " + who->name})};
  });
  g.edge(ss::start, plan);

  auto config = ss::run_config{};
  config.context = std::make_shared<const traveller>(traveller{"Ada"});
  config.recursion_limit = 10;
  const auto done = ss::engine{}.invoke(g.compile(), trip{}, config).state;
  //! [context]
  BOOST_TEST(done.notes.at(0) == "for Ada");
}

BOOST_AUTO_TEST_CASE(joins_and_sequences) {
  auto engine = ss::engine{{.workers = 1}};
  //! [joins]
  constexpr auto flights = ss::node<trip>{"flights"};
  constexpr auto hotels = ss::node<trip>{"hotels"};
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).add(book, make_booking);
  g.add(flights, [](const trip&) { return ss::update{ss::set<&trip::cost>(200)}; });
  g.add(hotels, [](const trip&) { return ss::update{ss::set<&trip::cost>(80)}; });
  g.edge(ss::start, plan).edge(plan, flights).edge(plan, hotels); // both run in one step
  g.edge({flights, hotels}, book);                                // runs when both have run
  g.sequence({book, ss::end});                                    // edges from each to the next
  //! [joins]
  BOOST_TEST(engine.invoke(g.compile(), to("Rome")).state.cost == 390);
}

namespace {

//! [send_node]
constexpr auto visit = ss::node<std::string>{"visit"}; // its input is not the state
//! [send_node]

//! [labels]
enum class mood { cheap, fancy };
BOOST_DESCRIBE_ENUM(mood, cheap, fancy)
//! [labels]

} // namespace

BOOST_AUTO_TEST_CASE(choices) {
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
  // It can also return a destination or a list of them; the possible ones are declared.
  g.branch(hostel, [](const trip& t) { return t.cost > 1'000 ? ss::destination{plan} : ss::end; },
           {plan, ss::end});
  //! [branches]
  const auto graph = g.compile();
  BOOST_TEST(engine.invoke(graph, to("Rome")).state.cost == 30);
  BOOST_TEST(engine.invoke(graph, to("Monaco")).state.cost == 910);
}

BOOST_AUTO_TEST_CASE(sends) {
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
           {ss::destination{visit}});
  //! [sends]
  const auto done = engine.invoke(g.compile(), to("Rome")).state;
  BOOST_TEST(done.notes == (std::vector<std::string>{"saw the forum", "saw the market"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(commands) {
  auto engine = ss::engine{{.workers = 1}};
  //! [commands]
  auto g = ss::graph<trip>{};
  g.add(plan,
        [](const trip& t) {
          auto out = ss::command<trip>{};
          out.update.add(ss::set<&trip::cost>(10));
          if (t.cost < 50)
            out.go_to = {plan}; // once more
          else
            out.go_to = {book};
          return out;
        },
        {.destinations = {"plan", "book"}}); // drawn, and checked by compile()
  g.add(book, make_booking).edge(ss::start, plan);
  //! [commands]
  BOOST_TEST(engine.invoke(g.compile(), to("Rome")).state.cost == 160);
}

BOOST_AUTO_TEST_CASE(nodes_accept_options) {
  auto engine = ss::engine{{.workers = 1}};
  auto calls = 0;
  //! [options]
  auto often = ss::retry_policy{};
  often.max_attempts = 5;
  often.initial_interval = std::chrono::milliseconds{1};
  often.jitter = false;
  often.retry_on = [](const std::exception_ptr& failure) {
    return ss::describe(failure) == "line is busy";
  };
  auto careful = ss::node_options{};
  careful.retry = {often}; // the first matching policy decides; none by default
  careful.metadata = {{"owner", "desk 4"}};

  auto last = ss::node_options{};
  last.defer = true; // held back until nothing else is left to run

  auto g = ss::graph<trip>{};
  g.add(
      plan,
      [&](const trip&) {
        if (++calls < 3)
          throw std::runtime_error{"line is busy"};
        return ss::update{ss::set<&trip::cost>(10)};
      },
      careful);
  g.add(book, make_booking, last);
  g.edge(ss::start, plan).edge(ss::start, book);
  //! [options]
  BOOST_TEST(engine.invoke(g.compile(), to("Rome")).state.cost == 110);
  BOOST_TEST(calls == 3);
}

BOOST_AUTO_TEST_CASE(caches) {
  auto engine = ss::engine{{.workers = 1}};
  auto calls = 0;
  //! [cache]
  auto once_a_day = ss::node_options{};
  once_a_day.cache =
      ss::cache_policy{.key = [](const ss::body_input& in) { return ss::input_as<trip>(in).city; },
                       .ttl = std::chrono::hours{24}};
  auto g = ss::graph<trip>{};
  g.add(
      plan,
      [&](const trip& t) {
        ++calls;
        return make_plan(t);
      },
      once_a_day);
  g.edge(ss::start, plan);
  const auto graph = g.compile({.cache = std::make_shared<ss::memory_cache>()});
  //! [cache]
  BOOST_TEST(engine.invoke(graph, to("Rome")).state.cost == 10);
  BOOST_TEST(engine.invoke(graph, to("Rome")).state.cost == 10);
  BOOST_TEST(engine.invoke(graph, to("Oslo")).state.cost == 10);
  BOOST_TEST(calls == 2);
}

BOOST_AUTO_TEST_CASE(faults) {
  //! [faults]
  auto g = ss::graph<trip>{};
  g.add(plan, make_plan).add(book, make_booking);
  g.edge(ss::start, plan).edge(plan, ss::node<trip>{"bok"});
  auto text = std::string{};
  try {
    static_cast<void>(g.compile());
  } catch (const ss::compile_error& e) {
    for (const auto& fault : e.faults()) // all of them
      text += fault.text + '\n';         // Found edge ending at unknown node `bok`
  }
  //! [faults]
  BOOST_TEST(text == "Found edge ending at unknown node `bok`\n");
  auto h = ss::graph<trip>{};
  h.add(plan, make_plan).add(book, make_booking).edge(ss::start, plan);
  //! [strict]
  auto options = ss::compile_options{};
  options.strict = true; // node 'book' never runs: nothing leads to it from START
  options.lint = true;   // node … runs more than once: its edges from … fire in different steps
  //! [strict]
  BOOST_CHECK_THROW(static_cast<void>(h.compile(options)), ss::compile_error);
}

BOOST_AUTO_TEST_CASE(failures) {
  auto engine = ss::engine{{.workers = 1}};
  auto said = std::string{};
  //! [failures]
  auto g = ss::graph<trip>{};
  g.add(plan, [](const trip&) -> ss::update<trip> { throw std::runtime_error{"no paper"}; });
  g.edge(ss::start, plan);
  try {
    engine.invoke(g.compile(), trip{});
  } catch (const ss::graph_error& e) { // e.code(), e.node(), e.step(); the exception is nested
    said = e.what();                   // node 'plan' (task plan, step 1) failed: no paper
  }
  //! [failures]
  BOOST_TEST(said == "node 'plan' (task plan, step 1) failed: no paper");
}

BOOST_AUTO_TEST_SUITE_END()
