// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/batch/detail/stop_rules.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Number of failed rows after which a job without a success stops, and number of rows after which
/// `error-rate` applies.
inline constexpr auto judged_rows = std::uint64_t{50};
/// Number of rows that may start before the watch has accepted the job. It is enough for the watch
/// to decide: fewer than `judged_rows` of each of its two kinds of errors leave one row that ends
/// the trial.
inline constexpr auto trial_rows_max = 2 * judged_rows - 1;

/// Decides whether a failed row becomes a dead letter now, must wait, or stops the job.
///
/// An error of the surroundings is one that most rows would get: the key is wrong, the account is
/// empty, the server cannot be reached or fails. Such a row waits until another row succeeds. If 50
/// of them fail before one succeeds, the job stops. Until the first success (the trial), the rows
/// with other errors wait as well, and the job also stops if 50 of them have the same error.
///
/// Only the writer thread uses it, so it has no lock.
class failure_watch {
public:
  /// The treatment of a row that has ended.
  enum class verdict : std::uint8_t {
    write,   ///< write its lines
    hold,    ///< keep it until another verdict
    release, ///< write the rows that are held, then this one
    stop,    ///< stop the job; drop the rows that are held and this one, which run again
    drop,    ///< drop the row, because the job was stopped
  };

  explicit failure_watch(const stop_rules& rules) : rules_{rules} {
    if (!rules.without_success)
      phase_ = phase::accepted;
  }

  /// Reports a row that succeeded.
  verdict succeeded();
  /// Reports a row that failed.
  /// @param code its error code
  verdict failed(std::string_view code);

  /// Whether no row has succeeded yet, so that few rows may run.
  [[nodiscard]] bool is_on_trial() const noexcept { return phase_ == phase::trial; }
  /// Whether the watch has stopped the job.
  [[nodiscard]] bool has_stopped() const noexcept { return phase_ == phase::stopped; }

private:
  /// trial → accepted: a row succeeded, or the rows fail for different reasons of their own.
  /// trial, accepted → stopped: too many rows failed without a success.
  enum class phase : std::uint8_t { trial, accepted, stopped };

  verdict stop();

  stop_rules rules_;
  phase phase_ = phase::trial;
  std::uint64_t outside_ = 0; ///< held rows with an error of the surroundings
  std::uint64_t own_ = 0;     ///< other held rows
  std::string own_code_;      ///< their error code, as long as it is the same
  bool is_uniform_ = true;
};

/// Whether an error code means that most rows would get the error, whatever their input is.
[[nodiscard]] bool is_of_surroundings(std::string_view code) noexcept;

} // namespace superstep::detail
