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

struct validation_node_options {
  /// What the model reads about a call that is wrong; null: the faults, and what to do about them.
  std::function<std::string(const tool_call&, const std::vector<argument_fault>&)> format_error;
  std::string name = "validation";
  std::vector<std::string> tags;
};

/// Checks the tool calls of the last message against their schemas without running anything: for
/// models that extract data, whose calls are the result.
///
/// Each call is answered by a tool message: with the arguments as JSON, in the order of the schema,
/// defaults filled in, what may be absent and is as null, what the schema does not know left out;
/// or with what is wrong and `is_error` among its additional_kwargs.
/// @par Threads
/// Immutable; any number of calls at once.
class validation_node {
public:
  /// Throws std::invalid_argument when two schemas have one name, or one is no schema.
  /// @param schemas names and parameters; descriptions are not looked at
  explicit validation_node(std::vector<tool_definition> schemas,
                           validation_node_options options = {});
  /// The schemas of these tools.
  explicit validation_node(const tool_list& tools, validation_node_options options = {});

  /// The answers, in the order of the calls. Errors: no message, or the last is no answer of a
  /// model (invalid_argument); a call that no schema is named after (not_found).
  [[nodiscard]] result<std::vector<message>> run(const message_list& messages) const;

  [[nodiscard]] bool knows(std::string_view schema) const noexcept;
  [[nodiscard]] const validation_node_options& options() const noexcept { return options_; }

private:
  struct table;
  [[nodiscard]] result<message> check(const tool_call& call) const;

  validation_node_options options_;
  std::shared_ptr<const table> table_;
};

/// Arguments as a program takes them: in the order of the schema, with its defaults, null for what
/// is not there, without what it does not know. Objects and lists inside likewise. Arguments of a
/// schema without properties stay as they are.
[[nodiscard]] json::object fill_arguments(const json::object& schema,
                                          const json::object& arguments);

} // namespace superstep
