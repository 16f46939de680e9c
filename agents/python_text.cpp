// SPDX-License-Identifier: Apache-2.0
#include "agents/python_text.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace superstep {

namespace {

void append_quoted(std::string& out, std::string_view text) {
  const auto quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  out += quote;
  for (const auto c : text) {
    if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (c == quote || c == '\\')
      (out += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  out += quote;
}

void append_number(std::string& out, double number) {
  const auto text = fmt::format("{}", number);
  out += text;
  if (text.find_first_not_of("-0123456789") == text.npos)
    out += ".0";
}

// As deep as the value, which its parser has bounded.
void append(std::string& out, const json::value& v) {
  const auto* separator = "";
  switch (v.kind()) {
  case json::kind::null:
    out += "None";
    return;
  case json::kind::bool_:
    out += v.get_bool() ? "True" : "False";
    return;
  case json::kind::double_:
    append_number(out, v.get_double());
    return;
  case json::kind::string:
    append_quoted(out, v.get_string());
    return;
  case json::kind::array:
    out += '[';
    for (const auto& item : v.get_array()) {
      out += std::exchange(separator, ", ");
      append(out, item);
    }
    out += ']';
    return;
  case json::kind::object:
    out += '{';
    for (const auto& [key, member] : v.get_object()) {
      out += std::exchange(separator, ", ");
      append_quoted(out, key);
      out += ": ";
      append(out, member);
    }
    out += '}';
    return;
  default:
    out += to_text(v);
  }
}

} // namespace

std::string python_text(const json::value& v) {
  auto out = std::string{};
  append(out, v);
  return out;
}

std::string python_text(const tool_call& call) {
  return python_text(json::object{
      {"name", call.name}, {"args", call.args}, {"id", call.id}, {"type", "tool_call"}});
}

} // namespace superstep
