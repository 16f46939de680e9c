// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace superstep {

struct current_time_options {
  std::string default_zone = "UTC"; ///< when the call names none
  /// Where the system keeps its time zones, in TZif files.
  std::string zone_folder = "/usr/share/zoneinfo";
};

/// Offset from UTC that a zone has at a moment. A zone is `UTC`, `Z`, an offset as `+05:30`, or the
/// name of a file in `zone_folder`, as `Europe/Berlin`.
[[nodiscard]] result<std::chrono::seconds> utc_offset(std::string_view zone,
                                                      std::chrono::system_clock::time_point at,
                                                      const std::string& zone_folder);

/// `current_time`, with the optional argument `timezone`: the time of the call's clock as
/// `2026-11-21T04:12:50+01:00`.
[[nodiscard]] tool_ptr make_current_time(current_time_options options = {});

} // namespace superstep
