// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>

namespace superstep {

/// Block style, two spaces, no line end at the end. Texts are plain where they read as themselves.
[[nodiscard]] std::string write_yaml(const json::value& value);

} // namespace superstep
