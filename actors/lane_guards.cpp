// SPDX-License-Identifier: Apache-2.0
// Guards around the code of users that a lane calls outside bodies: what it throws ends one run.
#include "lane.hpp"

#include <utility>

namespace superstep {

void lane::note_broken(run& r, std::string_view whose) {
  if (!r.broken)
    r.broken = std::make_unique<run_error>(
        error_of_user_code(whose, std::current_exception(), r.state.step()));
}

/// Whether user code outside a body has thrown, which ends the run.
bool lane::ends_broken(run& r) {
  if (!r.broken && r.request.guard)
    if (auto cause = r.request.guard->failure())
      r.broken = std::make_unique<run_error>(
          error_of_user_code("the sink of the run's events", std::move(cause), r.state.step()));
  if (!r.broken)
    return false;
  end_run(r, std::move(*r.broken));
  return true;
}

/// User code has thrown between two steps: the exception that is being handled ends the run.
void lane::end_thrown(run& r) {
  if (r.live)
    end_run(r, error_of_user_code("step " + std::to_string(r.state.step()),
                                  std::current_exception(), r.state.step()));
}

/// apply(), with what user code throws as an error.
result<void> lane::apply_step(run& r) {
  try {
    return apply(r.state, r.step);
  } catch (...) {
    const auto cause = std::current_exception();
    return error{failure_code(cause, graph_errc::user_code_failed),
                 "a value failed to be copied: " + describe(cause)};
  }
}

/// Makes a run's first state. False when the run has ended: its type's constructor is user code.
bool lane::begin_state(run& r) {
  const auto& config = *r.request.config;
  const auto* const below = r.request.below.get();
  try {
    r.state.reset(std::move(r.request.table),
                  below == nullptr ? config.run_id : config.run_id + '/' + below->ns,
                  config.recursion_limit);
    return true;
  } catch (...) {
    end_run(r, error_of_user_code("the initial state of graph '" + r.table().name() + '\'',
                                  std::current_exception(), 0));
  }
  return false;
}

} // namespace superstep
