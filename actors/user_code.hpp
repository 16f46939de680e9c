// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "run.hpp"

#include <string_view>

namespace superstep {

/// Stores the exception being handled, which user code outside bodies has thrown. It ends the run
/// at the next step boundary. `whose` names the code in the error text.
void note_broken(run& r, std::string_view whose) noexcept;

/// Calls user code that is not a body, such as a sink, a cache or a checkpointer. If it throws, the
/// exception is stored with note_broken().
template <class Call>
void call_user(run& r, std::string_view whose, Call call) noexcept {
  try {
    call();
  } catch (...) {
    note_broken(r, whose);
  }
}

/// Calls apply(). An exception of user code is returned as an error.
[[nodiscard]] result<void> apply_step(run& r);

/// Returns the error for the exception being handled: `what` failed, and why.
[[nodiscard]] error error_of_exception(std::string_view what) noexcept;

/// Returns the error for the exception being handled. If memory is short, the error states that.
[[nodiscard]] run_error current_error(std::string_view whose, std::int64_t step) noexcept;

} // namespace superstep
