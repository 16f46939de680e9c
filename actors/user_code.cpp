// SPDX-License-Identifier: Apache-2.0
// Catches the exceptions of user code that a lane calls outside bodies: reducers, copies of values,
// sinks, caches, checkpointers. Such an exception ends one run and not the process. Exceptions of
// bodies are caught by start_body() in runtime/node_body.cpp.
#include "user_code.hpp"

#include <exception>
#include <memory>
#include <new>

namespace superstep {

run_error current_error(std::string_view whose, std::int64_t step) noexcept {
  try {
    return error_of_user_code(whose, std::current_exception(), step);
  } catch (...) { // no memory for the text; the text below needs none
    return make_run_error(errc::shortage, "out of memory", step);
  }
}

void note_broken(run& r, std::string_view whose) noexcept {
  if (r.extras().broken)
    return;
  auto error = current_error(whose, r.state.step());
  try {
    r.more().broken = std::make_unique<run_error>(std::move(error));
  } catch (...) {
    r.set(run_trait::no_memory);
  }
}

result<void> apply_step(run& r) {
  try {
    return apply(r.state, r.step);
  } catch (...) {
    const auto cause = std::current_exception();
    return error{failure_code(cause, graph_errc::user_code_failed),
                 "copying or clearing a value failed: " + describe(cause)};
  }
}

} // namespace superstep
