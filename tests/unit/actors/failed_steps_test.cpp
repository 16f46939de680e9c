// SPDX-License-Identifier: Apache-2.0
// If an update of a step fails, the state of the previous step remains. This holds whatever the
// user's reducers, assignments and comparisons had already changed.
#include "actors/engine_access.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/messages/messages.hpp>

#include <boost/describe/class.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(failed_steps)

namespace {

namespace ss = superstep;
using words = std::vector<std::string>;

[[noreturn]] void fail(bool is_exception) {
  if (is_exception)
    throw std::runtime_error{"refused"};
  throw 7;
}
bool is_bad(const words& more) {
  return !more.empty() && more.front().starts_with("bad");
}

/// Changes the value, then throws.
struct late_fold {
  void operator()(words& into, words&& more) const {
    const auto bad = is_bad(more);
    const auto is_exception = bad && more.front() == "bad";
    for (auto& m : more)
      into.push_back(std::move(m));
    if (bad)
      fail(is_exception);
  }
};
/// Moves the value away, then throws.
struct taking_fold {
  void operator()(words& into, words&& more) const {
    auto taken = std::move(into);
    if (is_bad(more))
      fail(more.front() == "bad");
    taken.insert(taken.end(), more.begin(), more.end());
    into = std::move(taken);
  }
};
/// Reducer that is a function of two values.
struct joining_fold {
  std::string operator()(const std::string& into, const std::string& more) const {
    if (more.starts_with("bad"))
      fail(more == "bad");
    return into + more;
  }
};
/// A type whose assignment may throw and then leaves the target half assigned.
struct fragile {
  int n = 0;
  fragile() = default;
  explicit fragile(int of) : n{of} {}
  fragile(const fragile&) = default;
  fragile(fragile&& from) noexcept(false) : n{from.n} {}
  fragile& operator=(const fragile& from) {
    n = -1;
    if (from.n > 100)
      fail(from.n == 101);
    n = from.n;
    return *this;
  }
  ~fragile() = default;
};

struct kept {
  int count = 0;
  words late;
  words taking;
  std::string joined;
  std::string plain;
  fragile risk;
  words latest;
  ss::message_list asked;
  using reducers =
      ss::reducers<ss::by<&kept::count, std::plus<>>, ss::by<&kept::late, late_fold>,
                   ss::by<&kept::taking, taking_fold>, ss::by<&kept::joined, joining_fold>,
                   ss::by<&kept::latest, ss::topic_rule>, ss::by<&kept::asked, ss::add_messages>>;
};
BOOST_DESCRIBE_STRUCT(kept, (), (count, late, taking, joined, plain, risk, latest, asked))

/// A value whose constructor and comparison throw on demand.
struct moody {
  enum class trouble { none, when_made, when_compared };
  inline static auto now = trouble::none;
  int n = 0;
  moody() {
    if (now == trouble::when_made && ++made > 2) // after the first of two values was reset
      fail(true);
  }
  explicit moody(int of) : n{of} {}
  friend bool operator==(const moody& a, const moody& b) {
    if (now == trouble::when_compared)
      fail(true);
    return a.n == b.n;
  }
  inline static int made = 0;
};

struct brief {
  int count = 0;
  std::string plain;
  moody first;
  moody last;
  using reducers =
      ss::reducers<ss::by<&brief::count, std::plus<>>, ss::by<&brief::first, ss::ephemeral_rule>,
                   ss::by<&brief::last, ss::ephemeral_rule>>;
};
BOOST_DESCRIBE_STRUCT(brief, (), (count, plain, first, last))

constexpr auto early = ss::node<brief>{"early"};
constexpr auto late = ss::node<brief>{"late"};
constexpr auto first = ss::node<kept>{"first"};
constexpr auto worker = ss::node<int>{"worker"};

using updates = std::vector<ss::update<kept>>;

/// Runs a step that succeeds and one in which each update is written by its own task.
ss::run_result<kept> run_with(const updates& written, bool is_shared) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<kept>{};
  g.add(first, [](const kept&) {
    return ss::update{
        ss::set<&kept::count>(5),       ss::set<&kept::late>({"a"}),
        ss::set<&kept::taking>({"b"}),  ss::set<&kept::joined>("c"),
        ss::set<&kept::plain>("whole"), ss::set<&kept::risk>(fragile{9}),
        ss::set<&kept::latest>({"d"}),  ss::set<&kept::asked>({ss::human_message("hi")})};
  });
  g.add(worker, [written](const int& n) { return written[static_cast<std::size_t>(n)]; });
  g.edge(ss::start, first);
  g.branch(first, [n = written.size()](const kept&) {
    auto all = ss::destinations{};
    for (auto i = 0; i < static_cast<int>(n); ++i)
      all.emplace_back(worker, i);
    return all;
  });
  const auto graph = g.compile();
  if (!is_shared)
    return e.try_invoke(graph, kept{});
  auto stream = ss::detail::engine_access::stream(e, graph, kept{}, ss::stream_mode::values);
  auto events = std::vector<ss::state_view>{}; // while they exist, a barrier must copy the state
  try {
    while (const auto event = stream.next())
      events.push_back(event->state);
  } catch (const ss::graph_error&) { // the caller checks the error of the result
  }
  auto ended = ss::run_result<kept>{};
  const auto& raw = stream.result();
  ended.error = raw.error;
  if (const auto* state = ss::state_if<kept>(raw.state.get()))
    ended.state = *state;
  return ended;
}

