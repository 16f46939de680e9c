// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Options of a validation_node.
struct validation_node_options {
  /// Returns the text that the model reads about an invalid call; empty: a default text with the
  /// errors and advice.
  std::function<std::string(const tool_call&, const std::vector<argument_fault>&)> format_error;
  std::string name = "validation"; ///< of the node
  std::vector<std::string> tags;   ///< of the node
};

/// Checks the tool calls of the last message against schemas without running tools: for models that
/// extract data, whose calls are the result.
///
/// Each call is answered by a tool message. For a valid call it contains the arguments as JSON, as
/// returned by fill_arguments(). For an invalid one it contains the errors, and `is_error` is set
/// in its additional_kwargs.
/// @par Threads
/// Immutable; all members may be called by any number of threads.
/// Source: `ValidationNode` in LangGraph 1.2.22, prebuilt/tool_validator.py.
class validation_node {
public:
  /// @param schemas names and parameters; descriptions are ignored
  /// @throws std::invalid_argument if two schemas have the same name or one is not valid
  explicit validation_node(std::vector<tool_definition> schemas,
                           validation_node_options options = {});
  /// Uses the schemas of these tools.
  explicit validation_node(const tool_list& tools, validation_node_options options = {});

  /// Returns the answers, in the order of the calls. The error is invalid_argument if there is no
  /// message or the last is not an AI message, and not_found for a call without a schema.
  [[nodiscard]] result<std::vector<message>> run(const message_list& messages) const;

  /// Whether there is a schema with this name.
  [[nodiscard]] bool knows(std::string_view schema) const noexcept;
  [[nodiscard]] const validation_node_options& options() const noexcept { return options_; }

private:
  struct table;
  [[nodiscard]] result<message> check(const tool_call& call) const;

  validation_node_options options_;
  std::shared_ptr<const table> table_;
};

/// Returns arguments in normal form: in the order of the schema, with its default values, null for
/// absent optional ones, and without those that the schema does not define. Applies to nested
/// objects and lists as well. Arguments of a schema without properties are returned unchanged.
[[nodiscard]] json::object fill_arguments(const json::object& schema,
                                          const json::object& arguments);

} // namespace superstep
