// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/protocols/stream_output.hpp"

#include <superstep/models/protocols/tool_protocol.hpp>

#include <memory>
#include <optional>
#include <string_view>

namespace superstep {

/// Reads one call: shows its arguments while its body grows, then says what they are.
class body_progress {
public:
  virtual ~body_progress() = default;
  /// @param body as far as it is sure to be body; begins with what was given before
  virtual void advance(std::string_view body) = 0;
  /// What was given last is the whole body.
  virtual void end() = 0;
  /// The arguments of the whole body; an error when it says none.
  [[nodiscard]] virtual result<json::value> read(std::string_view body) = 0;
  /// The arguments of a body whose close tag never came.
  [[nodiscard]] virtual std::optional<json::value> read_unfinished(std::string_view body) = 0;
};

/// How a protocol whose calls are elements named after tools reads what is between the tags.
/// Immutable and shared.
class call_body {
public:
  virtual ~call_body() = default;
  /// Whether a stream takes `</ name >` for a close tag, or `</name>` only.
  [[nodiscard]] virtual bool close_has_spaces() const noexcept = 0;
  /// The arguments of a body that is read at once.
  [[nodiscard]] virtual result<json::value> read(std::string_view body,
                                                 const protocol_tool& tool) const = 0;
  [[nodiscard]] virtual std::unique_ptr<body_progress> progress(const protocol_tool& tool,
                                                                stream_output& output) const = 0;
};

} // namespace superstep
