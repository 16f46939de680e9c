// SPDX-License-Identifier: Apache-2.0
// What can be said of a source file without reading it: its size and its licence.
#include "project/source_tree.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr auto lines_max = std::size_t{600};

std::vector<project::source_file> all_files() {
  auto out = std::vector<project::source_file>{};
  for (const auto* folder :
       {"include", "base", "net", "messages", "channels", "checkpoint", "runtime", "actors",
        "tools", "models", "agents", "batch", "cli", "examples", "tests", "benchmarks"})
    for (auto& file : project::read_folder(folder))
      out.push_back(std::move(file));
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(no_source_is_longer_than_600_lines) {
  for (const auto& file : all_files())
    BOOST_TEST(file.lines.size() <= lines_max,
               file.path << " has " << file.lines.size() << " lines");
}

BOOST_AUTO_TEST_CASE(every_source_begins_with_its_licence) {
  for (const auto& file : all_files())
    BOOST_TEST((!file.lines.empty() && file.lines[0] == "// SPDX-License-Identifier: Apache-2.0"),
               file.path << " lacks the SPDX line");
}
