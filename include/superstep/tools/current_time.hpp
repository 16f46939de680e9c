// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace superstep {

/// Options of make_current_time().
struct current_time_options {
  std::string default_zone = "UTC"; ///< zone if the call names none
  /// Folder of the system's time zones, as TZif files (RFC 8536).
  std::string zone_folder = "/usr/share/zoneinfo";
};

/// Returns the offset from UTC of a time zone at a moment.
/// @param zone `UTC`, `Z`, an offset such as `+05:30`, or the name of a file in `zone_folder` such
/// as `Europe/Berlin`
/// @return an error for an unknown zone or an unreadable file
[[nodiscard]] result<std::chrono::seconds> utc_offset(std::string_view zone,
                                                      std::chrono::system_clock::time_point at,
                                                      const std::string& zone_folder);

/// Makes the tool `current_time` with the optional argument `timezone`. Its result is the time of
/// tool_context::time, such as `2026-11-21T04:12:50+01:00` (RFC 3339).
[[nodiscard]] tool_ptr make_current_time(current_time_options options = {});

} // namespace superstep
