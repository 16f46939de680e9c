// SPDX-License-Identifier: Apache-2.0
// Detects that the rows of a job fail because of a wrong key, an empty account or an unreachable
// server, before many rows have become dead letters.
#include "failure_watch.hpp"

#include <algorithm>
#include <array>

namespace superstep::detail {

bool is_of_surroundings(std::string_view code) noexcept {
  constexpr auto codes = std::array<std::string_view, 8>{
      "unauthorized", "not_found",   "rate_limited",    "quota_exhausted",
      "server_error", "unreachable", "model_timed_out", "bad_configuration"};
  return std::ranges::find(codes, code) != codes.end();
}

failure_watch::verdict failure_watch::succeeded() {
  if (phase_ == phase::stopped)
    return verdict::write;
  phase_ = phase::accepted;
  const auto is_held = outside_ + own_ > 0;
  outside_ = own_ = 0;
  return is_held ? verdict::release : verdict::write;
}

failure_watch::verdict failure_watch::failed(std::string_view code) {
  if (phase_ == phase::stopped)
    return verdict::drop;
  if (!rules_.without_success)
    return verdict::write;
  if (is_of_surroundings(code))
    return ++outside_ >= judged_rows ? stop() : verdict::hold;
  if (phase_ == phase::accepted)
    return verdict::write;
  if (own_ == 0)
    own_code_ = code;
  is_uniform_ = is_uniform_ && own_code_ == code;
  if (++own_ < judged_rows)
    return verdict::hold;
  if (is_uniform_ && outside_ == 0)
    return stop();
  phase_ = phase::accepted;
  outside_ = own_ = 0;
  return verdict::release;
}

failure_watch::verdict failure_watch::stop() {
  phase_ = phase::stopped;
  return verdict::stop;
}

} // namespace superstep::detail
