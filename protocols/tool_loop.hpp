// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <functional>

namespace superstep {

/// A function that runs one tool call and returns the text for the model. The text of a returned
/// error is passed to the model as the result of the call.
using call_function = std::function<task<result<std::string>>(tool_call)>;

/// Options of run_tool_loop().
struct tool_loop_options {
  std::size_t steps_max = 5; ///< maximum number of requests to the model; at least 1
};

/// The reason for which run_tool_loop() ended.
enum class tool_loop_end {
  answered,   ///< the model answered without a call
  step_limit, ///< steps_max was reached; the results of the last calls were not sent to the model
};

/// The result of run_tool_loop().
struct tool_loop_result {
  tool_loop_end end = tool_loop_end::answered;
  std::size_t steps = 0; ///< number of requests to the model
  message_list messages; ///< the whole conversation; every call is followed by its result
};

/// Asks the model, runs the calls of its answer one after the other, and asks again with the
/// results. Ends when an answer contains no call or `steps_max` is reached. For programs without
/// graphs.
///
/// If a call names an unknown tool or has invalid arguments, its result is an error text for the
/// model.
///
/// @param model must not be null
/// @param request the first request; its tools are those that the model may call
/// @param call runs a call of a known tool; must not be null
/// @return the conversation, or the error of the model
[[nodiscard]] task<result<tool_loop_result>> run_tool_loop(chat_model_ptr model,
                                                           model_request request,
                                                           call_function call,
                                                           tool_loop_options options = {});

} // namespace superstep
