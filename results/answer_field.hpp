// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/result_line.hpp"

#include <superstep/base/error.hpp>

#include <simdjson.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::results {

/// Checks that rows of an output have the field that --answer names, or an answer if it names none.
class answer_field {
public:
  /// @param name value of --answer; empty: the whole answer
  explicit answer_field(std::string name) : name_{std::move(name)} {}

  /// Adds a row.
  void add(simdjson::dom::object line, const result_line& row);
  /// Fails if rows have succeeded but none has the field.
  /// @param output path of the file with the rows
  [[nodiscard]] result<void> check(const std::string& output) const;

private:
  std::string name_;
  std::vector<std::string> names_; ///< fields of the first row that has succeeded
  bool is_found_ = false;
};

/// Fails if no row of a job that has not run yet can have the field.
/// @param name value of --answer
/// @param response members of the structured response
/// @param fields value of --fields; empty: the lines contain the whole rows
[[nodiscard]] result<void> check_answer_field(std::string_view name,
                                              std::span<const std::string> response,
                                              std::span<const std::string> fields);

} // namespace superstep::results
