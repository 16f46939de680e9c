// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/limit_source.hpp>
#include <superstep/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace superstep::detail {

/// Limits per minute that all processes with the same key in a PostgreSQL database share.
struct shared_limits {
  std::string url;                          ///< of the database; see check_address()
  std::string key;                          ///< identifies the limits in the database
  std::int64_t requests_per_minute = 0;     ///< 0: no limit
  std::int64_t tokens_per_minute = 0;       ///< 0: no limit
  std::chrono::milliseconds window{60'000}; ///< the length of the minute; tests make it shorter
};

/// Connects to the database, creates the tables if they are missing, and returns a source of
/// grants. A thread of the source asks for them. While the database is not available, nothing is
/// granted. If that lasts for 3 s, or if grants arrive too late for 3 s, the source writes a
/// warning to standard error. Its destructor gives back what is left, if the database is available,
/// and takes at most 0.5 s.
[[nodiscard]] result<std::shared_ptr<limit_source>> open_shared_limits(const shared_limits& limits);

} // namespace superstep::detail
