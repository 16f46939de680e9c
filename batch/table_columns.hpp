// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// The columns of a CSV or TSV file, as its first record names them.
///
/// Source of the format: RFC 4180. In addition, lines may end with a single newline, and a quote
/// within a field that does not begin with one is an ordinary character.
class table_columns {
public:
  /// Reads the first record of a file. A column without a name gets the name `column_` and its
  /// number: pandas writes the index of a table without a name.
  /// @param record the record, without the newline at its end
  /// @return the columns, or errc::parse_failed if a name is repeated
  [[nodiscard]] static result<table_columns> parse(std::string_view record, char separator);

  /// Returns a record as the text of a JSON object, in which all values are texts.
  /// @return errc::parse_failed if the number of fields is wrong, or quotes are not closed
  [[nodiscard]] result<std::string> to_json(std::string_view record) const;

  /// Whether there is a column with this name.
  [[nodiscard]] bool contains(std::string_view name) const noexcept;
  /// Returns the names for an error text: `"id", "question"`. Long lists are cut.
  [[nodiscard]] std::string names_text() const;
  [[nodiscard]] char separator() const noexcept { return separator_; }
  /// Returns advice to use --delimiter if the only name seems to contain several ones; else an
  /// empty text.
  [[nodiscard]] std::string delimiter_hint() const;

private:
  char separator_ = ',';
  std::vector<std::string> names_;
  std::vector<std::string> quoted_; ///< the names as JSON texts
};

} // namespace superstep::detail
