// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/tool_definition.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace superstep {

/// A tool as a text protocol describes it: what every model is told, and sample arguments.
struct protocol_tool {
  std::string name;
  std::string description;
  json::value schema;                ///< a JSON Schema, or a boolean; null: none given
  std::vector<json::value> examples; ///< arguments of sample calls
  json::object as_given;             ///< the whole declaration, for protocols that print it
};

/// Something that the model wrote and that could not be taken as a call.
struct protocol_error {
  std::string code;      ///< such as "malformed-tool-call-body"; see docs/protocols.md
  std::string tool_name; ///< empty: not known
  std::string segment;   ///< the raw text it is about
};
using protocol_error_handler = std::function<void(protocol_error)>;

struct parsed_text {
  std::string text;
  friend bool operator==(const parsed_text&, const parsed_text&) = default;
};
/// A call that the model wrote. `arguments` is JSON text, as it goes into a message.
struct parsed_call {
  std::string name;
  std::string arguments;
  friend bool operator==(const parsed_call&, const parsed_call&) = default;
};
using parsed_part = std::variant<parsed_text, parsed_call>;

/// What comes out of an answer while it is still being written. `call` numbers the calls of one
/// stream from 0; the deltas of a call join to the arguments of its `parsed_call`.
struct stream_text {
  std::string text;
};
struct tool_input_start {
  std::size_t call;
  std::string name;
};
struct tool_input_delta {
  std::size_t call;
  std::string text;
};
struct tool_input_end {
  std::size_t call;
};
struct stream_call {
  std::size_t call;
  parsed_call parsed;
};
using protocol_event =
    std::variant<stream_text, tool_input_start, tool_input_delta, tool_input_end, stream_call>;
using protocol_event_handler = std::function<void(protocol_event)>;

struct stream_options {
  bool emit_raw_on_error = false; ///< the text of what could not be taken as a call is shown
};

/// Reads one answer piece by piece. What comes out does not depend on where the pieces were cut.
/// Owned by one call; not synchronised.
class protocol_stream {
public:
  virtual ~protocol_stream() = default;
  virtual void write(std::string_view piece) = 0;
  /// Refuses a call that is still open when the answer ends: it is reported as
  /// `unfinished-tool-call` and not completed from what is there. May be called until finish().
  virtual void refuse_unclosed() noexcept = 0;
  /// The answer has ended; nothing may be written any more.
  virtual void finish() = 0;
};

/// How a model without native tool calls is told of tools, and how its text is read.
///
/// Immutable and shared by all calls. Users implement it for protocols of their own. `tools`
/// outlive the call they are given to, for stream() the stream.
class tool_protocol {
public:
  virtual ~tool_protocol() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// The list of tools as it stands in the prompt; the part whose layout is fixed.
  [[nodiscard]] virtual std::string tool_list(const std::vector<protocol_tool>& tools) const = 0;
  /// The whole system text; empty: none is needed.
  [[nodiscard]] virtual std::string prompt(const std::vector<protocol_tool>& tools) const = 0;
  /// A sample call as the prompt shows it.
  [[nodiscard]] virtual std::string example_call(std::string_view tool,
                                                 const json::value& arguments) const = 0;
  /// A call of the history. @param arguments JSON text, or whatever the model once wrote instead
  [[nodiscard]] virtual std::string format_call(std::string_view tool,
                                                std::string_view arguments) const = 0;
  /// A result of the history.
  [[nodiscard]] virtual std::string format_result(std::string_view tool,
                                                  const json::value& result) const = 0;

  /// The parts of a whole text, in order, joined again they say all of it; see parse_answer() for
  /// what is common to all protocols around it.
  [[nodiscard]] virtual std::vector<parsed_part>
  parse(std::string_view text, const std::vector<protocol_tool>& tools,
        const protocol_error_handler& on_error) const = 0;
  [[nodiscard]] virtual std::unique_ptr<protocol_stream>
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error) const = 0;
};

using tool_protocol_ptr = std::shared_ptr<const tool_protocol>;

} // namespace superstep
