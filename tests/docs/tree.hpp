// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

/// The tree that this was built from.
inline const auto tree = std::filesystem::path{SUPERSTEP_TREE};

/// A file of it, whole.
inline std::string read(const std::filesystem::path& path) {
  auto in = std::ifstream{path};
  BOOST_REQUIRE_MESSAGE(in.good(), "cannot read " << path);
  return {std::istreambuf_iterator<char>{in}, {}};
}
