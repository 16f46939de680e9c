// SPDX-License-Identifier: Apache-2.0
// Catches the exceptions of user code that a lane calls outside bodies: reducers, copies of values,
// sinks, caches, checkpointers. Such an exception ends one run and not the process. Exceptions of
// bodies are caught by start_body() in runtime/node_body.cpp.
#include "user_code.hpp"

#include <exception>
#include <memory>
#include <new>
#include <string>

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

error error_of_exception(std::string_view what) noexcept {
  const auto cause = std::current_exception();
  try {
    return {failure_code(cause, graph_errc::user_code_failed),
            std::string{what} + " failed: " + describe(cause)};
  } catch (...) {
    return {make_error_code(errc::shortage), {}};
  }
}

result<void> apply_step(run& r) {
  try {
    return apply(r.state, r.step);
  } catch (...) {
    return error_of_exception("copying or clearing a value");
  }
}

} // namespace superstep
