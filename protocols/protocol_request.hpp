// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <deque>
#include <memory>
#include <mutex>

namespace superstep {

/// The tools of a request with the texts that a protocol writes for them.
struct described_tools {
  tool_definitions source; ///< the described list; kept alive to keep its address unique
  std::vector<protocol_tool> tools;
  std::string prompt;   ///< the protocol's own
  std::string examples; ///< empty if no tool has examples
};
using described_tools_ptr = std::shared_ptr<const described_tools>;

/// Describes each list of tools once and caches the result. All requests of an agent share one
/// list, and writing hundreds of schemas costs far more than the rest of a request. Thread-safe.
class tool_describer {
public:
  explicit tool_describer(tool_protocol_ptr protocol) : protocol_{std::move(protocol)} {}
  /// Returns the description, never null. @param tools null for no tools
  [[nodiscard]] described_tools_ptr describe(const tool_definitions& tools) const;

private:
  [[nodiscard]] described_tools_ptr make(const tool_definitions& tools) const;

  tool_protocol_ptr protocol_;
  mutable std::mutex guards_known_;
  mutable std::deque<described_tools_ptr> known_; // least recently used first
};

/// Returns `parameters.tool_choice` in the form of forced_response_format(). `{type: auto}` if the
/// request has none.
[[nodiscard]] result<json::object> tool_choice_of(const model_request& request);

/// Returns the request for a model without native tool calls.
/// @param described the tools of the request
[[nodiscard]] result<model_request> protocol_request(model_request request,
                                                     const described_tools& described,
                                                     const protocol_options& options);

} // namespace superstep
