// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job_ledger.hpp"
#include "quota_control.hpp"
#include "row_table.hpp"
#include "row_writer.hpp"
#include "shortage_control.hpp"

#include <superstep/batch/batch.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep::detail {

/// One run of a job: submits rows until the input ends or the job is stopped.
class batch_run final : private row_starter {
public:
  using monotonic = std::chrono::steady_clock;

  /// All arguments must outlive the run.
  batch_run(const batch_options& options, row_runner& runner, progress_sink& progress,
            const stop_request& stop, job_ledger& ledger)
      : options_{options}, runner_{runner}, progress_{progress}, stop_{stop}, ledger_{ledger},
        shortages_{options.concurrency, options.shortage_wait},
        quota_{options.rules.quota_wait.value_or(std::chrono::hours{1})},
        table_{std::make_shared<row_table>(options.concurrency, options.write_queue_max,
                                           options.ready_rows_max, ledger.facts().identity)},
        is_chained_{runner.can_chain() && ledger.can_read_ahead()},
        writer_{*table_, ledger, options.rules, is_aborting_} {}

  result<batch_summary> run();

private:
  /// The reason why no further row is submitted: the end of the rows of the job, or a stop request
  /// or failure.
  enum class feed_end : std::uint8_t { input, stop };

  result<feed_end> fed();
  result<feed_end> feed();
  result<feed_end> feed_input();
  result<void> feed_returned();
  void take_returned();
  result<bool> read_rows();
  bool feed_item(ledger_item& item);
  bool submit(input_row&& row, row_origin&& origin, std::uint32_t group = prefix_groups::ungrouped);
  void start_published();
  [[nodiscard]] bool start_ready();
  [[nodiscard]] bool may_start(const row_expenses& used) const override;
  void start(started_row row) noexcept override;
  void start_row(started_row row, std::uint32_t group);
  void enable_chains();
  std::optional<row_table::room> wait_for_room();
  void wait_until_idle();
  void take_returned_row(finished_row& row, monotonic::time_point now);
  void wait_for_quota(const std::string& text, monotonic::time_point now);
  void announce_drain(monotonic::time_point now);
  [[nodiscard]] bool is_stopping() const;
  void cancel_drain_if_due(monotonic::time_point now);
  void abort();
  void report_when_due();
  void note_unknown_usage();
  [[nodiscard]] bool is_drain_hopeless(const row_table::running_rows& running) const;
  void apply_rules_at_end(batch_summary& summary, const written_totals& totals) const;
  void add_failures(job_stop& stop, const written_totals& totals) const;
  [[nodiscard]] batch_progress progress_now();
  [[nodiscard]] batch_summary summarise(feed_end end) const;
  [[nodiscard]] std::string last_error(std::string of_rows) const;

  const batch_options& options_;
  row_runner& runner_;
  progress_sink& progress_;
  const stop_request& stop_;
  job_ledger& ledger_;
  shortage_control shortages_;
  quota_control quota_;
  std::vector<row_origin> again_; ///< rows that ended in a fault, to submit again
  std::atomic<bool> is_aborting_{false};
  std::shared_ptr<row_table> table_; // shared with the callbacks of rows
  bool is_chained_;                  ///< whether the threads that end rows start the next ones
  row_writer writer_;
  monotonic::time_point begun_ = monotonic::now();
  monotonic::time_point next_report_ = begun_;
  monotonic::time_point last_end_ = begun_; ///< when a report has noticed that rows have ended
  std::uint64_t rows_reported_ = 0;         ///< rows that have ended, in the latest report
  std::optional<monotonic::time_point> failed_at_;
  std::optional<monotonic::time_point> drained_at_; ///< when the job stopped to start rows
  /// Whether the drain began without a stop request, so that the first request cancels it.
  bool is_own_drain_ = false;
  bool is_unknown_usage_noted_ = false;
  bool is_stopped_by_numbers_ = false; ///< whether decide_stop() stopped the job
};

} // namespace superstep::detail
