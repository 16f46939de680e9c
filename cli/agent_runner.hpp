// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/event_log.hpp"
#include "cli/row_calls.hpp"
#include "cli/trace_log.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/batch.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/models/detail/price_table.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace superstep::cli {

/// The size of a row's input.
struct row_input_size {
  std::size_t messages = 0;
  std::uint32_t answers = 0; ///< messages of a model
};

/// Runs each row of a batch as a run of an agent. The agent and the engine must outlive this object
/// and the rows that it runs.
class agent_runner final : public row_runner {
public:
  /// Opens the checkpointer for the rows of a job, whose id is the argument.
  using open_checkpointer =
      std::function<result<std::shared_ptr<superstep::checkpointer>>(const std::string& job)>;

  /// @param events receives the start and end of every model and tool call. begin_job() opens it.
  ///   Must outlive the runner; may be null
  /// @param trace receives the super-steps and calls of every row. begin_job() opens it. Must
  ///   outlive the runner and its runs; may be null
  /// @param open opens the checkpointer; begin_job() calls it. If it is set, every super-step of
  ///   every row is saved, and a row that has checkpoints is resumed from them. May be empty
  /// @param prices gives the costs of the rows
  /// @param needs_price whether a row fails if the price of its model is not known
  /// @param activity counts the waiting and repeated calls of the agent; may be null
  agent_runner(const agent& a, engine& e, event_log* events = nullptr, trace_log* trace = nullptr,
               open_checkpointer open = {}, price_table prices = {}, bool needs_price = false,
               std::shared_ptr<const call_activity> activity = {});

  /// Passes the seeds of repeated rows to the model, whatever API the agent file names.
  void pass_seeds() noexcept { passes_seeds_ = true; }

  [[nodiscard]] result<void> begin_job(const std::string& job) override;

  /// Rows with checkpoints are started by one thread, because the start reads the database.
  [[nodiscard]] bool can_chain() const noexcept override { return !open_; }

  void complete(batch_progress& now) const override;

  [[nodiscard]] std::unique_ptr<running_row> submit(row_request request,
                                                    done_function done) override;

private:
  /// The start of a row's run.
  struct beginning {
    detail::run_input input;
    std::int64_t steps = 0; ///< super-steps of earlier runs; -1 for a new row that is saved
  };
  [[nodiscard]] beginning begin(row_request& request) const;
  [[nodiscard]] std::function<std::uint32_t()> saved_steps_of(const row_request& request) const;
  /// The data that is needed to report the outcome of a row when its run has ended.
  struct ending {
    std::shared_ptr<const agent_context> context;
    row_input_size input;
    std::int64_t steps_before = 0;
    std::uint32_t attempt = 1;
    std::function<std::uint32_t()> saved_steps; ///< null unless the row is saved
    std::optional<model_price> price;           ///< prices of the row's model, if they are known
    std::shared_ptr<row_trace> trace;           ///< null if there is no trace
    std::shared_ptr<const row_calls> calls;     ///< null for a row without a deadline
    done_function done;
  };
  [[nodiscard]] std::shared_ptr<const agent_context>
  context_for(row_request& request, const std::shared_ptr<row_trace>& trace,
              const std::shared_ptr<row_calls>& calls) const;
  [[nodiscard]] std::optional<model_price> price_for(const json::object& parameters) const;
  [[nodiscard]] std::function<void(detail::raw_result)> end_of(ending end) const;

  const agent& agent_;
  engine& engine_;
  event_log* events_;
  trace_log* trace_;
  open_checkpointer open_;
  std::shared_ptr<const price_table> prices_;
  bool needs_price_;
  bool passes_seeds_ = false;
  std::shared_ptr<const call_activity> activity_;
  std::shared_ptr<superstep::checkpointer> checkpointer_; ///< null if rows are not saved
};

/// Returns the name of the agent's model, by which prices are found; empty if it has none.
[[nodiscard]] std::string model_name_of(const agent& a);

/// Returns the name of the model that a row asks for: its parameter `model`, or the agent's model.
[[nodiscard]] std::string model_name_of(const agent& a, const json::object& parameters);

/// Returns the value of `error.kind` for a run's error, such as `recursion_limit`, `timed_out` or
/// `model_error`. Scripts may rely on these names.
[[nodiscard]] std::string error_kind(const run_error& e);

/// Returns the value of `error.code` for a run's error: the name of the error code within its kind,
/// such as `rate_limited` or `node_timeout`, or the kind itself.
[[nodiscard]] std::string error_code_name(const run_error& e);

/// Returns the text with which the ids of the threads of a job's rows begin.
[[nodiscard]] std::string thread_prefix_of(const std::string& job);

} // namespace superstep::cli
