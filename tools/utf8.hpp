// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace superstep {

/// The text with every byte that is no part of UTF-8 replaced by U+FFFD: what programs and servers
/// put out enters messages, and from there files that must stay readable.
[[nodiscard]] std::string valid_utf8(std::string text);

} // namespace superstep
