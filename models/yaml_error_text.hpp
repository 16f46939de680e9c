// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <yaml-cpp/exceptions.h>

#include <string>

namespace superstep::models {

/// Returns the reason of a syntax error in YAML, for the user who wrote it. yaml-cpp's own texts
/// describe its parser; its text for deep nesting is "bad file".
[[nodiscard]] std::string yaml_error_text(const YAML::Exception& e);

} // namespace superstep::models
