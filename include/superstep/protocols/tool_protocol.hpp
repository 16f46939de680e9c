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
  std::string name;                  ///< the name by which the model calls the tool
  std::string description;           ///< text for the model; may be empty
  json::value schema;                ///< JSON Schema of the arguments; null if not declared
  std::vector<json::value> examples; ///< arguments of sample calls for the prompt
  json::object as_given;             ///< the complete declaration, which yaml_xml prints
};

/// A part of an answer that could not be parsed as a call.
struct protocol_error {
  std::string code;      ///< such as "malformed-tool-call-body"; listed in docs/protocols.md
  std::string tool_name; ///< name of the called tool; empty if unknown
  std::string segment;   ///< the raw text of that part
};
/// Receives the parts that could not be parsed. It runs on the thread that parses the answer.
using protocol_error_handler = std::function<void(protocol_error)>;

/// A piece of an answer that is ordinary text.
struct parsed_text {
  std::string text;
  friend bool operator==(const parsed_text&, const parsed_text&) = default;
};
/// A call that was found in the text of an answer.
struct parsed_call {
  std::string name;      ///< name of the tool as the model wrote it; the tool may be unknown
  std::string arguments; ///< JSON text, usually an object
  friend bool operator==(const parsed_call&, const parsed_call&) = default;
};
/// A text or a call.
using parsed_part = std::variant<parsed_text, parsed_call>;

// The five structs below are the events of an answer that is still being written. Their member
// `call` is the number of the call in its stream, from 0. A call is reported as one
// tool_input_start, any number of tool_input_delta, one tool_input_end and one stream_call. The
// stream_call is missing if the call turns out to be invalid.

/// A piece of ordinary text.
struct stream_text {
  std::string text;
};
/// The beginning of a call.
struct tool_input_start {
  std::size_t call;
  std::string name; ///< name of the called tool
};
/// A piece of the arguments of a call. All pieces of a call together are its JSON text, equal to
/// `parsed_call::arguments`.
struct tool_input_delta {
  std::size_t call;
  std::string text;
};
/// The end of the arguments of a call.
struct tool_input_end {
  std::size_t call;
};
/// A complete call; follows its tool_input_end.
struct stream_call {
  std::size_t call;
  parsed_call parsed;
};
/// An event of a streamed answer.
using protocol_event =
    std::variant<stream_text, tool_input_start, tool_input_delta, tool_input_end, stream_call>;
/// Receives the events of one stream in order. It runs on the thread that calls write() or
/// finish().
using protocol_event_handler = std::function<void(protocol_event)>;

/// Options of a protocol_stream.
struct stream_options {
  bool emit_raw_on_error = false; ///< report the text of a call that cannot be parsed as text
};

/// A parser of one answer that arrives in pieces. The calls and the concatenated text do not depend
/// on where the answer was cut into pieces. Owned by one model call; not thread-safe.
class protocol_stream {
public:
  virtual ~protocol_stream() = default;
  /// Parses the next piece of the answer and reports the events that are certain by now.
  /// @param piece any number of bytes; may end inside a tag or a UTF-8 character
  /// @pre finish() has not been called
  virtual void write(std::string_view piece) = 0;
  /// Selects that finish() does not complete a call without an end. Such a call is then reported as
  /// the error `unfinished-tool-call`. Must be called before finish().
  virtual void refuse_unclosed() noexcept = 0;
  /// Parses the rest of the answer and reports the last events. Called once, after the last
  /// write().
  virtual void finish() = 0;
};

/// A text format for tool calls: describes tools to a model and parses calls from its text.
/// Programs can implement further formats.
///
/// A protocol is immutable and shared by all calls, from any thread. In all functions, `tools` are
/// the tools that the model may call, and `tool` is the name of one of them.
class tool_protocol {
public:
  virtual ~tool_protocol() = default;
  /// Returns the name of the protocol, such as "hermes". Used in fingerprints and agent files.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Returns the descriptions of the tools in the protocol's fixed layout. A custom prompt (see
  /// protocol_options::prompt) usually contains this text, too.
  [[nodiscard]] virtual std::string tool_list(const std::vector<protocol_tool>& tools) const = 0;
  /// Returns the system text: tool_list() and the rules for calls. Empty if none is needed.
  [[nodiscard]] virtual std::string prompt(const std::vector<protocol_tool>& tools) const = 0;
  /// Returns the text of a sample call, for the prompt.
  /// @param arguments the arguments of the call, usually an object
  [[nodiscard]] virtual std::string example_call(std::string_view tool,
                                                 const json::value& arguments) const = 0;
  /// Returns the text of a call that the model made earlier in the conversation.
  /// @param arguments the JSON text of the arguments, or the invalid text that the model wrote
  [[nodiscard]] virtual std::string format_call(std::string_view tool,
                                                std::string_view arguments) const = 0;
  /// Returns the text of a tool's result for the conversation.
  /// @param result the result; any JSON value
  [[nodiscard]] virtual std::string format_result(std::string_view tool,
                                                  const json::value& result) const = 0;

