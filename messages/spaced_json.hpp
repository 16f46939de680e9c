// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstdint>
#include <string>

namespace superstep {

/// The characters that are written unescaped: ASCII only, or all of Unicode.
enum class charset : std::uint8_t { ascii, unicode };

/// Appends JSON with a space after each comma and colon, as Python's json.dumps() writes it. Models
/// are trained on this format, so tool arguments in prompts use it. With charset::ascii all other
/// characters are escaped as `\uXXXX`.
void append_spaced_json(std::string& out, const json::value&, charset);
/// Returns the text that append_spaced_json() appends.
[[nodiscard]] std::string to_spaced_json(const json::value&, charset = charset::unicode);

} // namespace superstep
