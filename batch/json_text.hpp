// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Appends `text` as a JSON string. Bytes that are not part of a valid UTF-8 sequence become
/// U+FFFD: the output of a tool or a damaged input line must not make an output line unreadable.
void append_quoted(std::string& out, std::string_view text);

template <std::integral Number>
void append_number(std::string& out, Number number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// Appends an amount in US dollars as a JSON number: 1'500'000 becomes 0.0015.
/// @param billionths the amount in billionths of a dollar
void append_usd(std::string& out, std::int64_t billionths);

/// Does what append_member() does, for names of any length.
void append_long_member(std::string& out, std::string_view name);

/// Appends `,"name":`, or `"name":` for the first member of an object. The name must not need JSON
/// escapes.
inline void append_member(std::string& out, std::string_view name) {
  char text[32]; // one append costs half as much as four
  if (name.size() + 4 > sizeof text) {
    append_long_member(out, name);
    return;
  }
  auto* end = text;
  if (out.back() != '{')
    *end++ = ',';
  *end++ = '"';
  end += name.copy(end, name.size());
  *end++ = '"';
  *end++ = ':';
  out.append(text, end);
}

} // namespace superstep::detail
