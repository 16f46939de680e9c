// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace superstep {

/// What becomes of a call that fails.
enum class tool_error_policy : std::uint8_t {
  answer,           ///< every failure becomes a tool message that the model reads
  answer_bad_calls, ///< only calls that the model got wrong; what a tool throws fails the node
};

struct tool_node_options {
  tool_error_policy errors = tool_error_policy::answer;
  std::size_t result_bytes_max = 1024 * 1024; ///< of one result; a longer one is an error result
};

/// Runs the tool calls of a model: finds the tool, checks the arguments against its schema, runs
/// it, and turns whatever comes of it into the tool message that answers the call.
///
/// The message always has the call's id and the tool's name. Texts of errors are the reference's.
/// @par Threads
/// Immutable; any number of calls at once. Outlives the calls it runs.
class tool_node {
public:
  /// Throws std::invalid_argument when two tools have one name, a name is empty, or the schema of a
  /// tool is none.
  explicit tool_node(tool_list tools, tool_node_options options = {});

  /// Runs one call; the answer is a tool message, never null. A pointer, because ten thousand calls
  /// may wait at once and each would hold room for a message.
  [[nodiscard]] task<message_ptr> run(tool_call call, tool_context context) const;
  /// The answer to a call whose arguments could not be parsed.
  [[nodiscard]] message answer_invalid(const invalid_tool_call& call) const;

  /// What a model is told about the tools, in the order in which they were given.
  [[nodiscard]] tool_definitions definitions() const noexcept;
  /// Valid as long as this node; nullptr when there is no such tool.
  [[nodiscard]] const tool* find(std::string_view name) const noexcept;

private:
  struct table;
  std::shared_ptr<const table> table_;
};

} // namespace superstep
