// SPDX-License-Identifier: Apache-2.0
// Writes JSON values as YAML, for sample calls and history.
#include "protocols/text.hpp"
#include "protocols/yaml_xml/yaml.hpp"

#include <algorithm>
#include <string_view>

namespace superstep {

namespace {

constexpr auto line_width = std::size_t{80};

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// Whether a string that is written without quotes is parsed back unchanged.
bool is_plain(std::string_view s) {
  if (s.empty() || !plain_scalar(s).is_string())
    return false;
  if (is_blank(s.front()) || is_blank(s.back()) || s.back() == ':')
    return false;
  // These characters begin other values. `-`, `?` and `:` do so only before a space.
  if (std::string_view{"[]{},#&*!|>'\"%@`"}.find(s.front()) != s.npos)
    return false;
  if (std::string_view{"-?:"}.find(s.front()) != s.npos && (s.size() == 1 || is_blank(s[1])))
    return false;
  if (s.starts_with("---") || s.starts_with("..."))
    return false;
  for (auto i = std::size_t{1}; i < s.size(); ++i)
    if ((s[i - 1] == ':' && is_blank(s[i])) || (is_blank(s[i - 1]) && s[i] == '#'))
      return false;
  return std::ranges::none_of(s, [](char c) { return is_control(c) && c != '\t'; });
}

std::string indentation(std::size_t spaces) {
  return std::string(spaces, ' ');
}

/// Formats a text without escapes. Long lines are broken at single spaces.
std::string folded(std::string_view s, std::size_t column, std::size_t indent) {
  auto out = std::string{};
  auto width = column;
  for (auto from = std::size_t{0}; from < s.size();) {
    // Each round adds one word with the spaces before it. A line may be broken only at a single
    // space, because the parser joins lines with one space.
    auto begin = s.find_first_not_of(' ', from);
    const auto end = std::min(s.find(' ', begin), s.size());
    const auto is_first = from == 0;
    if (!is_first && begin - from == 1 && width + 1 + (end - begin) > line_width) {
      out += '\n' + indentation(indent);
      width = indent;
    } else {
      out += s.substr(from, begin - from);
      width += begin - from;
    }
    out += s.substr(begin, end - begin);
    width += end - begin;
    from = end;
  }
  return out;
}

/// Formats a text as a literal block. The chomping indicator (`-`, none or `+`) preserves the
/// number of line ends at the end.
std::string block(std::string_view s, std::size_t indent) {
  const auto last = s.find_last_not_of('\n');
  const auto ends = s.size() - 1 - last;
  auto out = std::string{"|"};
  // An explicit indentation is needed if the first line that is not empty begins with a space.
  if (s.front() == ' ' || s.front() == '\n')
    out += s[s.find_first_not_of('\n')] == ' ' ? "2" : "";
  out += ends == 0 ? "-" : ends == 1 ? "" : "+";
  for (auto from = std::size_t{0}; from <= last;) {
    const auto end = std::min(s.find('\n', from), s.size());
    out += '\n';
    if (end > from)
      out += indentation(indent) + std::string{s.substr(from, end - from)};
    from = end + 1;
  }
  for (auto i = std::size_t{1}; i < ends; ++i)
    out += '\n';
  return out;
}

/// Whether a text is quoted with single quotes: it contains double quotes and needs no escapes.
bool is_singly_quoted(std::string_view s) {
  if (s.find('"') == s.npos || s.find('\'') != s.npos)
    return false;
  for (auto i = std::size_t{0}; i < s.size(); ++i) {
    const auto is_high_control =
        s[i] == '\xc2' && i + 1 < s.size() && static_cast<unsigned char>(s[i + 1]) < 0xa0;
    if ((is_control(s[i]) && s[i] != '\t') || is_high_control)
      return false;
  }
  return true;
}

std::string quoted(std::string_view s) {
  if (is_singly_quoted(s))
    return '\'' + std::string{s} + '\'';
  auto out = std::string{};
  append_quoted(out, s);
  return out;
}

std::string text_yaml(std::string_view s, std::size_t column, std::size_t indent) {
  const auto has_lines = s.find('\n') != s.npos;
  const auto is_odd =
      std::ranges::any_of(s, [](char c) { return is_control(c) && c != '\n' && c != '\t'; });
  if (has_lines && !is_odd && s.find_last_not_of("\n ") != s.npos)
    return block(s, std::max<std::size_t>(indent, 2));
  const auto is_foldable = is_plain(s) || is_singly_quoted(s);
  auto text = is_plain(s) ? std::string{s} : quoted(s);
  if (is_foldable && column + text.size() > line_width)
    return folded(text, column, std::max<std::size_t>(indent, 2));
  return text;
}

/// Formats a key. A key is always on one line.
std::string key_yaml(std::string_view s) {
  return is_plain(s) ? std::string{s} : quoted(s);
}

std::string scalar_yaml(const json::value& v, std::size_t column, std::size_t indent) {
  if (const auto* s = v.if_string())
    return text_yaml(text::view(*s), column, indent);
  if (v.is_number())
    return text::number_text(v);
  if (v.is_array())
    return "[]";
  return v.is_object() ? "{}" : to_text(v);
}

bool is_block(const json::value& v) {
  return (v.is_array() && !v.get_array().empty()) || (v.is_object() && !v.get_object().empty());
}

/// Appends the lines of a list or mapping. The first line gets no indentation, because the caller
/// has written it. Recurses into the value.
void write(std::string& out, const json::value& v, std::size_t indent) {
  auto first = true;
  const auto begin_line = [&] {
    if (!first)
      out += '\n' + indentation(indent);
    first = false;
  };
  if (const auto* list = v.if_array()) {
    for (const auto& item : *list) {
      begin_line();
      out += "- ";
      if (is_block(item))
        write(out, item, indent + 2);
      else
        out += scalar_yaml(item, indent + 2, indent + 2);
    }
    return;
  }
  for (const auto& member : v.get_object()) {
    begin_line();
    const auto key = key_yaml(text::view(member.key()));
    out += key + ':';
    if (is_block(member.value())) {
      out += '\n' + indentation(indent + 2);
      write(out, member.value(), indent + 2);
    } else {
      out += ' ' + scalar_yaml(member.value(), indent + key.size() + 2, indent + 2);
    }
  }
}

} // namespace

std::string write_yaml(const json::value& value) {
  if (!is_block(value))
    return scalar_yaml(value, 0, 0);
  auto out = std::string{};
  write(out, value, 0);
  return out;
}

} // namespace superstep
