// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace superstep::bench {

/// The first 16 hexadecimal digits of SHA-256 over a text.
[[nodiscard]] std::string digest(std::string_view text);

} // namespace superstep::bench
