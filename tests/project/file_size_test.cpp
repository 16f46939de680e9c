// SPDX-License-Identifier: Apache-2.0
// Formal rules for source files: maximum length and license line.
#include "project/source_tree.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace {

constexpr auto lines_max = std::size_t{600};

std::vector<project::source_file> all_files() {
  auto out = std::vector<project::source_file>{};
  for (const auto& folder : project::top_folders())
    for (auto& file : project::read_folder(folder))
      out.push_back(std::move(file));
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(sources_have_at_most_600_lines) {
  for (const auto& file : all_files())
    BOOST_TEST(file.lines.size() <= lines_max,
               file.path << " has " << file.lines.size() << " lines");
}

BOOST_AUTO_TEST_CASE(sources_begin_with_spdx_license_line) {
  for (const auto& file : all_files())
    BOOST_TEST((!file.lines.empty() && file.lines[0] == "// SPDX-License-Identifier: Apache-2.0"),
               file.path << " lacks the SPDX line");
}
