// SPDX-License-Identifier: Apache-2.0
// The table of docs/prebuilt.md names the tests and recorded cases that cover each option and
// version of an agent. This test checks that they exist. Other test programs run them.
#include "docs/tree.hpp"
#include "graph_cases/case_file.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace prebuilt_table_test {

namespace {

std::set<std::string> all_tests() {
  const auto one = std::regex{R"(BOOST_(?:AUTO|DATA)_TEST_CASE\(\s*(\w+))"};
  auto out = std::set<std::string>{};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{tree / "tests"}) {
    if (entry.path().extension() != ".cpp")
      continue;
    const auto text = read(entry.path());
    for (auto i = std::sregex_iterator{text.begin(), text.end(), one}; i != std::sregex_iterator{};
         ++i)
      out.insert((*i)[1]);
  }
  return out;
}

std::set<std::string> all_records() {
  auto out = std::set<std::string>{};
  superstep::graph_cases::for_each_case(
      [&](const auto& record) { out.emplace(record.at("id").as_string()); });
  return out;
}

bool names_version(std::string_view id) {
  return id.find("/v1") != std::string_view::npos || id.find("/v2") != std::string_view::npos;
}

/// Whether there are recorded cases of this name for a version. Ids without a version belong to v2.
bool has_records(const std::set<std::string>& records, const std::string& name,
                 std::string_view version) {
  return std::ranges::any_of(records, [&](const std::string& id) {
    const auto is_named =
        id == name || id.starts_with(name + "/") || (id + "/").starts_with("agent/" + name + "/");
    return is_named &&
           (names_version(id) ? id.find(version) != std::string::npos : version == "/v2");
  });
}

std::vector<std::string> split(const std::string& text, char at) {
  auto out = std::vector<std::string>(1);
  for (const auto c : text)
    c == at ? static_cast<void>(out.emplace_back()) : out.back().push_back(c);
  return out;
}

std::vector<std::string> quoted(const std::string& text) {
  static const auto word = std::regex{"`([^`]+)`"};
  auto out = std::vector<std::string>{};
  for (auto i = std::sregex_iterator{text.begin(), text.end(), word}; i != std::sregex_iterator{};
       ++i)
    out.push_back((*i)[1]);
  return out;
}

/// Returns the rows of the table: option, v1, v2.
std::vector<std::vector<std::string>> rows() {
  const auto document = read(tree / "docs/prebuilt.md");
  const auto begin = document.find("| option | v1 | v2 |");
  BOOST_TEST_REQUIRE(begin != std::string::npos);
  auto out = std::vector<std::vector<std::string>>{};
  for (const auto& line : split(document.substr(begin, document.find("\n\n", begin) - begin), '\n'))
    if (auto cells = split(line, '|');
        cells.size() == 5 && !cells[1].starts_with(" option") && !cells[1].starts_with(" ---"))
      out.push_back({cells[1], cells[2], cells[3]});
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(prebuilt_table_names_only_existing_tests_and_cases) {
  const auto tests = all_tests();
  const auto records = all_records();
  const auto table = rows();
  BOOST_TEST_REQUIRE(table.size() >= 20U);
  for (const auto& row : table) {
    for (auto column = std::size_t{1}; column < row.size(); ++column) {
      const auto version = std::string{"/v"} + std::to_string(column);
      for (const auto& part : split(row[column], ';'))
        for (const auto& name : quoted(part)) {
          const auto is_record = part.find("recorded") < part.find('`' + name);
          const auto is_there =
              tests.contains(name) || (is_record && has_records(records, name, version));
          BOOST_TEST(is_there, "the row" << row[0] << "names " << name << ", which does not exist");
        }
      const auto says_nothing = row[column].find_first_not_of(' ') == std::string::npos;
      BOOST_TEST((column == 1 || !says_nothing), "the row" << row[0] << "names nothing for v2");
    }
  }
}

} // namespace prebuilt_table_test
