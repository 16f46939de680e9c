// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace superstep::detail {

/// Finds the ends of the records of a file. A record is a line, or, in a file with separators, a
/// record of RFC 4180: quoted fields may contain line breaks.
class record_end {
public:
  /// @param separator the character between fields; '\0' if each line is a record
  explicit record_end(char separator = '\0') noexcept : separator_{separator} {}

  /// Returns the position of the newline that ends the current record; npos if `bytes` does not
  /// contain it. Every byte must be passed once, in order: a search that found nothing continues
  /// with the bytes that follow.
  [[nodiscard]] std::size_t find(std::string_view bytes, std::size_t from) noexcept;
  /// Returns the number of line breaks within the last record found, and resets it.
  [[nodiscard]] std::uint64_t take_breaks() noexcept;
  /// Whether the bytes so far end within a quoted field.
  [[nodiscard]] bool is_quoted() const noexcept { return at_ == place::quoted; }
  /// Returns the number of line breaks of the record before its latest quoted field.
  [[nodiscard]] std::uint64_t breaks_before_quote() const noexcept { return breaks_before_quote_; }
  /// Returns the number of line breaks of the record that were found so far.
  [[nodiscard]] std::uint64_t breaks() const noexcept { return breaks_; }

private:
  /// The place of the last byte in its record.
  enum class place : std::uint8_t { field_start, plain, quoted, closed };

  char separator_;
  place at_ = place::field_start;
  std::uint64_t breaks_ = 0;
  std::uint64_t breaks_before_quote_ = 0;
};

} // namespace superstep::detail
