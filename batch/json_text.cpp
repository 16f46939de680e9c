// SPDX-License-Identifier: Apache-2.0
// Appends JSON text to a string. Output lines contain whole conversations, so building intermediate
// JSON values for them would cost too much.
#include "json_text.hpp"

#include "base/utf8.hpp"

#include <superstep/base/json.hpp>

#include <cstdlib>

namespace superstep::detail {
namespace {

void append_escaped(std::string& out, char c) {
  switch (c) {
  case '"':
    out += "\\\"";
    return;
  case '\\':
    out += "\\\\";
    return;
  case '\n':
    out += "\\n";
    return;
  case '\r':
    out += "\\r";
    return;
  case '\t':
    out += "\\t";
    return;
  default:
    break;
  }
  static constexpr auto hex = std::string_view{"0123456789abcdef"};
  auto byte = static_cast<unsigned char>(c);
  out += "\\u00";
  out += hex[byte >> 4U];
  out += hex[byte & 15U];
}

bool needs_escape(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\';
}

} // namespace

void append_quoted(std::string& out, std::string_view text) {
  if (is_utf8(text))
    return superstep::append_quoted(out, text);
  out += '"';
  auto begin = std::size_t{0};
  for (auto i = std::size_t{0}; i < text.size(); ++i) {
    const auto is_bad_byte = static_cast<unsigned char>(text[i]) >= 0x80;
    if (!needs_escape(text[i]) && !is_bad_byte)
      continue;
    out.append(text, begin, i - begin);
    begin = i + 1;
    if (is_bad_byte)
      out += "\xEF\xBF\xBD";
    else
      append_escaped(out, text[i]);
  }
  out.append(text, begin, text.size() - begin);
  out += '"';
}

void append_long_member(std::string& out, std::string_view name) {
  if (out.back() != '{')
    out += ',';
  out += '"';
  out += name;
  out += "\":";
}

void append_usd(std::string& out, std::int64_t billionths) {
  constexpr auto digits_max = std::size_t{9};
  constexpr auto dollar = std::int64_t{1'000'000'000};
  if (billionths < 0)
    out += '-';
  append_number(out, std::abs(billionths / dollar));
  auto rest = std::to_string(std::abs(billionths % dollar));
  rest.insert(0, digits_max - rest.size(), '0');
  rest.resize(rest.find_last_not_of('0') + 1);
  if (!rest.empty())
    out += '.' + rest;
}

} // namespace superstep::detail
