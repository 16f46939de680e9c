// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>

#include <cstddef>
#include <functional>

namespace superstep {

/// Runs one call; the answer is the text of its tool message. An error is told to the model.
using call_function = std::function<task<result<std::string>>(tool_call)>;

struct tool_loop_options {
  std::size_t steps_max = 5; ///< answers of the model; at least 1
};

enum class tool_loop_end {
  answered,   ///< the last answer holds no call
  step_limit, ///< it does, and there was no step left to read the results in
};

struct tool_loop_result {
  tool_loop_end end = tool_loop_end::answered;
  std::size_t steps = 0; ///< answers of the model
  message_list messages; ///< the whole conversation; every call in it has been answered
};

/// Asks the model, runs its calls one after the other, and asks again, until it answers without
/// calls or the steps are used up. For simple programs; agents are graphs.
///
/// A call of a tool that the request does not list, or without readable arguments, is answered with
/// an error that says so. An error of the model is that of the loop.
[[nodiscard]] task<result<tool_loop_result>> run_tool_loop(chat_model_ptr model,
                                                           model_request request,
                                                           call_function call,
                                                           tool_loop_options options = {});

} // namespace superstep
