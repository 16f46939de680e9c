// SPDX-License-Identifier: Apache-2.0
// Pages link to pages and headings that exist, and docs/architecture.md names files that exist.
#include "docs/tree.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(links)

namespace {

/// Calls `take` with each line of a page that is not in a block of code.
void for_each_prose_line(const std::string& page,
                         const std::function<void(const std::string&)>& take) {
  auto in = std::istringstream{page};
  auto is_code = false;
  for (auto line = std::string{}; std::getline(in, line);) {
    if (line.starts_with("```"))
      is_code = !is_code;
    else if (!is_code)
      take(line);
  }
}

/// Returns the anchor that GitHub creates for a heading: lower case, spaces as dashes, without
/// punctuation.
std::string anchor_of(const std::string& heading) {
  auto out = std::string{};
  for (const auto c : heading) {
    if (c == ' ')
      out += '-';
    else if (c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0)
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

std::set<std::string> anchors_of(const std::string& page) {
  auto out = std::set<std::string>{};
  for_each_prose_line(page, [&](const std::string& line) {
    if (const auto text = line.find_first_not_of('#'); text != 0 && text != line.npos)
      out.insert(anchor_of(line.substr(line.find_first_not_of(' ', text))));
  });
  return out;
}

/// Returns the matches of a pattern's first group in the prose of a page.
std::vector<std::string> found_in(const std::string& page, const std::regex& pattern) {
  auto out = std::vector<std::string>{};
  for_each_prose_line(page, [&](const std::string& line) {
    for (auto at = std::sregex_iterator{line.begin(), line.end(), pattern};
         at != std::sregex_iterator{}; ++at)
      out.push_back((*at)[1]);
  });
  return out;
}

/// Returns what is wrong with the link of a page; empty if its target exists.
std::string fault_of(const std::filesystem::path& page, const std::string& link) {
  const auto hash = std::min(link.find('#'), link.size());
  const auto target = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
  if (!std::filesystem::exists(target))
    return "no such file";
  if (hash < link.size() && !anchors_of(read(target)).contains(link.substr(hash + 1)))
    return "no such heading";
  return {};
}

} // namespace

BOOST_AUTO_TEST_CASE(page_links_lead_to_existing_files_and_headings) {
  const auto link = std::regex{R"(\[[^\]]+\]\(([^)\s]+)\))"};
  auto pages = std::vector{tree / "README.md", tree / "CONTRIBUTING.md"};
  for (const auto& entry : std::filesystem::directory_iterator{tree / "docs"})
    if (entry.path().extension() == ".md")
      pages.push_back(entry.path());
  auto count = std::size_t{0};
  for (const auto& page : pages) {
    for (const auto& to : found_in(read(page), link)) {
      if (to.starts_with("http"))
        continue;
      ++count;
      BOOST_TEST(fault_of(page, to) == "", page << ": " << to);
    }
  }
  BOOST_TEST(count > 50U);
}

BOOST_AUTO_TEST_CASE(link_check_reports_missing_files_and_headings) {
  BOOST_TEST(fault_of(tree / "README.md", "docs/none.md") == "no such file");
  BOOST_TEST(fault_of(tree / "README.md", "docs/errors.md#none") == "no such heading");
  BOOST_TEST(fault_of(tree / "README.md", "#a-graph") == "");
}

BOOST_AUTO_TEST_CASE(files_named_by_architecture_page_exist) {
  const auto path = std::regex{"`([a-z_]+/[a-z_/.]*)`"};
  const auto named = found_in(read(tree / "docs/architecture.md"), path);
  for (const auto& one : named)
    BOOST_TEST(std::filesystem::exists(tree / one), one);
  BOOST_TEST(named.size() > 40U);
}

BOOST_AUTO_TEST_SUITE_END()
