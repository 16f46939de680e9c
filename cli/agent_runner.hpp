// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/event_log.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/batch/row_runner.hpp>
#include <superstep/checkpoint/checkpointer.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace superstep::cli {

/// Runs rows as runs of an agent. Agent and engine must outlive it and its rows.
class agent_runner final : public row_runner {
public:
  using open_checkpointer =
      std::function<result<std::shared_ptr<superstep::checkpointer>>(const std::string& job)>;

  /// @param events if not null, opened when the job begins; gets the start and end of every model
  /// and tool call. Must outlive the runner.
  /// @param open if set, opens the checkpointer when the job begins. Every super-step of every row
  /// is then saved, and a row with checkpoints resumes from them.
  agent_runner(const agent& a, engine& e, event_log* events = nullptr, open_checkpointer open = {});

  [[nodiscard]] result<void> begin_job(const std::string& job) override;

  [[nodiscard]] std::unique_ptr<running_row> submit(row_request request,
                                                    done_function done) override;

private:
  /// The input of a row, and its super-steps so far.
  struct beginning {
    detail::run_input input;
    std::int64_t steps = 0;
  };
  [[nodiscard]] beginning begin(row_request& request) const;
  /// The data that reports a row when its run has ended.
  struct ending {
    std::shared_ptr<const agent_context> context;
    std::size_t messages_before = 0;
    std::int64_t steps_before = 0;
    done_function done;
  };
  [[nodiscard]] std::shared_ptr<const agent_context> context_for(row_request& request) const;
  [[nodiscard]] static std::function<void(detail::raw_result)> end_of(ending end);

  const agent& agent_;
  engine& engine_;
  event_log* events_;
  open_checkpointer open_;
  std::shared_ptr<superstep::checkpointer> checkpointer_; ///< null: rows are not saved
};

/// Returns the short stable name of a run's error: `recursion_limit`, `timed_out`, `model_error`, …
[[nodiscard]] std::string error_kind(const run_error& e);

} // namespace superstep::cli
