// SPDX-License-Identifier: Apache-2.0
// W5: a state of fifteen keys with lists that grow and maps that are merged, like `wide_state` of
// LangGraph's own benchmark. The values are immutable, so the keys share them.
#include "workloads.hpp"

#include <superstep/actors/engine.hpp>

#include <boost/describe/class.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace superstep::bench {

namespace {

using field = std::shared_ptr<const json::value>;
/// A value of the state: a map of fields, shared by the keys that contain it.
using document = std::map<std::string, field>;
using document_ptr = std::shared_ptr<const document>;
using documents = std::vector<document_ptr>;

struct append_documents {
  void operator()(documents& into, documents&& more) const {
    into.insert(into.end(), std::make_move_iterator(more.begin()),
                std::make_move_iterator(more.end()));
  }
};

struct merge_fields {
  void operator()(document& into, document&& more) const {
    for (auto& [key, value] : more)
      into.insert_or_assign(key, std::move(value));
  }
};

} // namespace

struct wide_lists_state {
  documents messages;
  documents trigger_events;
  std::string primary_issue_medium;
  document_ptr autoresponse;
  document_ptr issue;
  documents relevant_rules;
  documents memory_docs;
  documents categorizations;
  documents responses;
  document_ptr user_info;
  document_ptr crm_info;
  std::string email_thread_id;
  document slack_participants;
  std::string bot_id;
  document notified_assignees;
  using state = wide_lists_state;
  using reducers = superstep::reducers<
      by<&state::messages, append_documents>, by<&state::trigger_events, append_documents>,
      by<&state::categorizations, append_documents>, by<&state::responses, append_documents>,
      by<&state::slack_participants, merge_fields>, by<&state::notified_assignees, merge_fields>>;
};
BOOST_DESCRIBE_STRUCT(wide_lists_state, (),
                      (messages, trigger_events, primary_issue_medium, autoresponse, issue,
                       relevant_rules, memory_docs, categorizations, responses, user_info, crm_info,
                       email_thread_id, slack_participants, bot_id, notified_assignees))

namespace {

using wide = wide_lists_state;

/// The size of a run, as in the names of LangGraph's benchmark: `25x300` is five times five maps,
/// and more than 300 messages at the end.
struct wide_size {
  std::size_t outer = 5;
  std::size_t inner = 5;
  std::size_t messages = 300;
};

wide_size size_of(const std::string& name) {
  if (name == "15x600")
    return {3, 5, 600};
  if (name == "9x1200")
    return {3, 3, 1'200};
  return {};
}

/// Returns `count` lower-case letters of a fixed pseudo-random sequence.
std::string letters(std::size_t count, std::uint64_t seed) {
  auto out = std::string(count, ' ');
  auto x = seed * 2 + 88'172'645'463'325'252;
  for (auto& c : out) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    c = static_cast<char>('a' + x % 26);
  }
  return out;
}

document_ptr make_document(const wide_size& size) {
  auto list = json::array{};
  for (auto round = 0; round < 5; ++round)
    for (const auto& v :
         json::array{"hi?hi?hi?hi?hi?hi?hi?hi?hi?hi?", true, 1, 6'327'816'386'138, nullptr})
      list.push_back(v);
  auto out = document{};
  for (auto i = std::size_t{0}; i < size.outer; ++i) {
    auto inner = json::object{};
    for (auto j = std::size_t{0}; j < size.inner; ++j)
      inner[std::string(10, static_cast<char>('0' + j))] = list;
    out[std::string(10, static_cast<char>('0' + i))] =
        std::make_shared<const json::value>(std::move(inner));
  }
  return std::make_shared<const document>(std::move(out));
}

compiled_graph<wide> make_wide_lists(std::size_t messages_max) {
  constexpr auto one = node<wide>{"one"};
  constexpr auto two = node<wide>{"two"};
  constexpr auto three = node<wide>{"three"};
  constexpr auto four = node<wide>{"four"};
  constexpr auto five = node<wide>{"five"};
  constexpr auto six = node<wide>{"six"};
  auto g = graph<wide>{};
  g.add(one, [messages_max](const wide& s) {
    return update{set<&wide::trigger_events>(s.messages),
                  set<&wide::primary_issue_medium>(letters(messages_max, s.messages.size()))};
  });
  g.add(two, [](const wide& s) {
    return update{set<&wide::autoresponse>(s.trigger_events.back()),
                  set<&wide::issue>(s.trigger_events.back())};
  });
  g.add(three, [](const wide& s) {
    return update{set<&wide::relevant_rules>(documents{s.autoresponse})};
  });
  g.add(four, [](const wide& s) {
    return update{set<&wide::categorizations>(s.trigger_events),
                  set<&wide::responses>(s.trigger_events),
                  set<&wide::memory_docs>(s.trigger_events)};
  });
  g.add(five, [messages_max](const wide& s) {
    const auto& last = s.categorizations.back();
    return update{set<&wide::user_info>(last),
                  set<&wide::crm_info>(last),
                  set<&wide::slack_participants>(*last),
                  set<&wide::notified_assignees>(*last),
                  set<&wide::email_thread_id>(letters(messages_max, s.responses.size())),
                  set<&wide::bot_id>(letters(messages_max, s.responses.size() + 1))};
  });
  g.add(six, [](const wide& s) { return update{set<&wide::messages>(s.responses)}; });
  g.edge(start, one).edge(one, two).edge(two, three).edge(two, four);
  g.edge({three, four}, five);
  g.edge(five, six);
  g.branch(six,
           [messages_max](const wide& s) {
             return s.messages.size() > messages_max ? destination{end} : destination{one};
           },
           {one, end});
  return g.compile({.name = "wide_lists"});
}

} // namespace

report wide_lists(parameters& p) {
  const auto size = size_of(p.choice("size", {"25x300", "15x600", "9x1200"}));
  const auto runs = p.count("runs", 1, {.min = 1, .max = 10'000});
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  constexpr auto steps_per_pass = 5;
  auto e = engine{options};
  auto input = wide{};
  input.messages = {make_document(size)};
  auto config = run_config{};
  config.recursion_limit = 1'000;
  const auto run = [&](const compiled_graph<wide>& graph) {
    auto ended = e.try_invoke(graph, input, config);
    if (ended.error)
      throw std::runtime_error{ended.error->text};
    return ended;
  };
  static_cast<void>(run(make_wide_lists(1)));
  const auto graph = make_wide_lists(size.messages);
  auto out = report{.unit = "super-step"};
  out.time = measure(repetitions, [&] {
    auto ended = run(graph);
    for (auto i = std::size_t{1}; i < runs; ++i) // one run alone is too short for the CPU clock
      ended = run(graph);
    const auto steps = static_cast<std::int64_t>(ended.stats.steps);
    expect(ended.state.responses.size() > 1 && steps % steps_per_pass == 0,
           std::to_string(steps) + " steps");
    out.units = static_cast<double>(steps) * static_cast<double>(runs);
    out.checks = {{"messages", ended.state.messages.size()}, {"passes", steps / steps_per_pass}};
    return ended;
  });
  return out;
}

} // namespace superstep::bench
