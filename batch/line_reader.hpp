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
  std::string_view text;    ///< only the beginning if the line is too long
  std::uint64_t number = 0; ///< line number from 1
  std::uint64_t offset = 0; ///< position in the file
  std::uint64_t size = 0;
  bool is_too_long = false;
  bool is_complete = true; ///< whether a newline ends the line
};

/// Reads a file line by line. Its memory is bounded by `line_bytes_max` plus one block.
class line_reader {
public:
  /// Starts at `offset` and ends at `end`. `file` must outlive the reader.
  line_reader(const file& from, std::size_t line_bytes_max, std::uint64_t offset = 0,
              std::uint64_t end = UINT64_MAX);

  /// Receives all bytes that are read, in order.
  void on_block(std::function<void(std::string_view)> see) { see_ = std::move(see); }
  /// Returns the next line; nullopt at the end.
  [[nodiscard]] result<std::optional<text_line>> next();

private:
  /// Reads one more block. False at the end of the file.
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
