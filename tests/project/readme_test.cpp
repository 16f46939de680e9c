// SPDX-License-Identifier: Apache-2.0
// Code in the README is quoted from a file that is compiled and run.
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace {

std::string read(const std::string& path) {
  auto in = std::ifstream{std::filesystem::path{SUPERSTEP_TREE} / path};
  BOOST_REQUIRE_MESSAGE(in.good(), "cannot read " << path);
  return {std::istreambuf_iterator<char>{in}, {}};
}

} // namespace

BOOST_AUTO_TEST_CASE(readme_code_matches_its_source_files) {
  const auto readme = read("README.md");
  const auto fence = std::string{"```cpp\n"};
  auto end = std::size_t{0};
  for (const auto* file : {"tests/unit/api/agent_with_tool.cpp", "examples/03_map_reduce.cpp"}) {
    const auto begin = readme.find(fence, end);
    BOOST_REQUIRE(begin != std::string::npos);
    end = readme.find("```", begin + fence.size());
    const auto quoted = readme.substr(begin + fence.size(), end - begin - fence.size());
    BOOST_TEST(read(file).find(quoted) != std::string::npos, file);
  }
}
