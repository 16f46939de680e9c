// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/task.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/runtime.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <system_error>

namespace superstep {

/// One call of an agent's model. Interceptors can read it and change it before it is made.
struct model_call {
  chat_model_ptr model;                          ///< the model to call
  message_ptr system;                            ///< sent before the messages; null: none
  message_list messages;                         ///< the conversation that the model reads
  tool_definitions tools;                        ///< null: those bound to the model, if any
  std::uint32_t turn = 0;                        ///< number of the model's call in this run, from 0
  json::object parameters{};                     ///< see model_request::parameters
  std::shared_ptr<const answer_schema> format{}; ///< required format of the answer; null: any text
};

/// An answer that broke off after a piece of it was streamed. Not retried, because another attempt
/// would produce a different text.
class broken_answer : public std::system_error {
public:
  using std::system_error::system_error;
};

/// Calls the model; may be called several times. The task throws the model's error as
/// std::system_error.
using model_ask = std::function<task<message>(model_call)>;
/// Wraps every call of a model: receives the call and a function that makes it, and returns the
/// answer. It may call the function any number of times, also never. Called by any number of runs
/// at once.
using model_interceptor = std::function<task<message>(model_call, model_ask, runtime)>;

} // namespace superstep