  /// Parses a complete answer. Linear in the length of the text.
  ///
  /// An implementation finds only the calls in its own format. The steps that all protocols share
  /// are not part of this function: make_protocol_middleware() adds them.
  ///
  /// @param text the whole answer
  /// @param tools must outlive the call of this function
  /// @param on_error receives each call that cannot be parsed; may be null
  /// @return the texts and calls in order. Text that is not part of a valid call remains text,
  /// including calls that cannot be parsed; protocols may drop texts of only white space.
  [[nodiscard]] virtual std::vector<parsed_part>
  parse(std::string_view text, const std::vector<protocol_tool>& tools,
        const protocol_error_handler& on_error) const = 0;
  /// Returns a parser for an answer that arrives in pieces. Never null. This object must outlive
  /// it.
  /// @param tools must outlive the returned stream
  /// @param options how calls that cannot be parsed are reported
  /// @param on_event receives the texts and calls; must not be null
  /// @param on_error receives each call that cannot be parsed; may be null
  [[nodiscard]] virtual std::unique_ptr<protocol_stream>
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error) const = 0;
};

/// A shared, immutable protocol.
using tool_protocol_ptr = std::shared_ptr<const tool_protocol>;

/// Creates a protocol by its name. May be called from any thread.
/// @param name `hermes`, `morph_xml`, `yaml_xml` or `qwen3_coder`; the spellings of the npm package
/// `@ai-sdk-tool/parser` (`morphXml`, `yamlXml`, `qwen3coder`) are accepted as well
/// @return the protocol; `errc::not_found` for an unknown name, with the known names in the text
[[nodiscard]] result<tool_protocol_ptr> make_protocol(std::string_view name);

/// Creates the protocol `hermes`. A call is a JSON object with `name` and `arguments` between
/// `<tool_call>` tags, the format that Hermes and Qwen models were trained on. May be called from
/// any thread.
///
/// Of the four protocols, only this one checks arguments against the schema of the tool. A call
/// whose arguments do not match is reported as an error and remains text.
///
/// Source: npm package `@ai-sdk-tool/parser` 4.1.26.
[[nodiscard]] tool_protocol_ptr make_hermes();

/// Creates the protocol `morph_xml`. A call is an XML element named after the tool, with one
/// element per parameter inside. May be called from any thread.
///
/// Source: npm package `@ai-sdk-tool/parser` 4.1.26.
[[nodiscard]] tool_protocol_ptr make_morph_xml();

/// Creates the protocol `yaml_xml`. A call is an XML element named after the tool that contains the
/// arguments as a YAML mapping. May be called from any thread.
///
/// Source: npm package `@ai-sdk-tool/parser` 4.1.26.
[[nodiscard]] tool_protocol_ptr make_yaml_xml();

/// Creates the protocol `qwen3_coder`. A call is a `<function=NAME>` element with a
/// `<parameter=KEY>` element per argument, with or without `<tool_call>` tags around it. Other
/// spellings that models write are accepted, such as `<call>` or `name="…"`. May be called from any
/// thread.
///
/// Source: npm package `@ai-sdk-tool/parser` 4.1.26.
[[nodiscard]] tool_protocol_ptr make_qwen3_coder();

/// Converts a tool declaration of the AI SDK to the form that protocols use. May be called from any
/// thread.
/// @param declaration `{name, description, inputSchema, inputExamples}`; absent members stay empty
[[nodiscard]] protocol_tool make_protocol_tool(const json::object& declaration);
/// Converts a tool definition to the form that protocols use. May be called from any thread.
[[nodiscard]] protocol_tool make_protocol_tool(const tool_definition& tool);

} // namespace superstep
