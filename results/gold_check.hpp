// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "results/score.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace superstep::results {

/// Facts about the places where expected answers are looked up, for the error if there are none.
class gold_facts {
public:
  /// Adds a line that may have the expected answer of a row.
  /// @param id the id of the line
  void add_line(const json::object& line, std::string_view field, std::string_view id = {});
  /// Sets advice for an error about an unknown column.
  void set_hint(std::string hint) { hint_ = std::move(hint); }
  /// Records that a line belongs to a row.
  void set_matched() noexcept { is_matched_ = true; }
  /// Adds the facts about the lines of another file.
  void add(const gold_facts& more);
  /// Whether a line has a value in the column.
  [[nodiscard]] bool has_field() const noexcept { return has_field_; }

  /// Returns the error for a job of which no row has an expected answer.
  /// @param rows path of the file with the rows
  /// @param row id of a row
  [[nodiscard]] error to_error(const score_options& options, const std::string& rows,
                               std::string_view row) const;

private:
  std::string names_;       ///< names of the columns of the first line, for an error text
  std::string hint_;        ///< advice about the columns
  std::string first_id_;    ///< id of the first line
  bool has_field_ = false;  ///< whether a line has a value in the column
  bool is_matched_ = false; ///< whether a line belongs to a row
};

/// Fails if no row of a job can have an expected answer: the input or the gold file lacks the
/// column, or the ids of the gold file are not those of rows. Also fails if the expected answer of
/// a row cannot be compared; see check_expected(). Usually reads only the first line of the input;
/// it reads the complete input for methods whose expected answers may be unusable. A gold file is
/// read to its end.
/// @param options `output` need not exist yet. If `input` is empty, only the gold file is checked
[[nodiscard]] result<void> check_gold(const score_options& options);

} // namespace superstep::results
