// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "case_program.hpp"

#include <superstep/models/chat_model.hpp>

#include <memory>
#include <mutex>
#include <string>

namespace superstep::conformance {

/// Log of the requests that the models of a case received. Thread-safe.
class model_log {
public:
  void add(json::object call);
  void offer(const tool_definitions& tools);
  [[nodiscard]] json::array calls() const;
  /// Returns the tools of the first request that offered any, or null.
  [[nodiscard]] json::value offered() const;

private:
  mutable std::mutex mutex_;
  json::array calls_;
  json::value offered_;
};

/// Returns the scripted model of a case.
/// @param label name of the model if the agent selects a model per call; otherwise empty
[[nodiscard]] chat_model_ptr make_case_model(const json::object& script, std::string label,
                                             std::shared_ptr<model_log> log);

} // namespace superstep::conformance
