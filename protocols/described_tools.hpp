// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/tool_definition.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <deque>
#include <memory>
#include <mutex>

namespace superstep {

/// The tools of a request as a protocol wants them, and what it says of them.
struct described_tools {
  tool_definitions source; ///< what they were made from; held, so that no other list gets its place
  std::vector<protocol_tool> tools;
  std::string prompt;   ///< the protocol's own
  std::string examples; ///< empty: no tool has some
};
using described_tools_ptr = std::shared_ptr<const described_tools>;

/// Describes each list of tools once: all requests of an agent share one list, and to write out
/// hundreds of schemas costs far more than the rest of a request. Used by any thread.
class tool_describer {
public:
  explicit tool_describer(tool_protocol_ptr protocol) : protocol_{std::move(protocol)} {}
  /// Never null. @param tools null: none
  [[nodiscard]] described_tools_ptr describe(const tool_definitions& tools) const;

private:
  [[nodiscard]] described_tools_ptr make(const tool_definitions& tools) const;

  tool_protocol_ptr protocol_;
  mutable std::mutex guards_known_;
  mutable std::deque<described_tools_ptr> known_; // those used longest ago first
};

} // namespace superstep
