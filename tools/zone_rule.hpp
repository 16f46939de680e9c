// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace superstep::detail {

/// Returns the offset from UTC by a rule such as `EST5EDT,M3.2.0,M11.1.0`.
/// @param rule a rule in the format of POSIX's variable TZ, extended as in RFC 8536
/// @param moment seconds since 1970-01-01 UTC
/// @return the offset; nullopt if the rule cannot be read
[[nodiscard]] std::optional<std::chrono::seconds> offset_by_rule(std::string_view rule,
                                                                 std::int64_t moment);

} // namespace superstep::detail
