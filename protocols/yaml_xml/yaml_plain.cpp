// SPDX-License-Identifier: Apache-2.0
// The fast path of yaml_reader.cpp for mappings in the form that models mostly write. For all other
// texts it returns nullopt.
#include "protocols/text.hpp"
#include "protocols/yaml_xml/yaml.hpp"

#include <algorithm>
#include <string>

namespace superstep {

namespace {

constexpr auto npos = std::string_view::npos;

bool is_letter(char c) noexcept {
  return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_';
}

/// Whether the text contains only printable ASCII, line ends and common UTF-8 characters. YAML has
/// special rules for other characters.
bool is_ordinary(std::string_view s) noexcept {
  for (auto i = std::size_t{0}; i < s.size();) {
    if (s.size() - i >= 8 && swar_word{s.data() + i}.is_printable_ascii()) {
      i += 8;
      continue;
    }
    const auto c = static_cast<unsigned char>(s[i]);
    if (c < 0x80) {
      if ((c < 0x20 && c != '\n') || c == 0x7f)
        return false;
      ++i;
      continue;
    }
    // Characters that begin with the byte C2 may be control characters. Those that begin with EF
    // may be the byte order mark or invalid characters.
    const auto length = std::size_t{c < 0xe0 ? 2U : c < 0xf0 ? 3U : 4U};
    if (c < 0xc3 || c == 0xe0 || c == 0xed || c >= 0xef || s.size() - i < length)
      return false;
    for (auto k = std::size_t{1}; k < length; ++k)
      if ((s[i + k] & '\xc0') != '\x80')
        return false;
    i += length;
  }
  return true;
}

std::size_t indent_of(std::string_view line) noexcept {
  return std::min(line.find_first_not_of(' '), line.size());
}

std::string_view without_end_spaces(std::string_view s) noexcept {
  return s.substr(0, s.find_last_not_of(' ') + 1); // npos + 1 is 0
}

/// Parses a scalar on one line. Nullopt if only the complete parser can decide its value.
std::optional<json::value> read_text(std::string_view s) {
  s = without_end_spaces(s);
  if (s.empty())
    return {};
  if (s.front() == '"' || s.front() == '\'') {
    const auto inside = s.substr(1, s.size() - 2);
    if (s.size() < 2 || s.back() != s.front() ||
        inside.find_first_of(s.front() == '"' ? "\"\\" : "'") != npos)
      return {};
    return json::value(json::string_view{inside.data(), inside.size()});
  }
  constexpr auto indicators = std::string_view{"-?:,[]{}#&*!|>'\"%@`"};
  const auto is_number = s.front() == '-' && s.size() > 1 && text::is_digit(s[1]);
  if ((indicators.find(s.front()) != npos && !is_number) || s.back() == ':' ||
      s.find(": ") != npos || s.find(" #") != npos)
    return {};
  return plain_scalar(s);
}

/// A parser for one mapping. It returns nullopt as soon as the text needs the complete parser.
class reader {
public:
  reader(std::string_view text, std::size_t values_max) : rest_{text}, left_{values_max} {}

  std::optional<json::object> read() {
    auto out = json::object{};
    while (skip_blank_lines()) {
      const auto key = read_key();
      if (key.empty() || !plain_scalar(key).is_string() || out.contains(key))
        return {};
      auto value = read_value();
      if (!value)
        return {};
      out.emplace(key, std::move(*value));
      if (!count(2))
        return {};
    }
    if (out.empty())
      return {}; // there is no mapping
    return out;
  }

private:
  [[nodiscard]] std::string_view line() const noexcept { return rest_.substr(0, rest_.find('\n')); }
  std::string_view take_line() noexcept {
    const auto taken = line();
    has_end_ = taken.size() < rest_.size();
    rest_.remove_prefix(taken.size() + (has_end_ ? 1 : 0));
    return taken;
  }
  bool count(std::size_t values) noexcept {
    const auto fits = values <= left_;
    left_ -= std::min(values, left_);
    return fits;
  }
  /// Returns false at the end of the text.
  bool skip_blank_lines() noexcept {
    while (!rest_.empty() && indent_of(line()) == line().size())
      take_line();
    return !rest_.empty();
  }

  /// Consumes a key and its colon. Returns the key; empty if there is no key.
  std::string_view read_key() noexcept {
    auto end = std::size_t{0};
    while (end < rest_.size() && (is_letter(rest_[end]) ||
                                  (end > 0 && (text::is_digit(rest_[end]) || rest_[end] == '-'))))
      ++end;
    if (end == rest_.size() || rest_[end] != ':')
      return {};
    const auto key = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return key;
  }

  std::optional<json::value> read_value() {
    const auto same_line = take_line();
    if (same_line.empty())
      return has_end_ ? read_list() : std::nullopt;
    if (same_line.front() != ' ')
      return {};
    const auto begin = indent_of(same_line);
    const auto value = same_line.substr(begin);
    if (value == "|" || value == "|-")
      return has_end_ ? read_block(value.size() == 1) : std::nullopt;
    // If the next line is indented, it continues this text. That needs the complete parser.
    if (!rest_.empty() && rest_.front() == ' ' && indent_of(line()) < line().size())
      return {};
    return read_text(value);
  }

  /// Parses a list whose items all have the same indentation and are texts on one line.
  std::optional<json::value> read_list() {
    auto items = json::array{};
    const auto indent = indent_of(line());
    while (!rest_.empty() && indent_of(line()) == indent &&
           line().substr(indent).starts_with("- ")) {
      auto item = read_text(line().substr(indent + 2).substr(indent_of(line().substr(indent + 2))));
      if (!item || !count(1))
        return {};
      take_line();
      items.push_back(std::move(*item));
    }
    // Other indented lines need the complete parser.
    if (items.empty() || (!rest_.empty() && indent_of(line()) > 0) ||
        (!rest_.empty() && (line().empty() || line().front() == '-')))
      return {};
    return items;
  }

  /// Parses a literal block.
  /// @param with_end whether its text ends with a line end (`|`) or not (`|-`)
  std::optional<json::value> read_block(bool with_end) {
    auto out = std::string{};
    const auto indent = indent_of(line());
    if (indent == 0 || indent == line().size())
      return {};
    auto blank = std::size_t{0};
    while (!rest_.empty()) {
      const auto next = line();
      const auto begin = indent_of(next);
      if (begin == next.size() ? begin > 0 : begin > 0 && begin < indent)
        return {};
      if (!next.empty() && begin == 0)
        break;
      take_line();
      if (next.empty()) {
        ++blank;
        continue;
      }
      if (!out.empty())
        out.append(blank + 1, '\n');
      blank = 0;
      out += next.substr(indent);
    }
    if (with_end && has_end_) // no line end is added if the answer was cut within the last line
      out += '\n';
    return json::value(json::string_view{out});
  }

  std::string_view rest_;
  std::size_t left_;     // number of values that may still be parsed
  bool has_end_ = false; // whether the last consumed line had a line end
};

} // namespace

std::optional<json::object> read_plain_yaml(std::string_view text, std::size_t values_max) {
  if (!is_ordinary(text))
    return {};
  return reader{text, values_max}.read();
}

} // namespace superstep
