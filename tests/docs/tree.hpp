// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// Root of the source tree that this program was built from.
inline const auto tree = std::filesystem::path{SUPERSTEP_TREE};

/// Returns the content of a file of the tree.
inline std::string read(const std::filesystem::path& path) {
  auto in = std::ifstream{path};
  BOOST_REQUIRE_MESSAGE(in.good(), "cannot read " << path);
  return {std::istreambuf_iterator<char>{in}, {}};
}
