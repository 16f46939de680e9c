// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <deque>
#include <memory>
#include <mutex>

namespace superstep {

/// The tools of a request, with the texts that a protocol writes about them.
struct described_tools {
  tool_definitions source; ///< the described list; owned so that no other list gets its address
  std::vector<protocol_tool> tools; ///< the same tools in the form of protocols
  std::string prompt;               ///< the result of tool_protocol::prompt()
  std::string examples;             ///< sample calls; empty if no tool has examples
};
using described_tools_ptr = std::shared_ptr<const described_tools>;

/// A cache of tool descriptions. All requests of an agent share one list of tools, and writing
/// hundreds of schemas costs far more than the rest of a request. Thread-safe.
class tool_describer {
public:
  explicit tool_describer(tool_protocol_ptr protocol) : protocol_{std::move(protocol)} {}
  /// Returns the description of the tools, from the cache if possible. Never null.
  /// @param tools the list of a request; null for no tools
  [[nodiscard]] described_tools_ptr describe(const tool_definitions& tools) const;

private:
  [[nodiscard]] described_tools_ptr make(const tool_definitions& tools) const;

  tool_protocol_ptr protocol_;
  mutable std::mutex guards_known_;
  mutable std::deque<described_tools_ptr> known_; // least recently used first
};

/// Replaces the text of a message. Content blocks that are not texts, such as those of thinking,
/// remain in their order; the text takes the place of the first text block.
void replace_text(message& m, std::string text);

/// Returns the `tool_choice` of a request in the form that forced_response_format() takes; `{type:
/// auto}` if it is not set.
/// @return `errc::invalid_argument` if the value is not a valid choice
[[nodiscard]] result<json::object> tool_choice_of(const model_request& request);

/// Converts a request with tools and tool calls to a request that contains only text.
/// @param described the tools of the request
/// @return `errc::invalid_argument` if the `tool_choice` of the request is invalid
[[nodiscard]] result<model_request> protocol_request(model_request request,
                                                     const described_tools& described,
                                                     const protocol_options& options);

} // namespace superstep
