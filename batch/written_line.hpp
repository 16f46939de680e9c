// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "journal.hpp"
#include "line_reader.hpp"

#include <simdjson.h>

#include <cstdint>
#include <string_view>

namespace superstep::detail {

/// Reads the lines of the output or of the dead letters in order. A byte order mark at the
/// beginning of the file is not part of a line.
class written_lines {
public:
  written_lines(const file& from, std::uint64_t begin);

  enum class found : std::uint8_t {
    object,  ///< a complete line with a JSON object
    torn,    ///< blank, or an incomplete write: zeros, or a last line `{…` without a newline
    foreign, ///< any other line, which the job did not write
    end,     ///< the end of the file
  };
  /// Reads the next line and returns what it is.
  [[nodiscard]] result<found> next();
  /// The JSON object of the last line read, if next() returned `object`.
  [[nodiscard]] simdjson::dom::object object() const noexcept { return object_; }
  /// The last line read, without its newline; valid until the next call of next().
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// Whether the last line read is blank.
  [[nodiscard]] bool is_blank() const noexcept {
    return text_.find_first_not_of(" \t\r") == std::string_view::npos;
  }
  /// Position of text() in the file.
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }
  /// Position of the end of the last line read.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

private:
  line_reader lines_;
  simdjson::dom::parser parser_;
  simdjson::dom::object object_;
  std::string_view text_;
  std::uint64_t begin_;
  std::uint64_t end_;
};

/// Returns the row's key; empty if the line has none.
[[nodiscard]] std::string_view key_of(simdjson::dom::object line) noexcept;
/// Returns the counts for the journal from an output line, in superstep's own or OpenAI's format.
[[nodiscard]] row_counts counts_of(simdjson::dom::object line) noexcept;
/// Whether the value of a member `error` is one that this program wrote to a dead letter. Otherwise
/// it is a column of the input with this name.
[[nodiscard]] bool is_row_error(simdjson::dom::element value) noexcept;
/// Whether an output line belongs to a failed row. Also knows the lines of OpenAI and vLLM.
[[nodiscard]] bool has_failed(simdjson::dom::object line) noexcept;
/// Returns the number of the input line if a dead letter is for an invalid line, else 0.
[[nodiscard]] std::uint64_t bad_line_of(simdjson::dom::object letter) noexcept;
/// Whether a row that failed with an error of this kind may succeed in another run. It cannot if
/// its input is invalid or if it reached the recursion limit.
[[nodiscard]] bool is_kind_retried(std::string_view kind) noexcept;
/// Whether the row of a dead letter may succeed in another run.
[[nodiscard]] bool may_succeed_again(simdjson::dom::object letter) noexcept;

} // namespace superstep::detail
