// SPDX-License-Identifier: Apache-2.0
// Stops a job when too many rows have failed or its budget is spent.
#include "stop_decision.hpp"

#include "failure_watch.hpp"
#include "usd_text.hpp"

#include <fmt/format.h>

namespace superstep::detail {

std::optional<job_stop> decide_stop(const stop_rules& rules, const row_expenses& run,
                                    const row_expenses& before) {
  const auto to_dollars = [](std::int64_t billionths) {
    return usd_text(static_cast<double>(billionths) / 1e9);
  };
  if (const auto spent = run.cost + before.cost; rules.budget && spent >= *rules.budget)
    return job_stop{stop_cause::budget,
                    fmt::format("the job has cost {}, which is at least its budget of {} "
                                "(--budget-usd). Rerun with a higher budget",
                                to_dollars(spent), to_dollars(*rules.budget))};
  if (const auto spent = run.tokens + before.tokens;
      rules.budget_tokens && spent >= *rules.budget_tokens)
    return job_stop{stop_cause::budget,
                    fmt::format("the job has used {} tokens, which is at least its budget of {} "
                                "(--budget-tokens). Rerun with a higher budget",
                                spent, *rules.budget_tokens)};
  if ((rules.budget || rules.budget_tokens) && run.unmeasured > 0)
    return job_stop{stop_cause::budget,
                    fmt::format("the model's server does not report the tokens of its answers, but "
                                "{} needs them. Make the server report `usage`, or rerun without "
                                "a budget",
                                rules.budget ? "--budget-usd" : "--budget-tokens")};
  if (rules.dead_max && run.failed > *rules.dead_max)
    return job_stop{stop_cause::failing,
                    fmt::format("{} rows have failed in this run, more than {} (--fail-if)",
                                run.failed, *rules.dead_max)};
  if (rules.error_rate_max && run.rows >= judged_rows &&
      static_cast<double>(run.failed) > *rules.error_rate_max * static_cast<double>(run.rows))
    return job_stop{stop_cause::failing,
                    fmt::format("{} of {} rows have failed in this run, a share of more than {} "
                                "(--fail-if)",
                                run.failed, run.rows, *rules.error_rate_max)};
  return std::nullopt;
}

} // namespace superstep::detail
