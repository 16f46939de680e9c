// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// The reason why a job stopped before its end.
enum class stop_cause : std::uint8_t {
  none,    ///< the job was not stopped
  request, ///< a person or another program requested it (stop_request)
  failing, ///< a condition of `--fail-if` was met
  budget,  ///< the budget is spent
  quota,   ///< the quota of the provider's account is exhausted
  ledger,  ///< a shared job was cancelled, or its ledger is not available
};

/// Returns the name of a cause in the summary: `request`, `fail_if`, `budget`,
/// `quota` or `ledger`; empty for `none`.
/// May be called from any thread.
[[nodiscard]] std::string_view to_text(stop_cause cause) noexcept;

/// A decision to stop a job before its end.
struct job_stop {
  stop_cause cause = stop_cause::none; ///< the kind of reason
  std::string text;                    ///< what happened and what to do, for the user
  bool is_at_end = false; ///< whether only the last rows met the condition, so that nothing stopped
};

/// The conditions under which a job stops early. It then starts no more rows, lets the rows in
/// flight end, and can be resumed.
struct stop_rules {
  /// Whether the job stops if rows fail because of their surroundings and none succeeds: a wrong
  /// key, an empty account, an unreachable server, or 50 first rows with the same error. The failed
  /// rows then get no dead letters and run again when the job is resumed.
  bool without_success = true;
  /// Stops the job if a greater share of the rows of this run has failed, from 0 to 1. Applies
  /// after 50 rows. Not set: no limit.
  std::optional<double> error_rate_max{};
  /// Stops the job if more rows of this run have failed. Not set: no limit.
  std::optional<std::uint64_t> dead_max{};
  /// Stops the job when its rows, over all its runs, have cost so many billionths of a US dollar.
  /// Not set: no limit.
  std::optional<std::int64_t> budget{};
  /// Stops the job when its rows, over all its runs, have used so many tokens, input and output.
  /// Not set: no limit.
  std::optional<std::int64_t> budget_tokens{};
  /// The longest wait of a job while the quota of the provider's account is exhausted. It starts a
  /// row from time to time, to detect that the quota is available again. Not set: no time if no row
  /// has succeeded in this run, otherwise an hour.
  std::optional<std::chrono::milliseconds> quota_wait{};
  /// Time that the rows in flight have to finish when the job stops early. Then they are cancelled
  /// and run again when the job is resumed. Not set: no limit.
  std::optional<std::chrono::milliseconds> drain_timeout{};
};

/// Parses the value of the flag --fail-if: conditions that are separated by commas. May be called
/// from any thread.
/// @param text `no-success`, `error-rate>SHARE` or `dead>NUMBER`, added to the default
/// `no-success`; or `none`, which removes it. Other conditions may follow `none`
/// @param into receives the conditions; the other members are kept
/// @return success, or errc::invalid_argument with a text for the user
[[nodiscard]] result<void> parse_fail_if(std::string_view text, stop_rules& into);

} // namespace superstep
