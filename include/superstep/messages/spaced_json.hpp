// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstdint>
#include <string>

namespace superstep {

/// Which characters beyond ASCII a text keeps.
enum class charset : std::uint8_t { ascii, unicode };

/// JSON with a space after each comma and colon, as most models have seen it in training and as the
/// arguments of calls are written into prompts. `ascii` escapes everything else as \uXXXX.
void append_spaced_json(std::string& out, const json::value&, charset);
[[nodiscard]] std::string to_spaced_json(const json::value&, charset = charset::unicode);

} // namespace superstep
