// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep::bench {

/// Returns the first 16 hexadecimal digits of the SHA-256 of a text.
[[nodiscard]] std::string digest(std::string_view text);

} // namespace superstep::bench
