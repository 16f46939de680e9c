// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// One line without its newline. The text is valid until the next call of next().
struct text_line {
  std::string_view text;    ///< of a line that is too long: its beginning
  std::uint64_t number = 0; ///< from 1
  std::uint64_t offset = 0; ///< in the file
  std::uint64_t size = 0;
  bool is_too_long = false;
  bool is_complete = true; ///< ended by a newline
};

/// Reads a file line by line with one buffer that never outgrows `line_bytes_max` and a block.
class line_reader {
public:
  /// Begins at `offset` and sees nothing from `end` on. `file` outlives the reader.
  line_reader(const file& from, std::size_t line_bytes_max, std::uint64_t offset = 0,
              std::uint64_t end = UINT64_MAX);

  /// Is given every byte read, in order.
  void on_block(std::function<void(std::string_view)> see) { see_ = std::move(see); }
  /// The next line; empty at the end.
  [[nodiscard]] result<std::optional<text_line>> next();

private:
  /// Reads one more block behind what the buffer holds. False at the end of the file.
  result<bool> fill();
  result<text_line> skip_long_line(text_line line);

  const file& file_;
  std::size_t line_bytes_max_;
  std::function<void(std::string_view)> see_;
  std::string buffer_;
  std::string block_;
  std::size_t begin_ = 0;   // of the next line, in the buffer
  std::uint64_t buffer_at_; // offset of the buffer in the file
  std::uint64_t end_;
  std::uint64_t lines_ = 0;
};

} // namespace superstep::detail
