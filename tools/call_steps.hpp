// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tool_table.hpp"

#include <superstep/base/task.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

// The steps of one call of a tool node. tool_node.cpp and direct_call.cpp combine them.
namespace superstep {

/// Returns the environment of a call; an empty one if the context has none.
[[nodiscard]] const tool_environment& environment_of(const tool_context& context);
/// Returns an environment that contains only the form of the input. The objects are static, and the
/// pointers do not count references.
[[nodiscard]] std::shared_ptr<const tool_environment> empty_environment(tool_input_form form);

/// Sets the injected arguments. Returns a copy of the call without them, because the schema
/// describes only the model's arguments; null if the tool has no injected arguments. An exception
/// here is not answered like a failure of the call. It fails the node, or reaches the interceptor
/// if the node has one.
[[nodiscard]] std::unique_ptr<tool_call> inject(const tool_node::table& t,
                                                const tool_node::table::entry& entry,
                                                tool_call& call, tool_context& context);

/// Checks the arguments and returns the task of the tool. The task throws what the check throws.
/// @param own the call without its injected arguments; null if it has none
/// @param at where the call runs; null if the tool has no timeout
[[nodiscard]] task<tool_output> begin_body(const tool_node::table::entry& entry,
                                           const tool_call& call, const tool_call* own,
                                           tool_context& context, const execution_context* at);

/// Returns a task that throws the exception.
[[nodiscard]] task<tool_output> fail_later(std::exception_ptr failure);

/// Returns the answer to a call of an unknown tool.
[[nodiscard]] tool_answer answer_unknown(const tool_node::table& t, const tool_call& call);
/// Returns the answer with the result of a tool. Throws tool_value_error for a reply that does not
/// fit.
[[nodiscard]] tool_answer answer_output(const tool_node::table& t, const tool_call& call,
                                        tool_input_form form, tool_output&& out);
/// Returns the answer to the current exception, shortened if necessary. Rethrows the exception if
/// it must not be answered.
/// @param any true for exceptions of an interceptor, which are answered whatever their class
[[nodiscard]] tool_answer answer_failure(const tool_node::table& t, const tool_call& call,
                                         bool any);
/// Returns the answer to a call whose body has ended.
/// @param take returns the result of the body, or throws what the body threw
template <class Take>
[[nodiscard]] tool_answer answer_to(const tool_node::table& t, const tool_call& call,
                                    tool_input_form form, Take take) {
  try {
    return answer_output(t, call, form, take());
  } catch (...) {
    return answer_failure(t, call, false);
  }
}

/// Notifies an observer of one call. If the object is destroyed before end(), the call was
/// cancelled.
class observed_call {
public:
  observed_call(std::shared_ptr<const call_observer> observer, const tool_call& call,
                std::uint32_t attempt, execution_context& at)
      : observer_{std::move(observer)}, at_{at}, start_{at.where->now()} {
    observed_.call_id = call.id;
    observed_.tool = call.name;
    observed_.attempt = attempt;
    observer_->on_start(observed_.call_id, observed_.tool);
  }
  observed_call(const observed_call&) = delete;
  observed_call& operator=(const observed_call&) = delete;
  ~observed_call() {
    observed_.took = std::chrono::nanoseconds{-1};
    if (observer_)
      observer_->on_end(std::move(observed_));
  }
  void end(bool is_error) {
    observed_.took = at_.where->now() - start_;
    observed_.is_error = is_error;
    std::exchange(observer_, nullptr)->on_end(std::move(observed_));
  }

private:
  std::shared_ptr<const call_observer> observer_;
  execution_context& at_;
  call_time observed_;
  executor::time_point start_;
};

} // namespace superstep
