// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Turns the arguments as far as they are read into tool_input_delta events of one call.
/// Used by one stream; `on_event` outlives it.
class input_progress {
public:
  input_progress(std::size_t call, const protocol_event_handler& on_event)
      : call_{call}, on_event_{&on_event} {}

  /// Sends what surely begins the final text, if it extends what was sent.
  void show(const json::value& so_far);
  /// Sends the rest. False: what was sent does not begin `arguments`; nothing is sent then.
  [[nodiscard]] bool complete(std::string_view arguments);

private:
  bool extend(std::string_view text);

  std::size_t call_;
  const protocol_event_handler* on_event_;
  std::string sent_;
};

} // namespace superstep
