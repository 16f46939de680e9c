// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/stream_output.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <memory>
#include <optional>
#include <string>
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
  /// The arguments of the whole body, as JSON; an error when it says none.
  [[nodiscard]] virtual result<std::string> read(std::string_view body) = 0;
  /// The arguments of a body whose close tag never came.
  /// @param text all that is there
  /// @param tail where half of the close tag may begin; the size of `text` if none does
  [[nodiscard]] virtual std::optional<std::string> read_unfinished(std::string_view text,
                                                                   std::size_t tail) = 0;
};

/// What one protocol keeps of one tool.
class call_facts {
public:
  virtual ~call_facts() = default;
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
  /// What streams need to know of a tool, made once for all its calls; null: nothing.
  [[nodiscard]] virtual std::unique_ptr<call_facts> facts(const protocol_tool& tool) const = 0;
  /// @param facts of the tool, which outlive it
  [[nodiscard]] virtual std::unique_ptr<body_progress>
  progress(const protocol_tool& tool, const call_facts* facts, stream_output& output) const = 0;
};

} // namespace superstep
