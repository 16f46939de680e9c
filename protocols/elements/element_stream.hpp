// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/elements/xml_calls.hpp"
#include "protocols/stream_output.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace superstep {

/// Reads one call: reports its arguments while the body grows, then returns them.
class body_progress {
public:
  virtual ~body_progress() = default;
  /// @param body the part that certainly belongs to the body; begins with the earlier ones
  virtual void advance(std::string_view body) = 0;
  /// Ends the body, which was complete in the last advance().
  virtual void end() = 0;
  /// Returns the arguments of the complete body as JSON, or an error if they cannot be parsed.
  [[nodiscard]] virtual result<std::string> read(std::string_view body) = 0;
  /// Returns the arguments of a body without a close tag, or nullopt if they cannot be parsed.
  /// @param text the text after the open tag
  /// @param tail where half of the close tag may begin; the size of `text` if none does
  [[nodiscard]] virtual std::optional<std::string> read_unfinished(std::string_view text,
                                                                   std::size_t tail) = 0;
};

/// Facts of one tool that a protocol computes once.
class call_facts {
public:
  virtual ~call_facts() = default;
};

/// Parses the body of a call, which is an element named after its tool. One implementation per
/// protocol (morph_xml, yaml_xml), immutable and shared.
class call_body {
public:
  virtual ~call_body() = default;
  /// Whether a stream takes `</ name >` for a close tag, or `</name>` only.
  [[nodiscard]] virtual bool close_has_spaces() const noexcept = 0;
  /// Returns the arguments of a complete body.
  [[nodiscard]] virtual result<json::value> read(std::string_view body,
                                                 const protocol_tool& tool) const = 0;
  /// Returns the facts that progress() needs, computed once for all calls of the tool; may be null.
  [[nodiscard]] virtual std::unique_ptr<call_facts> facts(const protocol_tool& tool) const = 0;
  /// Returns a reader for one call of a stream.
  /// @param facts those of the tool; must outlive the reader
  [[nodiscard]] virtual std::unique_ptr<body_progress>
  progress(const protocol_tool& tool, const call_facts* facts, stream_output& output) const = 0;
};

/// The stream of a protocol whose calls are elements named after tools. A call ends at the first
/// close tag of its name.
class element_stream final : public protocol_stream {
public:
  /// @param body outlives the stream
  element_stream(const call_body& body, const std::vector<protocol_tool>& tools,
                 stream_options options, protocol_event_handler on_event,
                 protocol_error_handler on_error);
  void write(std::string_view piece) override;
  void refuse_unclosed() noexcept override { refuses_unclosed_ = true; }
  void finish() override;

private:
  enum class found { none, more, close };
  bool read_text(bool complete);
  bool read_call(bool complete);
  [[nodiscard]] found find_close(bool complete, std::size_t& end);
  void end_call(std::size_t body_end, std::size_t end);
  void end_unfinished();
  void take(std::size_t n);

  [[nodiscard]] bool is_plain(std::string_view piece) const;
  [[nodiscard]] const call_facts* facts_of(const protocol_tool& tool);

  const call_body& body_;
  tool_names names_;
  std::unordered_map<const protocol_tool*, std::unique_ptr<call_facts>> facts_; // of called ones
  stream_output output_;
  text_window window_;                  // begins with the text or the call that is being read
  const protocol_tool* tool_ = nullptr; // of the call; null while text is read
  std::size_t body_begin_ = 0;
  std::size_t scanned_ = 0; // of the window; nothing is found before
  std::unique_ptr<body_progress> progress_;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep
