// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/input_file.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/batch/batch_options.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::results {

/// The place of a line in a record_file.
struct record_place {
  std::uint64_t offset;
  std::uint64_t size;
  std::uint64_t number; ///< of the line, which is the id of a row without id
};

/// A file in a format of the inputs of jobs, whose lines are read as JSON objects.
class record_file {
public:
  /// Receives a line, or why it is not valid. Returns whether it wants further lines.
  using visitor = std::function<result<bool>(const result<json::object>&, const record_place&)>;

  /// Opens a file.
  /// @param from `input`, `input_as`, `delimiter` and `line_bytes_max` describe the file; `output`
  /// names the folder for a decompressed copy
  /// @param is_cancelled see score_options::is_cancelled
  /// @return errc::cancelled if `is_cancelled` returns true
  [[nodiscard]] static result<record_file> open(const batch_options& from,
                                                const std::function<bool()>& is_cancelled);

  /// Reads all lines in order, except blank ones. An error that `see` returns ends the loop.
  [[nodiscard]] result<void> for_each(const visitor& see) const;
  /// Reads a line again.
  [[nodiscard]] result<json::object> at(const record_place& place) const;
  /// Returns advice to use --delimiter, if the file seems to need it; else an empty text.
  [[nodiscard]] std::string delimiter_hint() const {
    return file_.format.columns ? file_.format.columns->delimiter_hint() : std::string{};
  }
  /// Whether the first line has the names of columns.
  [[nodiscard]] bool is_table() const noexcept { return file_.format.columns.has_value(); }
  /// The path of the file, for error texts.
  [[nodiscard]] const std::string& name() const noexcept { return file_.name; }

private:
  record_file(detail::input_file file, std::size_t line_bytes_max)
      : file_{std::move(file)}, line_bytes_max_{line_bytes_max} {}
  [[nodiscard]] result<json::object> parse(std::string_view line, std::uint64_t number) const;

  detail::input_file file_;
  std::size_t line_bytes_max_;
};

} // namespace superstep::results
