// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Appends `text` as a JSON string. Invalid UTF-8 becomes U+FFFD, because output of tools and
/// damaged input lines must not make an output line unreadable.
void append_quoted(std::string& out, std::string_view text);

template <std::integral Number>
void append_number(std::string& out, Number number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// Appends `,"name":` or, for the first member, `"name":`. The name must not need escapes.
inline void append_member(std::string& out, std::string_view name) {
  if (out.back() != '{')
    out += ',';
  out += '"';
  out += name;
  out += "\":";
}

} // namespace superstep::detail