void check_first_step(const updates& written) {
  for (const auto is_shared : {false, true}) {
    const auto ended = run_with(written, is_shared);
    BOOST_TEST(ended.error.has_value());
    const auto& s = ended.state;
    BOOST_TEST(s.count == 5);
    BOOST_TEST(s.late == words{"a"}, boost::test_tools::per_element());
    BOOST_TEST(s.taking == words{"b"}, boost::test_tools::per_element());
    BOOST_TEST(s.joined == "c");
    BOOST_TEST(s.plain == "whole");
    BOOST_TEST(s.risk.n == 9);
    BOOST_TEST(s.latest == words{"d"}, boost::test_tools::per_element());
    BOOST_TEST(s.asked.size() == 1U);
  }
}

ss::update<kept> bad_talk() {
  return ss::update{ss::set<&kept::asked>({ss::human_message("x"), ss::remove_message("nobody")})};
}

} // namespace

BOOST_AUTO_TEST_CASE(step_with_failing_write_leaves_state_unchanged) {
  for (const auto* const bad : {"bad", "bad too"}) {
    check_first_step({ss::update{ss::set<&kept::late>({bad})}});
    check_first_step({ss::update{ss::set<&kept::taking>({bad})}});
    check_first_step({ss::update{ss::set<&kept::joined>(bad)}});
  }
  for (const auto n : {101, 102})
    check_first_step({ss::update{ss::set<&kept::risk>(fragile{n})}});
  check_first_step({bad_talk()});
}

BOOST_AUTO_TEST_CASE(failing_write_undoes_earlier_writes_to_same_channel) {
  const auto twice = [](auto good, auto bad) { check_first_step({good, good, bad}); };
  twice(ss::update{ss::set<&kept::late>({"x"})}, ss::update{ss::set<&kept::late>({"bad"})});
  twice(ss::update{ss::set<&kept::taking>({"x"})}, ss::update{ss::set<&kept::taking>({"bad"})});
  twice(ss::update{ss::set<&kept::joined>("x")}, ss::update{ss::set<&kept::joined>("bad")});
  twice(ss::update{ss::set<&kept::asked>({ss::human_message("x")})}, bad_talk());
  check_first_step({ss::update{ss::overwrite<&kept::late>({"x"})},
                    ss::update{ss::overwrite<&kept::late>({"y"})}});
}

