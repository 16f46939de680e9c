// SPDX-License-Identifier: Apache-2.0
// Writes JSON values in two other notations: Python's repr(), and JSON with spaces. Both share the
// traversal append_nested().
#include "messages/python_text.hpp"

#include "messages/spaced_json.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>

namespace superstep {

namespace {

void append_hex(std::string& out, const char* format, std::uint32_t code) {
  char digits[16];
  std::snprintf(digits, sizeof digits, format, code);
  out += digits;
}

/// Returns the code point at `i` and advances `i`. A byte that is not part of a valid sequence is
/// returned as it is.
std::uint32_t next_code_point(std::string_view text, std::size_t& i) {
  const auto byte = [&](std::size_t at) {
    return std::uint32_t{static_cast<unsigned char>(text[at])};
  };
  const auto lead = byte(i);
  const auto length = lead < 0x80 ? 1U : lead < 0xe0 ? 2U : lead < 0xf0 ? 3U : 4U;
  if (length == 1 || lead < 0xc0 || i + length > text.size()) {
    ++i;
    return lead;
  }
  auto code = lead & (0xffU >> (length + 1));
  for (auto k = std::size_t{1}; k < length; ++k)
    code = (code << 6U) | (byte(i + k) & 0x3fU);
  i += length;
  return code;
}

/// Appends a JSON string with all characters beyond ASCII escaped, as surrogate pairs where needed.
void append_ascii(std::string& out, std::string_view text) {
  auto quoted = std::string{};
  append_quoted(quoted, text);
  for (auto i = std::size_t{0}; i < quoted.size();) {
    const auto code = next_code_point(quoted, i);
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else if (code < 0x10000) {
      append_hex(out, "\\u%04x", code);
    } else {
      append_hex(out, "\\u%04x", 0xd800 + ((code - 0x10000) >> 10U));
      append_hex(out, "\\u%04x", 0xdc00 + ((code - 0x10000) & 0x3ffU));
    }
  }
}

void append_json_text(std::string& out, std::string_view text, charset c) {
  if (c == charset::ascii)
    append_ascii(out, text);
  else
    append_quoted(out, text);
}

struct code_range {
  std::uint32_t first, last;
};

/// Characters beyond ASCII that Python's str.isprintable() rejects: controls, separators other than
/// the space, format characters and private use, as far as Unicode assigns them.
constexpr auto unprinted = std::array<code_range, 27>{{
    {0x80, 0xa0},       {0xad, 0xad},       {0x600, 0x605},       {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},       {0x8e2, 0x8e2},
    {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},     {0x2028, 0x202f},
    {0x205f, 0x2064},   {0x2066, 0x206f},   {0x3000, 0x3000},     {0xe000, 0xf8ff},
    {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd},   {0x110cd, 0x110cd},
    {0x13430, 0x13438}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},   {0xe0001, 0xe0001},
    {0xe0020, 0xe007f}, {0xf0000, 0xffffd}, {0x100000, 0x10fffd},
}};

bool is_unprinted(std::uint32_t code) {
  if (code < 0x7f)
    return code < 0x20;
  return code == 0x7f || std::any_of(unprinted.begin(), unprinted.end(), [&](const auto& r) {
           return r.first <= code && code <= r.last;
         });
}

/// Appends a Python string literal. Python prefers single quotes unless the text contains one and
/// no double quote.
void append_python_text(std::string& out, std::string_view text) {
  const auto has = [&](char c) { return text.find(c) != std::string_view::npos; };
  const auto quote = has('\'') && !has('"') ? '"' : '\'';
  out += quote;
  for (auto i = std::size_t{0}; i < text.size();) {
    const auto begin = i;
    const auto code = next_code_point(text, i);
    const auto c = text[begin];
    if (c == '\\' || c == quote)
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else if (is_unprinted(code))
      append_hex(out, code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", code);
    else
      out += text.substr(begin, i - begin);
  }
  out += quote;
}

/// Writes a value recursively. The depth is bounded because the value was parsed with a limit.
template <class Text, class Scalar>
void append_nested(std::string& out, const json::value& value, const Text& text,
                   const Scalar& scalar) {
  auto separator = std::string_view{};
  if (const auto* object = value.if_object()) {
    out += '{';
    for (const auto& [key, member] : *object) {
      out += separator;
      text(std::string_view{key.data(), key.size()}, out);
      out += ": ";
      append_nested(out, member, text, scalar);
      separator = ", ";
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (const auto& element : *array) {
      out += separator;
      append_nested(out, element, text, scalar);
      separator = ", ";
    }
    out += ']';
  } else if (const auto* string = value.if_string()) {
    text(std::string_view{string->data(), string->size()}, out);
  } else {
    scalar(value);
  }
}

} // namespace

void append_spaced_json(std::string& out, const json::value& value, charset c) {
  append_nested(
      out, value, [c](std::string_view text, std::string& to) { append_json_text(to, text, c); },
      [&](const json::value& scalar) { append_text(out, scalar); });
}

std::string to_spaced_json(const json::value& value, charset c) {
  auto out = std::string{};
  append_spaced_json(out, value, c);
  return out;
}

void append_python_literal(std::string& out, const json::value& value) {
  append_nested(
      out, value, [](std::string_view text, std::string& to) { append_python_text(to, text); },
      [&](const json::value& scalar) {
        if (scalar.is_null())
          out += "None";
        else if (const auto* truth = scalar.if_bool())
          out += *truth ? "True" : "False";
        else
          append_text(out, scalar);
      });
}

std::string python_literal(const json::value& value) {
  auto out = std::string{};
  append_python_literal(out, value);
  return out;
}

std::string python_text(std::string_view text) {
  auto out = std::string{};
  append_python_text(out, text);
  return out;
}

} // namespace superstep
