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

BOOST_AUTO_TEST_CASE(the_example_of_the_readme_is_the_file) {
  const auto readme = read("README.md");
  const auto fence = std::string{"```cpp\n"};
  const auto begin = readme.find(fence);
  BOOST_REQUIRE(begin != std::string::npos);
  const auto end = readme.find("```", begin + fence.size());
  const auto quoted = readme.substr(begin + fence.size(), end - begin - fence.size());
  BOOST_TEST(read("examples/typed_graph.cpp").find(quoted) != std::string::npos);
}
