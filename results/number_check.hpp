// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::results {

class gold_file;

/// Returns an id without # and the number of the repetition; empty if it does not end so.
[[nodiscard]] std::string_view repeated_row_of(std::string_view key) noexcept;

/// Returns whether the input of a job is a table, according to the journal beside its output.
/// nullopt if there is no journal.
[[nodiscard]] std::optional<bool> is_input_table(const std::string& output);

/// Checks whether the line numbers of a gold file without ids are those of the rows of a job. The
/// first line of a table has the names of its columns, so the same row has another number in a
/// table than in a file of JSON lines.
class number_check {
public:
  /// @param is_table whether the input of the job is a table; nullopt if it is not known
  explicit number_check(std::optional<bool> is_table = {}) : is_table_{is_table} {}
  /// Adds the id of a row.
  void add(std::string_view key) noexcept;
  /// Fails if rows with a number as id may be other rows than the lines with this number. If it is
  /// not known whether the input is a table, the ids may show it: only a file of JSON lines has the
  /// row 1, and only a table with the rows of the gold file has its last number.
  /// @param is_proof_needed whether to fail if the ids do not show it either
  [[nodiscard]] result<void> check(const gold_file& gold, bool is_proof_needed = true) const;

private:
  std::optional<bool> is_table_;
  std::uint64_t last_ = 0; ///< the highest number of a row; 0: no id is a number
  bool has_first_ = false; ///< whether a row has the number 1
};

} // namespace superstep::results
