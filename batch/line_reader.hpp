// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// One line of a file, without its newline. The text is valid until the next call of next().
struct text_line {
  std::string_view text;    ///< only the beginning if the line is too long
  std::uint64_t number = 0; ///< line number from 1
  std::uint64_t offset = 0; ///< position in the file
  std::uint64_t size = 0;   ///< length in bytes, also if the text was cut
  bool is_too_long = false; ///< whether the line is longer than `line_bytes_max`
  bool is_complete = true;  ///< whether a newline ends the line
};

/// Reads a file line by line. It needs at most `line_bytes_max` bytes of memory plus two blocks.
class line_reader {
public:
  /// Reads the bytes from `offset` to `end`. The file must outlive the reader.
  line_reader(const file& from, std::size_t line_bytes_max, std::uint64_t offset = 0,
              std::uint64_t end = UINT64_MAX);

  /// Sets a function that receives all bytes in order, for example to compute a digest of the file.
  void on_block(std::function<void(std::string_view)> see) { see_ = std::move(see); }
  /// Returns the next line; nullopt at the end.
  [[nodiscard]] result<std::optional<text_line>> next();

private:
  /// Drops the bytes of returned lines and reads one more block. Returns false at the end of the
  /// file.
  result<bool> fill();
  result<text_line> skip_long_line(text_line line);

  const file& file_;
  std::size_t line_bytes_max_;
  std::function<void(std::string_view)> see_;
  std::string buffer_;
  std::string block_;
  std::size_t begin_ = 0;   // position of the next line in the buffer
  std::uint64_t buffer_at_; // position of the buffer in the file
  std::uint64_t end_;
  std::uint64_t lines_ = 0;
};

} // namespace superstep::detail
