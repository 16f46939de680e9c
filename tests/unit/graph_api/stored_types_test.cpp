// SPDX-License-Identifier: Apache-2.0
// Fields of types without operator==, and types that checkpoints cannot store.
#include "graph_api/threads.hpp"

#include <superstep/base/detail/shared_list.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/runtime/channel_graph.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <thread>
#include <tuple>
#include <variant>

#include <unistd.h>

using namespace graph_api;

namespace stored_types {

struct point { // no operator==
  int x = 0;
  std::string name;
};
BOOST_DESCRIBE_STRUCT(point, (), (x, name))

struct tree { // contains itself
  point at;
  std::vector<tree> below;
};
BOOST_DESCRIBE_STRUCT(tree, (), (at, below))

struct money { // stored in its own form
  std::int64_t cents = 0;
};

struct entity { // compared by its id
  int id = 0;
  std::string name;
  friend bool operator==(const entity& a, const entity& b) { return a.id == b.id; }
};
BOOST_DESCRIBE_STRUCT(entity, (), (id, name))

using points = std::vector<point>;

struct append_points {
  void operator()(points& into, points&& more) const {
    into.insert(into.end(), more.begin(), more.end());
  }
};

struct shapes {
  point one;
  points list;
  std::map<std::string, point> by_name;
  std::tuple<int, point> pair;
  std::pair<point, std::string> couple;
  std::variant<int, point, std::string> either;
  std::optional<point> maybe;
  std::vector<std::optional<point>> maybes;
  std::map<std::string, std::vector<std::variant<point, tree>>> deep;
  ss::shared_list<point> shared;
  tree whole;
  std::vector<money> amounts;
  points any;
  points once;
  points items;
  points all_items;
  points folded;
  std::optional<points> absent;
  using reducers = ss::reducers<ss::by<&shapes::any, ss::any_value_rule>,
                                ss::by<&shapes::once, ss::ephemeral_rule>,
                                ss::by<&shapes::items, ss::topic_rule>,
                                ss::by<&shapes::all_items, ss::accumulating_topic_rule>,
                                ss::by<&shapes::folded, append_points>>;
};
BOOST_DESCRIBE_STRUCT(shapes, (),
                      (one, list, by_name, pair, couple, either, maybe, maybes, deep, shared, whole,
                       amounts, any, once, items, all_items, folded, absent))

struct handle { // has no description
  std::thread::id of;
};
struct job {
  int n = 0;
  handle thread;
  std::vector<handle> threads;
};
BOOST_DESCRIBE_STRUCT(job, (), (n, thread, threads))

struct untracked_job {
  int n = 0;
  handle thread;
  using reducers = ss::reducers<ss::by<&untracked_job::thread, ss::untracked_rule>>;
};
BOOST_DESCRIBE_STRUCT(untracked_job, (), (n, thread))

} // namespace stored_types

template <>
struct superstep::stored_form<stored_types::money> {
  static std::string type() { return "money"; }
  static void write(std::string& out, const stored_types::money& m) {
    out += std::to_string(m.cents);
  }
  static result<void> read(const boost::json::value& from, stored_types::money& into) {
    into.cents = from.as_int64();
    return {};
  }
};

using namespace stored_types;

