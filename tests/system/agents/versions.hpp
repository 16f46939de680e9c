// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/create_agent.hpp>

#include <ostream>
#include <vector>

namespace superstep {
// Prints versions in names of test cases; found by argument-dependent lookup.
inline std::ostream& operator<<(std::ostream& out, react_version v) {
  return out << (v == react_version::v1 ? "v1" : "v2");
}
} // namespace superstep

namespace superstep::testing {
inline const auto react_versions = std::vector<react_version>{react_version::v1, react_version::v2};
} // namespace superstep::testing
