// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace superstep {

/// A tool as a text protocol describes it to the model.
struct protocol_tool {
  std::string name;
  std::string description;
  json::value schema;                ///< a JSON Schema or a boolean; null if none was declared
  std::vector<json::value> examples; ///< arguments of sample calls
  json::object as_given;             ///< the complete declaration, for protocols that print it
};

/// A part of an answer that could not be parsed as a call.
struct protocol_error {
  std::string code;      ///< such as "malformed-tool-call-body"; see docs/protocols.md
  std::string tool_name; ///< empty if unknown
  std::string segment;   ///< the raw text of that part
};
using protocol_error_handler = std::function<void(protocol_error)>;

/// A text in an answer.
struct parsed_text {
  std::string text;
  friend bool operator==(const parsed_text&, const parsed_text&) = default;
};
/// A call in an answer. `arguments` is JSON text, as in a message.
struct parsed_call {
  std::string name;
  std::string arguments;
  friend bool operator==(const parsed_call&, const parsed_call&) = default;
};
using parsed_part = std::variant<parsed_text, parsed_call>;

// Events of an answer that is still being written. `call` numbers the calls of one stream from 0.
// The concatenated deltas of a call are the arguments of its `parsed_call`.

/// A piece of the text of an answer.
struct stream_text {
  std::string text;
};
/// A call begins.
struct tool_input_start {
  std::size_t call;
  std::string name;
};
/// A piece of the arguments of a call.
struct tool_input_delta {
  std::size_t call;
  std::string text;
};
/// The arguments of a call are complete.
struct tool_input_end {
  std::size_t call;
};
/// A whole call, after its arguments are complete.
struct stream_call {
  std::size_t call;
  parsed_call parsed;
};
using protocol_event =
    std::variant<stream_text, tool_input_start, tool_input_delta, tool_input_end, stream_call>;
using protocol_event_handler = std::function<void(protocol_event)>;

/// Options of a protocol_stream.
struct stream_options {
  bool emit_raw_on_error = false; ///< report unparsable calls as text
};

/// Parses one answer piece by piece. The result does not depend on where the pieces were cut. Owned
/// by one call; not thread-safe.
class protocol_stream {
public:
  virtual ~protocol_stream() = default;
  virtual void write(std::string_view piece) = 0;
  /// Refuses a call that is still open when the answer ends: it is reported as
  /// `unfinished-tool-call` and not completed from what is there. May be called until finish().
  virtual void refuse_unclosed() noexcept = 0;
  /// Ends the answer. write() must not be called afterwards.
  virtual void finish() = 0;
};

/// A text format for tool calls: describes tools to a model and parses calls from its text. Users
/// can implement further formats.
///
/// Immutable and shared by all calls, from any thread. `tools` must outlive the call that they are
/// passed to, and for stream() the returned stream.
class tool_protocol {
public:
  virtual ~tool_protocol() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Returns the list of tools of the prompt, whose layout is fixed.
  [[nodiscard]] virtual std::string tool_list(const std::vector<protocol_tool>& tools) const = 0;
  /// Returns the system text; empty if none is needed.
  [[nodiscard]] virtual std::string prompt(const std::vector<protocol_tool>& tools) const = 0;
  /// Returns a sample call for the prompt.
  [[nodiscard]] virtual std::string example_call(std::string_view tool,
                                                 const json::value& arguments) const = 0;
  /// Returns the text of an earlier call.
  /// @param arguments JSON text, or the invalid text that the model wrote
  [[nodiscard]] virtual std::string format_call(std::string_view tool,
                                                std::string_view arguments) const = 0;
  /// Returns the text of an earlier result.
  [[nodiscard]] virtual std::string format_result(std::string_view tool,
                                                  const json::value& result) const = 0;

  /// Returns the texts and calls of a complete answer, in order. No text is lost. parse_answer()
  /// adds what is common to all protocols.
  [[nodiscard]] virtual std::vector<parsed_part>
  parse(std::string_view text, const std::vector<protocol_tool>& tools,
        const protocol_error_handler& on_error) const = 0;
  /// Returns a parser for an answer that arrives in pieces.
  [[nodiscard]] virtual std::unique_ptr<protocol_stream>
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error) const = 0;
};

using tool_protocol_ptr = std::shared_ptr<const tool_protocol>;

/// Returns the protocol with this name: `hermes`, `morph_xml`, `yaml_xml` or `qwen3_coder`. The
/// names of the AI SDK middleware (`morphXml`, `yamlXml`, `qwen3coder`) are accepted as well.
/// @returns `errc::not_found` for an unknown name; the text lists the known ones
[[nodiscard]] result<tool_protocol_ptr> make_protocol(std::string_view name);

/// Creates a protocol whose calls are JSON objects with `name` and `arguments` in `<tool_call>`
/// tags, as Hermes and Qwen models are trained to write them. The only protocol here that checks
/// arguments against the schema: a call that does not match remains text.
[[nodiscard]] tool_protocol_ptr make_hermes();

/// Creates a protocol whose calls are elements named after the tool, with an element per parameter.
[[nodiscard]] tool_protocol_ptr make_morph_xml();

/// Creates a protocol whose calls are elements named after the tool that contain a YAML mapping.
[[nodiscard]] tool_protocol_ptr make_yaml_xml();

/// Creates a protocol whose calls are `<function=NAME>` elements with a `<parameter=KEY>` element
/// per argument, with or without a `<tool_call>` block around them. Reads the spellings that models
/// use instead, such as `<call>` or `name="…"`.
[[nodiscard]] tool_protocol_ptr make_qwen3_coder();

/// Returns the description of a tool that protocols use.
/// @param declaration `{name, description, inputSchema, inputExamples}`, as in the AI SDK
[[nodiscard]] protocol_tool make_protocol_tool(const json::object& declaration);
[[nodiscard]] protocol_tool make_protocol_tool(const tool_definition& tool);

} // namespace superstep
