// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace superstep::detail {

/// Appends `text` as a JSON string. Bytes that are not UTF-8 become U+FFFD: what comes from tools
/// and from damaged lines must not make an output line unreadable.
void append_quoted(std::string& out, std::string_view text);

template <std::integral Number>
void append_number(std::string& out, Number number) {
  char digits[24];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

/// `,"name":` or, as the first member, `"name":`. The name needs no escapes.
inline void append_member(std::string& out, std::string_view name) {
  if (out.back() != '{')
    out += ',';
  out += '"';
  out += name;
  out += "\":";
}

} // namespace superstep::detail
