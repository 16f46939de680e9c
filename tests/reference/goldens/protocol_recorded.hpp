// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/relaxed_json.hpp"

#include <superstep/base/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::conformance {

/// Returns the recorded cases of all files whose name contains this text.
[[nodiscard]] inline std::vector<json::object> recorded(std::string_view part_of_name) {
  auto out = std::vector<json::object>{};
  for (const auto& entry : std::filesystem::directory_iterator{SUPERSTEP_GOLDEN_CASES}) {
    if (entry.path().filename().string().find(part_of_name) == std::string::npos)
      continue;
    auto in = std::ifstream{entry.path()};
    for (auto line = std::string{}; std::getline(in, line);)
      out.push_back(parse_lenient_json(line).value().as_object());
  }
  return out;
}

} // namespace superstep::conformance
