// SPDX-License-Identifier: Apache-2.0
// docs/behaviours.md names evidence for each behaviour. The tests that it names exist, have run and
// have passed. ctest runs them before this test and stores their results in files.
#include "graph_cases/case_file.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr auto behaviours_count = std::size_t{353};
constexpr auto missing_max = 0; // number of behaviours that may be missing; must not be raised

struct answer {
  std::string number;
  std::string text;
  std::string answer;
};

std::vector<answer> read_answers() {
  auto in = std::ifstream{std::filesystem::path{SUPERSTEP_TREE} / "docs/behaviours.md"};
  BOOST_REQUIRE_MESSAGE(in.good(), "cannot read docs/behaviours.md");
  const auto row = std::regex{R"(\| (B\d{3}) \| (.+) \| (.+) \|)"};
  auto out = std::vector<answer>{};
  for (auto line = std::string{}; std::getline(in, line);) {
    auto found = std::smatch{};
    if (std::regex_match(line, found, row))
      out.push_back({found[1], found[2], found[3]});
    else
      BOOST_TEST(!line.starts_with("| B"), "this row does not have three columns: " << line);
  }
  return out;
}

/// Returns the texts in backticks that contain a slash. These name tests.
std::vector<std::string> references(const std::string& text) {
  static const auto quoted = std::regex{"`([^`]+/[^`]+)`"};
  auto out = std::vector<std::string>{};
  for (auto i = std::sregex_iterator{text.begin(), text.end(), quoted}; i != std::sregex_iterator{};
       ++i)
    out.push_back((*i)[1]);
  return out;
}

/// Returns the test cases in the results of one test program, and whether each passed. A
/// data-driven case `suite/name/_3` also counts as `suite/name`, which passes if all of its cases
/// do.
std::map<std::string, bool> results_of(const std::string& program) {
  auto in = std::ifstream{std::filesystem::path{SUPERSTEP_RESULTS} / (program + ".xml")};
  auto out = std::map<std::string, bool>{};
  const auto text = std::string{std::istreambuf_iterator<char>{in}, {}};
  const auto open =
      std::regex{R"re(<testcase assertions="\d+"(?: classname="([^"]*)")? name="([^"]*)")re"};
  for (auto i = std::sregex_iterator{text.begin(), text.end(), open}; i != std::sregex_iterator{};
       ++i) {
    const auto begin = static_cast<std::size_t>(i->position()) + i->str().size();
    const auto body = text.substr(begin, text.find("<testcase", begin) - begin);
    const auto passed = body.find("<skipped") == std::string::npos &&
                        body.find("<failure") == std::string::npos &&
                        body.find("<error") == std::string::npos;
    auto path = (*i)[1].str();
    std::ranges::replace(path, '.', '/');
    if (!path.empty()) {
      const auto [known, is_new] = out.emplace(path, passed);
      known->second = known->second && passed;
      path += '/';
    }
    out[path + (*i)[2].str()] = passed;
    // A test over several types also counts under its name without a type. It passes if it passes
    // for all types.
    if (const auto type = (*i)[2].str().find("&lt;"); type != std::string::npos) {
      const auto [known, is_new] = out.emplace(path + (*i)[2].str().substr(0, type), passed);
      known->second = known->second && passed;
    }
  }
  return out;
}

bool is_explained(const std::string& text) {
  return text.starts_with("not here: ") || text.starts_with("missing: ");
}

} // namespace

BOOST_AUTO_TEST_CASE(behaviours_are_numbered_and_name_their_evidence) {
  const auto answers = read_answers();
  BOOST_TEST_REQUIRE(answers.size() == behaviours_count);
  for (auto i = std::size_t{0}; i < answers.size(); ++i) {
    auto number = std::array<char, 8>{};
    std::snprintf(number.data(), number.size(), "B%03u", static_cast<unsigned>(i + 1));
    BOOST_TEST(answers[i].number == number.data());
    BOOST_TEST((is_explained(answers[i].answer) || !references(answers[i].answer).empty()),
               answers[i].number << " names no test and no reason");
  }
}

BOOST_AUTO_TEST_CASE(tests_named_as_evidence_exist_and_passed) {
  auto cases = std::set<std::string>{};
  superstep::graph_cases::for_each_case(
      [&](const auto& record) { cases.emplace(record.at("id").as_string()); });
  auto results = std::map<std::string, std::map<std::string, bool>>{};
  const auto outcome = [&](const std::string& program, const std::string& test) -> const char* {
    auto known = results.find(program);
    if (known == results.end())
      known = results.emplace(program, results_of(program)).first;
    if (known->second.empty())
      return "its program has not run";
    const auto found = known->second.find(test);
    if (found == known->second.end())
      return "there is no such test";
    return found->second ? nullptr : "it failed or did not run";
  };
  for (const auto& a : read_answers()) {
    for (const auto& name : references(a.answer)) {
      const auto slash = name.find('/');
      const auto program = name.substr(0, slash);
      const auto test = name.substr(slash + 1);
      const auto* wrong = static_cast<const char*>(nullptr);
      if (program != "cases")
        wrong = outcome(program, test);
      else if (!cases.contains(test))
        wrong = "there is no such recorded case";
      else
        wrong = outcome("graph_cases", "graphs_reproduce_the_recorded_traces");
      BOOST_TEST(wrong == nullptr, a.number << " names " << name << ": " << wrong);
    }
  }
}

// The limit must not be raised, so an implemented behaviour stays implemented.
BOOST_AUTO_TEST_CASE(number_of_missing_behaviours_does_not_grow) {
  const auto answers = read_answers();
  const auto missing = std::ranges::count_if(
      answers, [](const answer& a) { return a.answer.starts_with("missing: "); });
  BOOST_TEST(missing <= missing_max);
}
