// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "record_end.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace superstep::detail {

/// One line of a file, without its newline, or one record that may have several lines. The text is
/// valid until the next call of next().
struct text_line {
  std::string_view text;        ///< only the beginning if the line is too long
  std::uint64_t number = 0;     ///< line number from 1; of a record, that of its first line
  std::uint64_t offset = 0;     ///< position in the file
  std::uint64_t size = 0;       ///< length in bytes, also if the text was cut
  bool is_too_long = false;     ///< whether the line is longer than `line_bytes_max`
  bool is_complete = true;      ///< whether a newline ends the line
  std::uint64_t open_quote = 0; ///< see open_quote_of(); 0 if the record has none
};

/// The part of a file that a line_reader reads, and what ends a line.
struct reading_range {
  std::uint64_t offset = 0;       ///< position of the first byte
  std::uint64_t end = UINT64_MAX; ///< position after the last byte
  std::uint64_t lines_before = 0; ///< number of lines before the first byte
  char separator = '\0'; ///< separator of the fields of CSV records; '\0': each line is a record
};

/// Reads a file line by line, or record by record. It needs at most `line_bytes_max` bytes of
/// memory plus two blocks.
class line_reader {
public:
  /// The file must outlive the reader.
  line_reader(const file& from, std::size_t line_bytes_max, const reading_range& range = {});

  /// Sets a function that receives all bytes in order, for example to compute a digest of the file.
  void on_block(std::function<void(std::string_view)> see) { see_ = std::move(see); }
  /// Returns the next line; nullopt at the end.
  [[nodiscard]] result<std::optional<text_line>> next();

private:
  /// Drops the bytes of returned lines and reads one more block. Returns false at the end of the
  /// file.
  result<bool> fill();
  void make_room();
  [[nodiscard]] std::string_view bytes() const noexcept { return {buffer_.get(), size_}; }
  result<text_line> skip_long_line(text_line line);
  [[nodiscard]] std::uint64_t open_quote_of(const text_line& last, char end) const noexcept;

  const file& file_;
  std::size_t line_bytes_max_;
  std::function<void(std::string_view)> see_;
  std::unique_ptr<char[]> buffer_; // not a string, which would zero each block before it is read
  std::size_t size_ = 0;           // bytes in the buffer
  std::size_t capacity_ = 0;
  std::string excerpt_;     // the beginning of the latest line that was too long
  std::size_t begin_ = 0;   // position of the next line in the buffer
  std::uint64_t buffer_at_; // position of the buffer in the file
  std::uint64_t end_;
  std::uint64_t lines_;
  record_end records_;
};

} // namespace superstep::detail
