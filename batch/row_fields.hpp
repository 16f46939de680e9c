// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_row.hpp"

#include <superstep/base/error.hpp>
#include <superstep/batch/batch_options.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// A column of an output with `--fields`.
struct output_column {
  std::string name; ///< in the header of a CSV file, and as member of a JSON line
  std::string path; ///< member of the row's whole line, with dots between nested names
};

/// Whether a name is that of a field of all rows, such as `usage`: neither a column of the input
/// nor a member of the response.
[[nodiscard]] bool is_row_field(std::string_view name) noexcept;

/// Returns the columns of a job's output: the column `id`, then those that `fields` requests.
/// Without fields, those of a CSV file by default.
/// @param response_names members of the agent's structured response; the field `response` stands
///   for all of them
/// @param input_names columns of the input that the output lines contain
/// @return the columns; errc::invalid_argument for an unknown or repeated field
[[nodiscard]] result<std::vector<output_column>>
columns_of(const std::vector<std::string>& fields, output_format format,
           std::span<const std::string> response_names, std::span<const std::string> input_names);

/// Writes the rows of an output with `--fields`. Each row is derived from the row's whole line in
/// the rows file, so that a resumed job writes the same rows as an uninterrupted one.
class field_writer {
public:
  field_writer(std::vector<output_column> columns, output_format format);
  field_writer(field_writer&&) noexcept;
  ~field_writer();

  /// Appends the header of a CSV file; nothing for JSONL.
  void append_header(std::string& out) const;
  /// Appends the row of a line of the rows file, including the newline.
  /// @param line a line without its newline
  /// @return an error if the line is not a JSON object
  [[nodiscard]] result<void> append_row(std::string& out, std::string_view line);

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace superstep::detail
