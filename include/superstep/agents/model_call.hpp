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

/// What one call of an agent's model is made of: what interceptors see of it, and may change before
/// it goes on.
struct model_call {
  chat_model_ptr model;
  message_ptr system; ///< read before the messages; null: none
  message_list messages;
  tool_definitions tools; ///< null: the model has its own, or none
  std::uint32_t turn = 0; ///< number of the model's call in this run, from 0
  json::object parameters{};
  std::shared_ptr<const answer_schema> format{}; ///< of the answer's text; null: any
};

/// The failure of an answer of which somebody was told a piece: asked again, the model would say
/// something else.
class broken_answer : public std::system_error {
public:
  using std::system_error::system_error;
};

/// Asks the model (again). Throws what it fails with.
using model_ask = std::function<task<message>(model_call)>;
/// Stands around every call of a model; what it returns is the answer. Asks as often as it likes,
/// or not at all.
using model_interceptor = std::function<task<message>(model_call, model_ask, runtime)>;

} // namespace superstep
