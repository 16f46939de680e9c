// SPDX-License-Identifier: Apache-2.0
#include "display.hpp"

#include <array>

namespace superstep::detail {

namespace {

/// What the two notations write differently.
struct notation {
  void (*text)(std::string& out, std::string_view text);
  std::string_view null, yes, no;
};

void append_displayed(std::string& out, std::string_view text) {
  const auto quote = text.find('\'') != text.npos && text.find('"') == text.npos ? '"' : '\'';
  constexpr auto digits = std::string_view{"0123456789abcdef"};
  out += quote;
  for (const auto c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += digits[byte / 16];
      out += digits[byte % 16];
    } else {
      out += c;
    }
  }
  out += quote;
}

constexpr auto python = notation{append_displayed, "None", "True", "False"};
constexpr auto spaced_json = notation{append_quoted, "null", "true", "false"};

void append(std::string& out, const json::value& v, const notation& as);

// As deep as a value that has been parsed, and that is bounded.
void append(std::string& out, const json::object& members, const notation& as) {
  out += '{';
  auto first = true;
  for (const auto& member : members) {
    out += first ? "" : ", ";
    first = false;
    as.text(out, member.key());
    out += ": ";
    append(out, member.value(), as);
  }
  out += '}';
}

void append(std::string& out, const json::value& v, const notation& as) {
  if (v.is_null()) {
    out += as.null;
  } else if (v.is_bool()) {
    out += v.get_bool() ? as.yes : as.no;
  } else if (v.is_string()) {
    as.text(out, v.get_string());
  } else if (v.is_object()) {
    append(out, v.get_object(), as);
  } else if (v.is_array()) {
    out += '[';
    auto first = true;
    for (const auto& item : v.get_array()) {
      out += first ? "" : ", ";
      first = false;
      append(out, item, as);
    }
    out += ']';
  } else {
    append_text(out, v);
  }
}

} // namespace

std::string displayed(const json::value& v) {
  auto out = std::string{};
  append(out, v, python);
  return out;
}

std::string displayed(const json::object& o) {
  auto out = std::string{};
  append(out, o, python);
  return out;
}

std::string displayed(std::string_view text) {
  auto out = std::string{};
  append_displayed(out, text);
  return out;
}

std::string spaced_text(const json::value& v) {
  auto out = std::string{};
  append(out, v, spaced_json);
  return out;
}

} // namespace superstep::detail
