// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/event_log.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent.hpp>
#include <superstep/batch/row_runner.hpp>

#include <memory>

namespace superstep::cli {

/// Runs rows as runs of an agent. Agent and engine outlive it and the rows it began.
class agent_runner final : public row_runner {
public:
  /// `events`, when given, gets the start and the end of every tool call; it outlives the runner.
  agent_runner(const agent& a, engine& e, event_log* events = nullptr)
      : agent_{a}, engine_{e}, events_{events} {}

  [[nodiscard]] std::unique_ptr<running_row> submit(row_request request,
                                                    done_function done) override;

private:
  const agent& agent_;
  engine& engine_;
  event_log* events_;
};

/// The short stable word for what ended a run: `recursion_limit`, `timed_out`, `model_error`, …
[[nodiscard]] std::string error_kind(const run_error& e);

} // namespace superstep::cli
