// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace superstep::detail {

/// Requests and tokens.
using limit_amounts = std::array<std::int64_t, 2>;

/// A request for grants.
struct limit_request {
  limit_amounts want; ///< per second, at most; both 0: the process leaves
  limit_amounts need; ///< a smaller grant would be of no use
  limit_amounts back; ///< of earlier grants and not used; negative if more was used
};

/// The part of one process of limits that several processes share: what was granted and is not
/// used, and what to ask for. It has no thread, no clock and no connection; see limit_share.
///
/// While the process uses the limits, it asks four times per second, or less often if answers take
/// longer than 31 ms. A grant may be used for one second from the time at which it was asked for.
/// What is left is given back with the next request.
///
/// Not synchronised.
class granted_limits {
public:
  using time_point = executor::time_point;
  using duration = std::chrono::nanoseconds;

  /// @param quota the limits per window; 0: none
  /// @param window the length of the minute; tests make it shorter
  granted_limits(const limit_amounts& quota, duration window);

  /// Takes a request with this number of tokens. Returns false if less was granted. The caller then
  /// tries again within a second; otherwise, the request does not count as waiting any more. A
  /// request with more tokens than half of the limit takes that half, and owes the rest.
  [[nodiscard]] bool take(std::int64_t tokens, time_point now);
  /// Gives back what was taken and not used; negative if more was used.
  void give_back(const limit_amounts& unused) noexcept;

  /// Returns when to ask next; time_point::max() if there is no reason.
  [[nodiscard]] time_point next_ask() const noexcept;
  /// Returns what to ask for. granted() or failed() must follow.
  [[nodiscard]] limit_request ask(time_point now);
  /// Adds the answer. `now` is the time at which it has arrived.
  void granted(const limit_amounts& amounts, time_point now);
  /// Reports that the outcome of the request is not known. What it gave back is then lost for this
  /// process, because the database may have added it.
  void failed(time_point now) noexcept;

  /// Returns a request that gives back all that is left. The process must not take anything more.
  [[nodiscard]] limit_request leave() noexcept;

  [[nodiscard]] const limit_amounts& quota() const noexcept { return quota_; }

private:
  /// `idle`: nothing is granted or wanted. `active`: the process asks at its times. `asking`: it
  /// waits for an answer.
  enum class phase : std::uint8_t { idle, active, asking };
  struct grant {
    limit_amounts amounts;
    time_point until;
  };

  void become(phase next);
  void drop_expired(time_point now);
  [[nodiscard]] limit_amounts left() const noexcept;

  limit_amounts quota_;
  duration second_;
  phase phase_ = phase::idle;
  std::vector<grant> grants_; ///< oldest first
  limit_amounts back_{};      ///< to be given back
  limit_amounts need_{};      ///< of the request that waits; 0: none waits
  time_point needed_at_{};    ///< when it has last tried
  limit_amounts used_{};      ///< since the last ask
  limit_request asked_{};
  time_point asked_at_{};
  duration pause_; ///< from one ask to the next
};

} // namespace superstep::detail
