// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace superstep {

/// Whether a text is valid UTF-8. Only valid text may be written as JSON, because other text cannot
/// be read again.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Returns the text with each byte that is not part of a valid UTF-8 sequence replaced by U+FFFD.
/// The output of programs and servers passes through this function before it becomes part of a
/// message.
[[nodiscard]] std::string valid_utf8(std::string text);

/// Returns the first bytes of a text, at most `bytes_max`. Does not cut inside a character.
/// @param text valid UTF-8
[[nodiscard]] std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) noexcept;

/// Returns utf8_prefix(), with `…` at its end if text is missing.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t bytes_max);

/// The first place of a text at which its encoding is wrong.
struct encoding_fault {
  std::size_t offset = 0; ///< in bytes, from 0
  std::size_t line = 1;   ///< from 1
  std::string text;       ///< e.g. `is not UTF-8: byte 0xFF at offset 12`
  std::string advice;     ///< e.g. `convert it, for example with iconv -f latin1 -t utf-8`
  bool is_whole = false;  ///< whether the whole text is in another format
};

/// Returns the first byte that is not UTF-8, or nullopt. UTF-16 is recognised by its byte order
/// mark or the NUL bytes of its first letters, and compressed files by their first bytes. A byte
/// order mark of UTF-8 is valid.
[[nodiscard]] std::optional<encoding_fault> find_encoding_fault(std::string_view text);

/// Returns the fault that find_encoding_fault() finds, with the advice at the end of its text. If
/// there is none, returns the first byte 0 or 4, at which yaml-cpp stops reading.
[[nodiscard]] std::optional<encoding_fault> find_yaml_encoding_fault(std::string_view text);

} // namespace superstep
