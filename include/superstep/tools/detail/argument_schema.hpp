// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// One error in the arguments of a tool call.
struct argument_fault {
  std::string path; ///< path of the argument, such as `a.b.2`; empty: the arguments as a whole
  std::string text; ///< what is wrong, e.g. "is required"

  friend bool operator==(const argument_fault&, const argument_fault&) = default;
};

/// Limits of one check. A check that reaches a limit ends with an error that names the limit.
struct schema_check_limits {
  std::size_t levels_max = 400;              ///< nesting of schemas during the check
  std::size_t steps_max = 2'000'000;         ///< applied schemas, comparisons and similar work
  std::chrono::milliseconds time_max{1'000}; ///< duration; tool nodes set a shorter tool timeout
  std::stop_token stop{};                    ///< stop token of the call; a stop ends the check
};

/// The result of argument_schema::examine().
struct checked_arguments {
  std::vector<argument_fault> faults; ///< see argument_schema::check()
  /// The arguments without the nulls that count as absent; not set if there are faults, or no such
  /// nulls.
  std::optional<json::object> without_nulls{};
};

/// A JSON Schema (draft 7) of a tool's arguments, compiled once and shared by all calls.
///
/// Patterns are matched by RE2 in linear time, so look-around and back references are rejected.
///
/// @par Threads
/// Immutable; all members may be called by any number of threads.
///
/// Source: https://json-schema.org/draft-07/json-schema-validation
class argument_schema {
public:
  /// Compiles a schema. An empty schema accepts everything.
  /// @return the schema; errc::invalid_argument if the object is not a valid schema, contains a
  /// pattern that RE2 cannot compile, or exceeds 64 levels, 100,000 values or 1,000 patterns.
  /// References to other documents are not followed.
  [[nodiscard]] static result<argument_schema> compile(const json::object& schema);
  /// Returns the error that compile() would return, with its path in the schema; nullopt if the
  /// object can be compiled.
  [[nodiscard]] static std::optional<argument_fault> find_fault(const json::object& schema);

  /// Checks arguments and returns the errors, at most ten, one per path, in the order of the
  /// schema's properties; empty if there are none. A null for an argument, or for a member of a
  /// nested object, counts as absent if it is not required and its schema forbids null, because
  /// models often write null for an argument that they omit.
  [[nodiscard]] std::vector<argument_fault> check(const json::object& arguments,
                                                  const schema_check_limits& limits = {}) const;
  /// Checks arguments like check(), and also returns the arguments that the tool should get.
  [[nodiscard]] checked_arguments examine(const json::object& arguments,
                                          const schema_check_limits& limits = {}) const;

private:
  struct compiled; // keeps the validator's headers out of this one
  explicit argument_schema(std::shared_ptr<const compiled> c) noexcept : compiled_{std::move(c)} {}
  std::shared_ptr<const compiled> compiled_;
};

/// Returns the text that the model reads about a call with invalid arguments. May be called from
/// any thread.
/// @param faults the result of argument_schema::check()
[[nodiscard]] std::string describe_faults(std::string_view tool, const json::object& arguments,
                                          const std::vector<argument_fault>& faults);

} // namespace superstep
