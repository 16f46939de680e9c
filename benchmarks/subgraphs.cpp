// SPDX-License-Identifier: Apache-2.0
// W6: N Sends, each of which runs a subgraph of twelve super-steps.
#include "digest.hpp"
#include "series.hpp"
#include "workloads.hpp"

#include <boost/describe/class.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::bench {

namespace {

struct append_texts {
  void operator()(std::vector<std::string>& into, std::vector<std::string>&& more) const {
    for (auto& text : more)
      into.push_back(std::move(text));
  }
};

} // namespace

struct joke_state {
  std::string subject;
  std::vector<std::string> jokes;
};
BOOST_DESCRIBE_STRUCT(joke_state, (), (subject, jokes))

struct show_state {
  std::vector<std::string> subjects;
  std::vector<std::string> jokes;
  using reducers = superstep::reducers<by<&show_state::jokes, append_texts>>;
};
BOOST_DESCRIBE_STRUCT(show_state, (), (subjects, jokes))

namespace {

constexpr auto steps_below = 12;
constexpr auto subject_length = std::size_t{1'000};
constexpr auto last_bump = std::string_view{" a a a a a a a a a a"};

/// Returns a list of one text: two parts joined, with one copy of each.
std::vector<std::string> joined(std::string_view a, std::string_view b) {
  auto out = std::vector<std::string>(1);
  out.front().reserve(a.size() + b.size());
  out.front().append(a).append(b);
  return out;
}

constexpr auto edit = node<joke_state>{"edit"};
constexpr auto generate = node<joke_state>{"generate"};
constexpr auto bump = node<joke_state>{"bump"};
constexpr auto generate_joke = node<std::string>{"generate_joke"};

compiled_graph<joke_state> make_joke_graph() {
  auto g = graph<joke_state>{};
  g.add(edit, [](const joke_state& s) {
    return update{set<&joke_state::subject>(s.subject + " - hohoho")};
  });
  g.add(generate, [](const joke_state& s) {
    return update{set<&joke_state::jokes>(joined("Joke about ", s.subject))};
  });
  g.add(bump, [](const joke_state& s) {
    return update{set<&joke_state::jokes>(joined(s.jokes.front(), " a"))};
  });
  g.edge(start, edit).edge(edit, generate).edge(generate, bump).edge(generate, end);
  g.branch(bump,
           [](const joke_state& s) {
             return s.jokes.front().ends_with(last_bump) ? destination{end} : destination{bump};
           },
           {bump, end});
  return g.compile({.name = "joke"});
}

compiled_graph<show_state> make_show() {
  auto g = graph<show_state>{};
  g.add(
      generate_joke, make_joke_graph(),
      [](const std::string& subject) {
        return joke_state{subject, {}};
      },
      [](const joke_state& s) { return update{set<&show_state::jokes>(s.jokes)}; });
  g.branch(start,
           [](const show_state& s) {
             auto to = destinations{};
             to.reserve(s.subjects.size());
             for (const auto& subject : s.subjects)
               to.emplace_back(generate_joke, subject);
             return to;
           },
           {generate_joke});
  g.edge(generate_joke, end);
  return g.compile({.name = "show"});
}

show_state make_subjects(std::size_t width) {
  auto out = show_state{};
  for (auto k = std::size_t{0}; k < width; ++k) {
    auto subject = "s" + std::to_string(k) + "-";
    subject.resize(subject_length, 'x');
    out.subjects.push_back(std::move(subject));
  }
  return out;
}

std::string list_of(const std::vector<std::string>& texts) {
  auto out = std::string{};
  for (const auto& text : texts)
    out += (out.empty() ? "" : "|") + text;
  return out;
}

} // namespace

report subgraphs(parameters& p) {
  const auto width = p.count("N", 100, {.min = 1, .max = 100'000});
  const auto runs = p.count("runs", 1);
  const auto repetitions = p.repetitions();
  const auto options = p.engine();
  p.done();
  auto e = engine{options};
  const auto graph = make_show();
  auto runs_of = series<show_state>{e, graph, make_subjects(width), {}};
  static_cast<void>(runs_of.run(1));
  auto out = report{.unit = "subgraph super-step",
                    .units = static_cast<double>(steps_below) * static_cast<double>(width) *
                             static_cast<double>(runs)};
  auto jokes = std::vector<std::string>{};
  out.time = measure(repetitions, [&] {
    auto last = runs_of.run(runs);
    jokes = last.state.jokes;
    expect(jokes.size() == width, std::to_string(jokes.size()) + " jokes");
    return last;
  });
  out.checks = {{"jokes", jokes.size()}, {"digest", digest(list_of(jokes))}};
  return out;
}

} // namespace superstep::bench
