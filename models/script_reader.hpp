// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/script_rule.hpp"

#include <superstep/base/error.hpp>

#include <string>

namespace superstep::models {

/// Reads a script in the format described in scripted_model.hpp.
///
/// @return the script, or the errors of the file, one per line in the form `NAME:LINE: KEY: TEXT`
///   and sorted by line
/// @param name the file's path or another name, which precedes the line number in each error
[[nodiscard]] result<script> read_script(const std::string& text, const std::string& name);

} // namespace superstep::models
