// SPDX-License-Identifier: Apache-2.0
// docs/many-machines.md names a test for each promise, and its examples for launchers are short.
#include "docs/tree.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

BOOST_AUTO_TEST_SUITE(many_machines)

namespace {

namespace fs = std::filesystem;

/// Returns the part of the page below a heading.
std::string section(const std::string& heading) {
  const auto page = read(tree / "docs/many-machines.md");
  const auto begin = page.find("\n## " + heading + '\n');
  BOOST_REQUIRE_MESSAGE(begin != std::string::npos, "the page has no section " << heading);
  return page.substr(begin, page.find("\n## ", begin + 1) - begin);
}

/// Returns the names of the test cases that concern ledgers and PostgreSQL.
std::set<std::string> test_names() {
  static const auto test = std::regex{R"(BOOST_(?:AUTO|FIXTURE|DATA)_TEST_CASE\((\w+))"};
  auto out = std::set<std::string>{};
  for (const auto* folder : {"unit/ledger", "unit/postgres", "system/ledger", "system/postgres"})
    for (const auto& file : fs::recursive_directory_iterator{tree / "tests" / folder}) {
      if (file.path().extension() != ".cpp")
        continue;
      const auto text = read(file.path());
      for (auto i = std::sregex_iterator{text.begin(), text.end(), test};
           i != std::sregex_iterator{}; ++i)
        out.insert((*i)[1]);
    }
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_promise_names_its_tests) {
  static const auto quoted = std::regex{"`(\\w+)`"};
  const auto tests = test_names();
  auto lines = std::istringstream{section("What is promised")};
  auto promises = 0;
  for (auto line = std::string{}; std::getline(lines, line);) {
    if (!line.starts_with("| ") || line.starts_with("| promise") || line.starts_with("| ---"))
      continue;
    ++promises;
    const auto cell = line.substr(line.rfind('|', line.size() - 2));
    auto name = std::sregex_iterator{cell.begin(), cell.end(), quoted};
    BOOST_TEST((name != std::sregex_iterator{}), "no test is named: " << line);
    for (; name != std::sregex_iterator{}; ++name)
      BOOST_TEST(tests.contains((*name)[1]), "there is no test " << (*name)[1]);
  }
  BOOST_TEST(promises >= 15);
}

BOOST_AUTO_TEST_CASE(examples_of_launchers_are_short) {
  auto lines = std::istringstream{section("Start the processes")};
  auto blocks = 0;
  auto length = 0;
  auto is_inside = false;
  for (auto line = std::string{}; std::getline(lines, line);) {
    if (!line.starts_with("```")) {
      length += is_inside ? 1 : 0;
      continue;
    }
    if (is_inside)
      BOOST_TEST(length <= 12);
    is_inside = !is_inside;
    blocks += is_inside ? 1 : 0;
    length = 0;
  }
  BOOST_TEST(blocks == 3);
}

BOOST_AUTO_TEST_SUITE_END()
