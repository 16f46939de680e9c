// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>

#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// One thing wrong with the arguments of a call.
struct argument_fault {
  std::string path; ///< `a.b.2`; empty: the arguments as a whole
  std::string text;

  friend bool operator==(const argument_fault&, const argument_fault&) = default;
};

/// A JSON Schema (draft 7) of a tool's arguments, compiled once and shared by all calls.
///
/// @par Threads
/// Any number may check at once.
class argument_schema {
public:
  /// An empty schema takes everything. Fails when it is not a schema; references to other documents
  /// are not followed.
  [[nodiscard]] static result<argument_schema> compile(const json::object& schema);

  /// What is wrong, one fault per place, in the order of the schema's properties; empty: nothing.
  /// At most ten are told. Null for an argument that is not required counts as not given: models
  /// write it so.
  [[nodiscard]] std::vector<argument_fault> check(const json::object& arguments) const;

private:
  struct compiled; // keeps the validator's headers out of ours
  explicit argument_schema(std::shared_ptr<const compiled> c) noexcept : compiled_{std::move(c)} {}
  std::shared_ptr<const compiled> compiled_;
};

/// What the model is told about a call with wrong arguments.
[[nodiscard]] std::string describe_faults(std::string_view tool, const json::object& arguments,
                                          const std::vector<argument_fault>& faults);

} // namespace superstep
