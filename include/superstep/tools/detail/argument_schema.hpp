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

/// One thing wrong with the arguments of a call.
struct argument_fault {
  std::string path; ///< `a.b.2`; empty: the arguments as a whole
  std::string text;

  friend bool operator==(const argument_fault&, const argument_fault&) = default;
};

/// Bounds of one check. A check that reaches one ends with a fault that names it.
struct schema_check_limits {
  std::size_t levels_max = 400;              ///< of schemas inside one another
  std::size_t steps_max = 2'000'000;         ///< schemas applied to values, comparisons and the like
  std::chrono::milliseconds time_max{1'000}; ///< the deadline of the call may be earlier
  std::stop_token stop{};                    ///< of the call
};

/// A JSON Schema (draft 7) of a tool's arguments, compiled once and shared by all calls.
///
/// Patterns are matched by RE2 in linear time: look-around and back references are refused.
///
/// @par Threads
/// Any number may check at once.
class argument_schema {
public:
  /// An empty schema takes everything. Fails when it is not a schema, when a pattern cannot be
  /// compiled, and beyond 64 levels, 100,000 values or 1,000 patterns; references to other
  /// documents are not followed.
  [[nodiscard]] static result<argument_schema> compile(const json::object& schema);
  /// Returns what keeps an object from being compiled, with its place in the schema; nullopt if
  /// nothing does.
  [[nodiscard]] static std::optional<argument_fault> find_fault(const json::object& schema);

  /// What is wrong, one fault per place, in the order of the schema's properties; empty: nothing.
  /// At most ten are told. Null for an argument that is not required counts as not given: models
  /// write it so.
  [[nodiscard]] std::vector<argument_fault> check(const json::object& arguments,
                                                  const schema_check_limits& limits = {}) const;

private:
  struct compiled; // keeps the validator's headers out of ours
  explicit argument_schema(std::shared_ptr<const compiled> c) noexcept : compiled_{std::move(c)} {}
  std::shared_ptr<const compiled> compiled_;
};

/// What the model is told about a call with wrong arguments.
[[nodiscard]] std::string describe_faults(std::string_view tool, const json::object& arguments,
                                          const std::vector<argument_fault>& faults);

} // namespace superstep
