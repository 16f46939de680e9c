// SPDX-License-Identifier: Apache-2.0
// Tool messages and outputs for calls that failed or were stopped.
#include "tools/failed_call.hpp"

#include <utility>

namespace superstep {

message failed_call(const tool_call& call, std::string text) {
  auto out = tool_message(std::move(text), call.id, call.name);
  out.is_error = true;
  return out;
}

message stopped_call(const tool_call& call, std::string_view why) {
  return failed_call(call, "Error: the call of tool '" + call.name + "' was stopped: " +
                               std::string{why} + "\n Please fix your mistakes.");
}

tool_output error_output(std::string text) {
  auto out = tool_output{};
  out.content = std::move(text);
  out.is_error = true;
  return out;
}

} // namespace superstep
