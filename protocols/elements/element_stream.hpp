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

/// A parser for the body of one streamed call, that is the text between its open and close tag. It
/// reports arguments while the body grows and returns all of them at the end.
class body_progress {
public:
  virtual ~body_progress() = default;
  /// Parses the part of the body that has arrived.
  /// @param body the body so far, from its beginning; without text that may belong to the close tag
  virtual void advance(std::string_view body) = 0;
  /// Called when the close tag has been found, after the last advance(). Reports arguments that
  /// were held back because more could follow.
  virtual void end() = 0;
  /// Returns the arguments of the complete body as JSON text, or an error if they cannot be parsed.
  [[nodiscard]] virtual result<std::string> read(std::string_view body) = 0;
  /// Returns the arguments of a call without a close tag as JSON text; nullopt if they cannot be
  /// parsed.
  /// @param text all text after the open tag, up to the end of the answer
  /// @param tail position in `text` at which an incomplete close tag begins; the size of `text` if
  /// there is none
  [[nodiscard]] virtual std::optional<std::string> read_unfinished(std::string_view text,
                                                                   std::size_t tail) = 0;
};

/// The base of a protocol's precomputed facts about one tool.
class call_facts {
public:
  virtual ~call_facts() = default;
};

/// A parser for the text between the tags of a call. morph_xml and yaml_xml each have one
/// implementation. Immutable and shared by all threads.
class call_body {
public:
  virtual ~call_body() = default;
  /// Whether a streamed call may be closed by a tag with spaces, `</ name >`. If false, only
  /// `</name>` closes it.
  [[nodiscard]] virtual bool close_has_spaces() const noexcept = 0;
  /// Returns the arguments of a complete body, or an error if they cannot be parsed.
  [[nodiscard]] virtual result<json::value> read(std::string_view body,
                                                 const protocol_tool& tool) const = 0;
  /// Returns the facts that progress() needs, computed once for all calls of the tool; may be null.
  [[nodiscard]] virtual std::unique_ptr<call_facts> facts(const protocol_tool& tool) const = 0;
  /// Returns a parser for one call of a stream. All arguments must outlive it.
  /// @param facts the result of facts() for the tool
  [[nodiscard]] virtual std::unique_ptr<body_progress>
  progress(const protocol_tool& tool, const call_facts* facts, stream_output& output) const = 0;
};

/// The parser for streamed answers of a protocol whose calls are elements named after tools. A call
/// ends at the first close tag with its name.
class element_stream final : public protocol_stream {
public:
  /// @param body must outlive the stream
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
  // Facts of the tools that have been called.
  std::unordered_map<const protocol_tool*, std::unique_ptr<call_facts>> facts_;
  stream_output output_;
  text_window window_;                      // begins with the unreported text or with the open call
  const protocol_tool* tool_ = nullptr;     // tool of the open call; null outside a call
  std::size_t body_begin_ = 0;              // position in the window after the open tag of the call
  std::size_t scanned_ = 0;                 // the window before this position has been searched
  std::unique_ptr<body_progress> progress_; // parser of the open call
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep
