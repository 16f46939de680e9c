// SPDX-License-Identifier: Apache-2.0
// docs/errors.md lists every enumerator of every error enumeration, and no others. Each code has a
// message of its own.
#include "docs/tree.hpp"

#include <superstep/channels/channel.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <system_error>

BOOST_AUTO_TEST_SUITE(errors)

namespace {

/// Returns the enumerators of each `enum class …errc` in the public headers, by the name of the
/// enumeration.
std::map<std::string, std::set<std::string>> enumerators() {
  const auto one = std::regex{R"(enum class (\w*errc)\b[^{]*\{([^}]*)\})"};
  const auto name = std::regex{R"((?:^|\n)\s*(\w+)\s*(?:=|,|\n|$))"};
  auto out = std::map<std::string, std::set<std::string>>{};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{tree / "include"}) {
    if (entry.path().extension() != ".hpp")
      continue;
    const auto text = read(entry.path());
    for (auto i = std::sregex_iterator{text.begin(), text.end(), one}; i != std::sregex_iterator{};
         ++i) {
      const auto body = std::regex_replace((*i)[2].str(), std::regex{"//[^\n]*"}, "");
      for (auto n = std::sregex_iterator{body.begin(), body.end(), name};
           n != std::sregex_iterator{}; ++n)
        out[(*i)[1]].insert((*n)[1]);
    }
  }
  return out;
}

/// Returns the codes in the table below the heading that names an enumeration, for example
/// "`graph` (`graph_errc`)".
std::set<std::string> documented(const std::string& document, const std::string& enumeration) {
  auto out = std::set<std::string>{};
  const auto heading = document.find("(`" + enumeration + "`)\n");
  BOOST_TEST_REQUIRE(heading != std::string::npos, "no heading names " << enumeration);
  const auto section = document.substr(heading, document.find("\n## ", heading) - heading);
  const auto row = std::regex{R"(\n\| `(\w+)` \| [^|\n]*\w[^|\n]*\|)"};
  for (auto i = std::sregex_iterator{section.begin(), section.end(), row};
       i != std::sregex_iterator{}; ++i)
    out.insert((*i)[1]);
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(error_table_lists_exactly_the_existing_codes) {
  const auto document = read(tree / "docs/errors.md");
  const auto all = enumerators();
  BOOST_TEST(all.size() >= 4U);
  for (const auto& [enumeration, codes] : all) {
    const auto told = documented(document, enumeration);
    for (const auto& code : codes)
      BOOST_TEST(told.contains(code), "docs/errors.md lacks " << enumeration << "::" << code);
    for (const auto& code : told)
      BOOST_TEST(codes.contains(code), enumeration << " has no " << code);
  }
}

// The codes of an enumeration are numbered from 1 without gaps, so the number of enumerators is the
// largest code.
BOOST_AUTO_TEST_CASE(every_code_has_its_own_message) {
  const auto all = enumerators();
  const auto check = [&](const std::string& enumeration, const std::error_category& category) {
    auto texts = std::set<std::string>{};
    const auto count = static_cast<int>(all.at(enumeration).size());
    for (auto code = 1; code <= count; ++code)
      BOOST_TEST(texts.insert(category.message(code)).second,
                 enumeration << ' ' << code << " has the message of another code");
    BOOST_TEST(!texts.contains(category.message(count + 1)), enumeration << " has gaps");
  };
  check("errc", superstep::make_error_code(superstep::errc{}).category());
  check("graph_errc", superstep::make_error_code(superstep::graph_errc{}).category());
  check("channel_errc", superstep::make_error_code(superstep::channel_errc{}).category());
}

BOOST_AUTO_TEST_CASE(every_error_code_is_printed_as_its_name) {
  const auto all = enumerators();
  const auto check = [&](const std::string& enumeration, const std::error_category& category) {
    auto names = std::set<std::string>{};
    for (auto code = 1; code <= static_cast<int>(all.at(enumeration).size()); ++code)
      names.insert(superstep::to_string({code, category}));
    for (const auto& name : all.at(enumeration))
      BOOST_TEST(names.contains(enumeration + "::" + name), enumeration << "::" << name);
  };
  check("errc", superstep::make_error_code(superstep::errc{}).category());
  check("graph_errc", superstep::make_error_code(superstep::graph_errc{}).category());
  check("channel_errc", superstep::make_error_code(superstep::channel_errc{}).category());
  check("checkpoint_errc", superstep::make_error_code(superstep::checkpoint_errc{}).category());
  check("model_errc", superstep::make_error_code(superstep::model_errc{}).category());
}

BOOST_AUTO_TEST_SUITE_END()
