// SPDX-License-Identifier: Apache-2.0
// Raises the limit of open files for this process, and keeps the original limit for the programs
// that it starts (child_spawn.cpp).
#include "net/descriptor_limit.hpp"

#include <algorithm>
#include <atomic>

namespace superstep {

namespace {

/// The soft limit before it was raised; RLIM_INFINITY if it was not raised.
std::atomic<rlim_t>& soft_limit_before() noexcept {
  static auto limit = std::atomic<rlim_t>{RLIM_INFINITY};
  return limit;
}

} // namespace

void raise_descriptor_limit() noexcept {
  auto limit = rlimit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max)
    return;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0)
    soft_limit_before() = before;
}

rlimit descriptor_limit_of_programs() noexcept {
  auto out = rlimit{RLIM_INFINITY, RLIM_INFINITY};
  ::getrlimit(RLIMIT_NOFILE, &out);
  out.rlim_cur = std::min(out.rlim_cur, soft_limit_before().load());
  return out;
}

} // namespace superstep
