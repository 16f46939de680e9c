// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <functional>

namespace superstep {

/// Runs one call and returns the text of its tool message. An error is reported to the model.
using call_function = std::function<task<result<std::string>>(tool_call)>;

/// Options of run_tool_loop().
struct tool_loop_options {
  std::size_t steps_max = 5; ///< answers of the model; at least 1
};

enum class tool_loop_end {
  answered,   ///< the last answer contains no call
  step_limit, ///< the last answer contains calls, and no step was left to read their results
};

/// The result of run_tool_loop().
struct tool_loop_result {
  tool_loop_end end = tool_loop_end::answered;
  std::size_t steps = 0; ///< answers of the model
  message_list messages; ///< the conversation; every call in it has a result
};

/// Asks the model, runs its calls in order, and asks again, until it answers without calls or
/// `steps_max` is reached. For simple programs; agents are graphs.
///
/// A call of an unknown tool, or with invalid arguments, gets an error as its result. An error of
/// the model ends the loop with that error.
[[nodiscard]] task<result<tool_loop_result>> run_tool_loop(chat_model_ptr model,
                                                           model_request request,
                                                           call_function call,
                                                           tool_loop_options options = {});

} // namespace superstep
