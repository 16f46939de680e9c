// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "journal.hpp"
#include "line_reader.hpp"

#include <simdjson.h>

#include <cstdint>
#include <string_view>

namespace superstep::detail {

/// Reads the lines that a job has written, output lines or dead letters, one after the other.
class written_lines {
public:
  written_lines(const file& from, std::uint64_t begin);

  enum class found : std::uint8_t {
    object,  ///< a complete line with a JSON object
    torn,    ///< what a write leaves that did not finish: a last line without its end, or zeros
    foreign, ///< anything else: a complete line that is not a JSON object
    end,
  };
  [[nodiscard]] result<found> next();
  /// The object of the line that was read last.
  [[nodiscard]] simdjson::dom::object object() const noexcept { return object_; }
  /// The line that was read last, without its newline; valid until the next call of next().
  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  /// The end of the line that was read last.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

private:
  line_reader lines_;
  simdjson::dom::parser parser_;
  simdjson::dom::object object_;
  std::string_view text_;
  std::uint64_t end_;
};

/// The row's key; empty if the line has none.
[[nodiscard]] std::string_view key_of(simdjson::dom::object line) noexcept;
/// The counts that the journal records for an output line of either form.
[[nodiscard]] row_counts counts_of(simdjson::dom::object line) noexcept;
/// Whether an output line is that of a failed row.
[[nodiscard]] bool has_failed(simdjson::dom::object line) noexcept;
/// The line of the input if a dead letter is that of a line that never ran; else 0.
[[nodiscard]] std::uint64_t bad_line_of(simdjson::dom::object letter) noexcept;
/// Whether the row of a dead letter may succeed when it runs again: its fault was not in the row
/// or in the agent's own limits.
[[nodiscard]] bool may_succeed_again(simdjson::dom::object letter) noexcept;

} // namespace superstep::detail