namespace {

constexpr auto fill = ss::node<shapes>{"fill"};
constexpr auto look = ss::node<shapes>{"look"};
constexpr auto work = ss::node<job>{"work"};

/// A temporary database, removed with its companion files.
class database {
public:
  database()
      : path_{std::filesystem::temp_directory_path() /
              ("stored_types_" + std::to_string(::getpid()) + ".db")} {}
  ~database() {
    for (const auto* end : {"", "-lease", "-wal", "-shm"})
      std::filesystem::remove(path_.string() + end);
  }
  [[nodiscard]] auto open() const { return ss::sqlite_checkpointer(path_.string()); }

private:
  std::filesystem::path path_;
};

ss::update<shapes> filling(const shapes& s) {
  const auto n = point{static_cast<int>(s.list.size()), "p"};
  auto list = s.list;
  list.push_back(n);
  auto shared = s.shared;
  shared.push_back(n);
  auto out = ss::update{ss::set<&shapes::one>(n),
                        ss::set<&shapes::list>(list),
                        ss::set<&shapes::by_name>({{"a", n}}),
                        ss::set<&shapes::pair>({1, n}),
                        ss::set<&shapes::couple>({n, "q"}),
                        ss::set<&shapes::either>(n),
                        ss::set<&shapes::maybe>(n),
                        ss::set<&shapes::shared>(shared)};
  out.add(ss::set<&shapes::maybes>({n, std::nullopt}));
  auto deep = std::map<std::string, std::vector<std::variant<point, tree>>>{};
  deep["d"] = {n, tree{n, {tree{n, {}}}}};
  out.add(ss::set<&shapes::deep>(deep)).add(ss::set<&shapes::whole>(tree{n, {tree{n, {}}}}));
  out.add(ss::set<&shapes::amounts>({money{n.x}})).add(ss::set<&shapes::any>({n}));
  out.add(ss::set<&shapes::once>({n})).add(ss::set<&shapes::items>({n}));
  out.add(ss::set<&shapes::all_items>({n})).add(ss::set<&shapes::folded>({n}));
  return out.add(ss::set<&shapes::absent>(points{n}));
}

/// Returns the texts of a graph's faults.
template <class Graph>
std::vector<std::string> faults_of(Graph& g, ss::compile_options options) {
  auto out = std::vector<std::string>{};
  try {
    static_cast<void>(g.compile(std::move(options)));
  } catch (const ss::compile_error& e) {
    for (const auto& fault : e.faults())
      out.push_back(fault.text);
  }
  return out;
}

bool names(const std::vector<std::string>& faults, const std::string& what,
           const std::string& type) {
  return std::ranges::any_of(faults, [&](const std::string& text) {
    return text.find(what) != std::string::npos && text.find(type) != std::string::npos;
  });
}

ss::graph<job> working() {
  auto g = ss::graph<job>{};
  g.add(work, [](const job&) { return ss::update{ss::set<&job::n>(1)}; });
  g.edge(ss::start, work);
  return g;
}

} // namespace

BOOST_AUTO_TEST_SUITE(stored_types_of_fields)

BOOST_AUTO_TEST_CASE(checkpoint_restores_containers_of_structs_without_equality) {
  const auto file = database{};
  auto g = ss::graph<shapes>{};
  g.add(fill, filling).add(look, [](const shapes&) {}).sequence({ss::start, fill, look});
  const auto graph = g.compile({.checkpointer = file.open()});
  auto e = ss::engine{{.workers = 1}};
  static_cast<void>(e.invoke(graph, shapes{}, on("t")));
  static_cast<void>(e.invoke(graph, ss::update{ss::set<&shapes::maybe>(std::nullopt)}, on("t")));

  auto again = ss::graph<shapes>{};
  again.add(fill, filling).add(look, [](const shapes&) {}).sequence({ss::start, fill, look});
  const auto reader = again.compile({.checkpointer = file.open()}); // has nothing in memory
  const auto now = e.get_state(reader, on("t"));
  const auto& s = *now.values;
  BOOST_TEST(s.list.at(1).x == 1);
  BOOST_TEST(s.by_name.at("a").name == "p");
  BOOST_TEST(std::get<point>(s.either).x == 1);
  BOOST_TEST(s.maybe.value().x == 1);
  BOOST_TEST(!s.maybes.at(1).has_value());
  BOOST_TEST(std::get<tree>(s.deep.at("d").at(1)).below.at(0).at.x == 1);
  BOOST_TEST(s.shared.size() == 2U);
  BOOST_TEST(s.amounts.at(0).cents == 1);
  BOOST_TEST(s.folded.size() == 2U);
  BOOST_TEST(s.all_items.size() == 2U);
  BOOST_TEST(s.absent.value().at(0).x == 1);
}