BOOST_AUTO_TEST_CASE(failing_write_undoes_writes_to_other_channels) {
  const auto all_but = [](auto&& bad) {
    return updates{ss::update{ss::set<&kept::count>(1), ss::set<&kept::plain>("half"),
                              ss::set<&kept::latest>({"y"}), ss::set<&kept::late>({"x"}),
                              ss::set<&kept::asked>({ss::human_message("x")})},
                   bad};
  };
  check_first_step(all_but(ss::update{ss::set<&kept::taking>({"bad"})}));
  check_first_step(all_but(ss::update{ss::set<&kept::joined>("bad")}));
  check_first_step(all_but(ss::update{ss::set<&kept::risk>(fragile{101})}));
  check_first_step(all_but(ss::update{ss::set<&kept::late>({"bad"})}));
  check_first_step(all_but(bad_talk()));
  check_first_step(all_but(ss::update{ss::set<&kept::plain>("other")}));
}

/// A step writes `count` and `plain`; then the values that last one step are reset.
static ss::run_result<brief> run_until_emptied(moody::trouble when_emptied) {
  auto e = ss::engine{{.workers = 1}};
  auto g = ss::graph<brief>{};
  g.add(early, [](const brief&) {
    return ss::update{ss::set<&brief::count>(5), ss::set<&brief::first>(moody{1}),
                      ss::set<&brief::last>(moody{2})};
  });
  g.add(late, [when_emptied](const brief&) {
    moody::now = when_emptied;
    return ss::update{ss::set<&brief::count>(1), ss::set<&brief::plain>("half")};
  });
  g.edge(ss::start, early).edge(early, late);
  moody::made = 0;
  auto ended = e.try_invoke(g.compile(), brief{});
  moody::now = moody::trouble::none;
  return ended;
}

BOOST_AUTO_TEST_CASE(failing_reset_of_ephemeral_values_undoes_step) {
  const auto ended = run_until_emptied(moody::trouble::when_made);
  BOOST_TEST(ended.error.has_value());
  BOOST_TEST(ended.state.count == 5);
  BOOST_TEST(ended.state.plain.empty());
  BOOST_TEST(ended.state.first.n == 1);
  BOOST_TEST(ended.state.last.n == 2);
}

BOOST_AUTO_TEST_CASE(ephemeral_values_with_throwing_comparison_are_reset) {
  const auto ended = run_until_emptied(moody::trouble::when_compared);
  BOOST_TEST(!ended.error.has_value());
  BOOST_TEST(ended.state.count == 6);
  BOOST_TEST(ended.state.plain == "half");
  BOOST_TEST(ended.state.first.n == 0);
}

BOOST_AUTO_TEST_CASE(successful_step_applies_all_writes) {
  for (const auto is_shared : {false, true}) {
    const auto ended =
        run_with({ss::update{ss::set<&kept::count>(1), ss::set<&kept::late>({"x"}),
                             ss::set<&kept::taking>({"y"}), ss::set<&kept::risk>(fragile{10}),
                             ss::set<&kept::latest>({"e"})},
                  ss::update{ss::set<&kept::late>({"z"}), ss::set<&kept::joined>("j"),
                             ss::set<&kept::plain>("new"), ss::set<&kept::latest>({"f"})}},
                 is_shared);
    BOOST_TEST(!ended.error.has_value());
    BOOST_TEST(ended.state.count == 6);
    BOOST_TEST(ended.state.late == (words{"a", "x", "z"}), boost::test_tools::per_element());
    BOOST_TEST(ended.state.taking == (words{"b", "y"}), boost::test_tools::per_element());
    BOOST_TEST(ended.state.joined == "cj");
    BOOST_TEST(ended.state.plain == "new");
    BOOST_TEST(ended.state.risk.n == 10);
    BOOST_TEST(ended.state.latest == (words{"e", "f"}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
