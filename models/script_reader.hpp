// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/script_rule.hpp"

#include <superstep/base/result.hpp>

#include <string>

namespace superstep::models {

/// Reads the format that scripted_model.hpp describes. `name` stands in front of each fault's line.
[[nodiscard]] result<script> read_script(const std::string& text, const std::string& name);

} // namespace superstep::models
