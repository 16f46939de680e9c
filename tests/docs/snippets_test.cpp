// SPDX-License-Identifier: Apache-2.0
// Checks that pages quote code from files that are compiled and run. Below the line
//   <!-- tests/docs/file.cpp [name] -->
// a page contains the text between the file's two markers //! [name], without the indentation that
// its lines share. Below the line
//   <!-- examples/file.cpp -->
// it contains the whole file without the license line. Blocks of Python are compared in the same
// way. A page also quotes the [includes] of each file that it quotes, and the file has no other
// includes of superstep.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(snippets)

namespace {

using lines = std::vector<std::string>;

const auto tree = std::filesystem::path{SUPERSTEP_TREE};

lines read(const std::filesystem::path& path) {
  auto in = std::ifstream{path};
  BOOST_REQUIRE_MESSAGE(in.good(), "cannot read " << path);
  auto out = lines{};
  for (auto line = std::string{}; std::getline(in, line);)
    out.push_back(line);
  return out;
}

std::string joined(const lines& all) {
  auto text = std::string{};
  for (const auto& line : all)
    text += line + '\n';
  return text;
}

/// Returns the lines between two markers, without the indentation that they share.
std::optional<std::string> quoted(const lines& file, const std::string& name) {
  const auto marker = "//! [" + name + ']';
  const auto is_marker = [&](const std::string& line) {
    const auto begin = line.find_first_not_of(' ');
    return begin != std::string::npos && line.substr(begin) == marker;
  };
  const auto first = std::ranges::find_if(file, is_marker);
  if (first == file.end())
    return std::nullopt;
  const auto last = std::find_if(first + 1, file.end(), is_marker);
  if (last == file.end())
    return std::nullopt;
  auto text = lines(first + 1, last);
  auto shared = std::string::npos;
  for (const auto& line : text)
    if (!line.empty())
      shared = std::min(shared, line.find_first_not_of(' '));
  for (auto& line : text)
    line.erase(0, std::min(shared, line.size()));
  return joined(text);
}

/// Returns the text of a whole file, without the line that names its license.
std::string quoted(lines file) {
  if (!file.empty() && file.front().starts_with("// SPDX-License-Identifier:"))
    file.erase(file.begin());
  return joined(file);
}

struct quotation {
  std::string source; // empty if the line above the block does not name a file
  std::string name;   // name of the markers; empty for a whole file
  std::string text;
  bool is_code = true;
};

/// Returns the code blocks of a document, and its text blocks that quote a file.
std::vector<quotation> quotations(const lines& document) {
  const auto origin = std::regex{R"(<!-- (\S+)(?: \[(\w+)\])? -->)"};
  auto out = std::vector<quotation>{};
  for (auto i = std::size_t{0}; i < document.size(); ++i) {
    auto q = quotation{};
    q.is_code = document[i] == "```cpp";
    if (!q.is_code && document[i] != "```text" && document[i] != "```python")
      continue;
    auto found = std::smatch{};
    if (i > 0 && std::regex_match(document[i - 1], found, origin)) {
      q.source = found[1];
      q.name = found[2];
    }
    if (!q.is_code && q.source.empty())
      continue;
    for (++i; i < document.size() && document[i] != "```"; ++i)
      q.text += document[i] + '\n';
    out.push_back(std::move(q));
  }
  return out;
}

const auto headers = tree / "include/superstep";

/// Returns a header and those of superstep that it includes, also indirectly.
std::set<std::string> headers_in(const std::string& first) {
  auto out = std::set<std::string>{};
  auto open = std::vector{first};
  const auto directive = std::regex{R"(#include <superstep/(\S+)>)"};
  while (!open.empty()) {
    const auto header = open.back();
    open.pop_back();
    if (!out.insert(header).second)
      continue;
    for (const auto& line : read(headers / header))
      if (auto found = std::smatch{}; std::regex_match(line, found, directive))
        open.push_back(found[1]);
  }
  return out;
}

/// Returns all documents that may contain code.
std::vector<std::filesystem::path> pages() {
  auto out = std::vector<std::filesystem::path>{tree / "README.md"};
  for (const auto& entry : std::filesystem::directory_iterator{tree / "docs"})
    if (entry.path().extension() == ".md")
      out.push_back(entry.path());
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(code_blocks_on_pages_match_their_source_files) {
  auto count = std::size_t{0};
  for (const auto& page : pages()) {
    for (const auto& q : quotations(read(page))) {
      ++count;
      BOOST_TEST(!q.source.empty(), page << ": this block names no source:\n" << q.text);
      if (q.source.empty())
        continue;
      const auto file = read(tree / q.source);
      const auto text = q.name.empty() ? std::optional{quoted(file)} : quoted(file, q.name);
      BOOST_TEST(text.has_value(), q.source << " has no markers [" << q.name << ']');
      if (text)
        BOOST_TEST(q.text == *text, page << ": " << q.source << " [" << q.name
                                         << "] is another text:\n"
                                         << *text);
    }
  }
  BOOST_TEST(count > 45U);
}

BOOST_AUTO_TEST_CASE(pages_quote_the_includes_of_their_code) {
  const auto is_include = [](const std::string& line) {
    return line.starts_with("#include <superstep/");
  };
  for (const auto& page : pages()) {
    auto sources = std::set<std::string>{};
    auto with_includes = std::set<std::string>{};
    for (const auto& q : quotations(read(page))) {
      if (q.name.empty() && !q.source.empty()) // the whole file, with its includes
        continue;
      sources.insert(q.source);
      if (q.text.find("#include <superstep/") != std::string::npos)
        with_includes.insert(q.source);
    }
    for (const auto& source : sources) {
      BOOST_TEST(with_includes.contains(source), page << " quotes no includes of " << source);
      const auto file = read(tree / source);
      auto is_quoted = false; // between two markers
      for (const auto& line : file) {
        is_quoted = is_quoted != line.starts_with("//! [");
        BOOST_TEST((is_quoted || !is_include(line)),
                   source << " has an include that no page shows: " << line);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(examples_page_shows_every_program_and_output) {
  auto shown = std::set<std::string>{};
  for (const auto& q : quotations(read(tree / "docs/examples.md")))
    if (q.name.empty())
      shown.insert(q.source);
  auto count = std::size_t{0};
  for (const auto& entry : std::filesystem::directory_iterator{tree / "examples"}) {
    if (entry.path().extension() != ".cpp")
      continue;
    ++count;
    const auto name = entry.path().stem().string();
    BOOST_TEST(shown.contains("examples/" + name + ".cpp"), name);
    BOOST_TEST(shown.contains("tests/system/examples/output/" + name + ".txt"), name);
    const auto file = read(entry.path());
    // Programs with CAF actors need headers that superstep.hpp does not include.
    const auto has_actors = name == "13_actors";
    BOOST_TEST(file.size() < (has_actors ? 120U : 60U), name);
    for (const auto& line : file)
      if (line.starts_with("#include <superstep/") && !has_actors)
        BOOST_TEST(line == "#include <superstep/superstep.hpp>", name);
  }
  BOOST_TEST(count == 13U);
  BOOST_TEST(shown.contains("examples/model.hpp"));
}

// A program that includes only superstep.hpp finds the headers that it lacks in this list.
BOOST_AUTO_TEST_CASE(reference_lists_headers_that_superstep_hpp_does_not_include) {
  const auto included = headers_in("superstep.hpp");
  auto listed = std::set<std::string>{};
  auto in_listed = std::set<std::string>{}; // not listed, because a listed header includes them
  const auto entry = std::regex{R"([|,] `<superstep/(\S+)>`)"};
  for (const auto& line : read(tree / "docs/reference.md"))
    for (auto i = std::sregex_iterator{line.begin(), line.end(), entry};
         i != std::sregex_iterator{}; ++i) {
      listed.insert((*i)[1]);
      in_listed.merge(headers_in((*i)[1]));
    }
  for (const auto& file : std::filesystem::recursive_directory_iterator{headers}) {
    const auto name = file.path().lexically_relative(headers).generic_string();
    if (!name.ends_with(".hpp") || name.ends_with("fwd.hpp") ||
        name.find("detail/") != std::string::npos)
      continue;
    if (listed.contains(name))
      BOOST_TEST(!included.contains(name), name << " is listed, but superstep.hpp includes it");
    else
      BOOST_TEST((included.contains(name) || in_listed.contains(name)), name << " is not listed");
  }
}

BOOST_AUTO_TEST_CASE(quoted_code_loses_its_common_indentation) {
  const auto file = lines{"int a;", "  //! [x]", "  if (b)", "", "    c();", "  //! [x]"};
  BOOST_TEST(quoted(file, "x").value() == "if (b)\n\n  c();\n");
  BOOST_TEST(!quoted(file, "y").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
