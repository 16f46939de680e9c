// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent.hpp>
#include <superstep/batch/row_runner.hpp>

#include <memory>

namespace superstep::cli {

/// Runs rows as runs of an agent. Agent and engine outlive it and the rows it began.
class agent_runner final : public row_runner {
public:
  agent_runner(const agent& a, engine& e) : agent_{a}, engine_{e} {}

  [[nodiscard]] std::unique_ptr<running_row> submit(row_request request,
                                                    done_function done) override;

private:
  const agent& agent_;
  engine& engine_;
};

/// The short stable word for what ended a run: `recursion_limit`, `timed_out`, `model_error`, …
[[nodiscard]] std::string error_kind(const run_error& e);

} // namespace superstep::cli
