// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/script_rule.hpp"

#include <superstep/base/error.hpp>

#include <string>

namespace superstep::models {

/// Reads a script in the format described in scripted_model.hpp.
///
/// @param name precedes the line number in each error, e.g. the path of the file
[[nodiscard]] result<script> read_script(const std::string& text, const std::string& name);

} // namespace superstep::models
