// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "docs/tree.hpp"

#include <superstep/base/json.hpp>

#include <boost/test/unit_test.hpp>

#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace superstep::testing {

using key_set = std::set<std::string>;

/// Adds the keys of all objects in a value, with those of nested objects joined by a dot. Skips the
/// keys of messages, which another page documents.
inline void add_keys(key_set& into, const json::value& value, const std::string& above) {
  if (const auto* list = value.if_array())
    for (const auto& one : *list)
      add_keys(into, one, above);
  if (const auto* members = value.if_object())
    for (const auto& [name, member] : *members) {
      const auto key = (above.empty() ? "" : above + '.') + std::string{name};
      into.insert(key);
      if (key != "output.messages" && key != "columns")
        add_keys(into, member, key);
    }
}

inline key_set keys_of_lines(const std::string& lines) {
  auto out = key_set{};
  auto in = std::istringstream{lines};
  for (auto line = std::string{}; std::getline(in, line);)
    add_keys(out, parse_json(line).value(), "");
  return out;
}

/// Returns the code spans in the first column of the tables between this heading and the next one.
inline key_set documented(const std::string& page, const std::string& heading) {
  const auto text = read(tree / page);
  const auto begin = text.find("\n### " + heading + "\n");
  BOOST_TEST_REQUIRE(begin != std::string::npos, heading);
  const auto section = text.substr(begin, text.find("\n##", begin + 1) - begin);
  const auto row = std::regex{R"(\n\| ([^|\n]*`[^|\n]*) \| [^|\n]*\w)"};
  const auto name = std::regex{"`([^`]+)`"};
  auto out = key_set{};
  for (auto i = std::sregex_iterator{section.begin(), section.end(), row};
       i != std::sregex_iterator{}; ++i) {
    const auto cell = (*i)[1].str();
    for (auto n = std::sregex_iterator{cell.begin(), cell.end(), name}; n != std::sregex_iterator{};
         ++n)
      out.insert((*n)[1]);
  }
  return out;
}

/// Checks that the tables of a section describe the written keys, and no other keys.
inline void check_section(const std::string& page, const std::string& heading,
                          const key_set& written) {
  const auto told = documented(page, heading);
  BOOST_TEST(written.size() > 3U);
  for (const auto& key : written)
    BOOST_TEST(told.contains(key), heading << " does not describe " << key);
  for (const auto& key : told)
    BOOST_TEST(written.contains(key), heading << " describes " << key << ", which is not written");
}

} // namespace superstep::testing
