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
  /// Returns the text that the model reads about an invalid call. Called by any number of threads
  /// at once. Empty: a default text with the errors and advice.
  std::function<std::string(const tool_call&, const std::vector<argument_fault>&)> format_error{};
  std::string name = "validation"; ///< name of the node
  std::vector<std::string> tags{}; ///< tags of the node
};

/// Checks the tool calls of the last message against schemas without running tools. Use it for
/// models that extract data: the arguments of their calls are the result.
///
/// Each call is answered by a tool message. For a valid call it contains the arguments as JSON, as
/// returned by fill_arguments(). For an invalid one it contains the errors, and `is_error` is set
/// in its additional_kwargs.
/// @par Threads
/// Immutable; all members may be called by any number of threads.
///
/// Source: `ValidationNode` in LangGraph 1.2.22, prebuilt/tool_validator.py.
class validation_node {
public:
  /// Compiles the schemas.
  /// @param schemas names and parameters; descriptions are ignored
  /// @param options see validation_node_options
  /// @throws std::invalid_argument if two schemas have the same name or one is not valid
  explicit validation_node(std::vector<tool_definition> schemas,
                           validation_node_options options = {});
  /// Compiles the schemas of tools, which are not run. The tools must not be null. See
  /// validation_node_options for `options`.
  /// @throws std::invalid_argument if two tools have the same name or a schema is not valid
  explicit validation_node(const tool_list& tools, validation_node_options options = {});

  /// Checks the tool calls of the last message in `messages`.
  /// @return the answers, in the order of the calls; errc::invalid_argument if there is no message
  /// or the last one is not an AI message, errc::not_found for a call without a schema
  [[nodiscard]] result<std::vector<message>> run(const message_list& messages) const;

  /// Whether there is a schema with this name.
  [[nodiscard]] bool knows(std::string_view schema) const noexcept;
  /// The options of this node.
  [[nodiscard]] const validation_node_options& options() const noexcept { return options_; }

private:
  struct table;
  [[nodiscard]] result<message> check(const tool_call& call) const;

  validation_node_options options_;
  std::shared_ptr<const table> table_;
};

/// Returns arguments in normal form. They have the order of the schema; an absent argument gets its
/// default value or null, and an argument that the schema does not define is dropped. Nested
/// objects and lists are treated in the same way. Arguments of a schema without properties are
/// returned unchanged. May be called from any thread.
/// @param schema JSON Schema of type object
/// @param arguments arguments that match the schema
[[nodiscard]] json::object fill_arguments(const json::object& schema,
                                          const json::object& arguments);

} // namespace superstep