// A growing list stores only its new items, whether or not they have an operator==.
BOOST_AUTO_TEST_CASE(growing_list_of_structs_stores_only_new_items) {
  const auto before = points{{1, "a"}, {2, "b"}};
  auto now = before;
  auto text = std::string{};
  BOOST_TEST(!ss::detail::write_change(text, before, now));
  now.push_back({3, "c"});
  BOOST_TEST(ss::detail::write_change(text, before, now));
  BOOST_TEST(text == R"([2,[{"x":3,"name":"c"}]])");
  text.clear();
  const auto one = std::map<std::string, point>{{"a", {1, "a"}}};
  auto other = one;
  BOOST_TEST(!ss::detail::write_change(text, one, other));
  other.at("a").x = 2;
  BOOST_TEST(ss::detail::write_change(text, one, other));
}

// The == of an entity compares only its id, but its other members are stored too.
BOOST_AUTO_TEST_CASE(change_of_struct_does_not_depend_on_its_equality) {
  const auto one = entity{1, "a"};
  const auto other = entity{1, "b"};
  auto text = std::string{};
  BOOST_TEST(!ss::detail::write_change(text, one, one));
  BOOST_TEST(ss::detail::write_change(text, one, other));
  BOOST_TEST(text == R"([{"id":1,"name":"b"}])");
  const auto is_change = [](const auto& before, const auto& now) {
    auto out = std::string{};
    return ss::detail::write_change(out, before, now);
  };
  BOOST_TEST(is_change(std::optional{one}, std::optional{other}));
  BOOST_TEST(is_change(std::vector{one}, std::vector{other}));
  using by_name = std::map<std::string, entity>;
  BOOST_TEST(is_change(by_name{{"k", one}}, by_name{{"k", other}}));
  BOOST_TEST(is_change(std::pair{1, one}, std::pair{1, other}));
  using either = std::variant<int, entity>;
  BOOST_TEST(is_change(either{one}, either{other}));
  BOOST_TEST(!is_change(either{one}, either{one}));
}

BOOST_AUTO_TEST_CASE(compile_rejects_fields_that_cannot_be_stored) {
  const auto file = database{};
  auto g = working();
  const auto faults = faults_of(g, {.checkpointer = file.open()});
  BOOST_TEST(faults.size() == 2U);
  BOOST_TEST(names(faults, "field 'thread'", "stored_types::handle"));
  BOOST_TEST(names(faults, "field 'threads'", "std::vector<stored_types::handle"));
}

BOOST_AUTO_TEST_CASE(compile_accepts_unstorable_fields_that_are_never_serialised) {
  const auto file = database{};
  auto plain = working();
  auto in_memory = working();
  BOOST_TEST(faults_of(plain, {}).empty());
  BOOST_TEST(faults_of(in_memory, kept()).empty());
  auto untracked = ss::graph<untracked_job>{};
  const auto only = ss::node<untracked_job>{"only"};
  untracked.add(only, [](const untracked_job&) {}).edge(ss::start, only);
  BOOST_TEST(faults_of(untracked, {.checkpointer = file.open()}).empty());
}

BOOST_AUTO_TEST_CASE(compile_rejects_unstorable_send_inputs_and_subgraph_fields) {
  const auto file = database{};
  auto g = ss::graph<point>{};
  const auto sent = ss::node<handle>{"sent"};
  const auto below = ss::node<point>{"below"};
  g.add(sent, [](const handle&) {});
  g.add(
      below, working().compile(), [](const point&) { return job{}; },
      [](const job&) { return ss::update<point>{}; });
  g.edge(ss::start, below);
  const auto faults = faults_of(g, {.checkpointer = file.open()});
  BOOST_TEST(names(faults, "node 'sent'", "stored_types::handle"));
  BOOST_TEST(names(faults, "subgraph 'below': field 'thread'", "stored_types::handle"));
}

BOOST_AUTO_TEST_CASE(compile_rejects_channels_that_cannot_be_stored) {
  const auto file = database{};
  auto g = ss::channel_graph{};
  const auto held = g.last_value<handle>("held");
  g.edge(ss::start, g.add("a", ss::reads{held}, [](const auto&) {}));
  BOOST_TEST(names(faults_of(g, {.checkpointer = file.open()}), "'held'", "handle"));
}

BOOST_AUTO_TEST_SUITE_END()
