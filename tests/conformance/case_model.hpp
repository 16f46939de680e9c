// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "case_program.hpp"

#include <superstep/models/chat_model.hpp>

#include <memory>
#include <mutex>
#include <string>

namespace superstep::conformance {

/// What the models of a case were given, call by call. Any thread.
class model_log {
public:
  void add(json::object call);
  void offer(const tool_definitions& tools);
  [[nodiscard]] json::array calls() const;
  /// The first tools that were offered to a model; null: none were.
  [[nodiscard]] json::value offered() const;

private:
  mutable std::mutex mutex_;
  json::array calls_;
  json::value offered_;
};

/// The scripted model of a case.
/// @param label of a model that is chosen per call; empty: none
[[nodiscard]] chat_model_ptr make_case_model(const json::object& script, std::string label,
                                             std::shared_ptr<model_log> log);

} // namespace superstep::conformance
