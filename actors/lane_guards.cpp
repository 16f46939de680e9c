// SPDX-License-Identifier: Apache-2.0
// Catches the exceptions of user code that a lane calls outside bodies: reducers, copies of values,
// sinks, caches, checkpointers. Such an exception ends one run and not the process. Exceptions of
// bodies are caught by start_body() in runtime/node_body.cpp.
#include "lane.hpp"

#include <utility>

namespace superstep {

void lane::note_broken(run& r, std::string_view whose) {
  if (!r.broken)
    r.broken = std::make_unique<run_error>(
        error_of_user_code(whose, std::current_exception(), r.state.step()));
}

/// Ends the run if user code outside bodies has thrown; returns whether it did.
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

/// Ends the run with the exception being handled, which user code has thrown between two steps.
void lane::end_thrown(run& r) {
  if (r.live)
    end_run(r, error_of_user_code("step " + std::to_string(r.state.step()),
                                  std::current_exception(), r.state.step()));
}

/// Calls apply(). An exception of user code is returned as an error.
result<void> lane::apply_step(run& r) {
  try {
    return apply(r.state, r.step);
  } catch (...) {
    const auto cause = std::current_exception();
    return error{failure_code(cause, graph_errc::user_code_failed),
                 "copying or clearing a value failed: " + describe(cause)};
  }
}

/// Creates the run's first state, which calls the constructor of the user's state type. Returns
/// false if the run has ended.
bool lane::begin_state(run& r) {
  const auto& config = *r.request.config;
  const auto* const below = r.request.below.get();
  try {
    r.state.reset(std::move(r.request.table),
                  below == nullptr ? config.run_id : config.run_id + '/' + below->ns,
                  config.recursion_limit);
    return true;
  } catch (...) {
    end_run(r, error_of_user_code("creating the initial state of graph '" + r.table().name() + '\'',
                                  std::current_exception(), 0));
  }
  return false;
}

} // namespace superstep
