// SPDX-License-Identifier: Apache-2.0
// A JSON parser for texts of models, with two dialects: strict, and relaxed (comments, single
// quotes, unquoted words).
#include "protocols/relaxed_json.hpp"

#include "protocols/text.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace superstep {

namespace {

void append_utf8(std::string& out, std::uint32_t c) {
  const auto byte = [&](std::uint32_t b) { out += static_cast<char>(b); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | (c >> 6U));
    byte(0x80 | (c & 0x3fU));
  } else if (c < 0x10000) {
    byte(0xe0 | (c >> 12U));
    byte(0x80 | ((c >> 6U) & 0x3fU));
    byte(0x80 | (c & 0x3fU));
  } else {
    byte(0xf0 | (c >> 18U));
    byte(0x80 | ((c >> 12U) & 0x3fU));
    byte(0x80 | ((c >> 6U) & 0x3fU));
    byte(0x80 | (c & 0x3fU));
  }
}

std::optional<std::uint32_t> hex4(std::string_view s, std::size_t& at) {
  if (s.size() - at < 4)
    return {};
  auto v = std::uint32_t{0};
  for (auto i = 0; i < 4; ++i) {
    const auto c = ascii_lower(s[at++]);
    if (text::is_digit(c))
      v = v * 16 + static_cast<std::uint32_t>(c - '0');
    else if (c >= 'a' && c <= 'f')
      v = v * 16 + static_cast<std::uint32_t>(c - 'a' + 10);
    else
      return {};
  }
  return v;
}

/// Reads the digits after `\u`. Returns false if there are not four.
bool read_unicode(std::string_view s, std::size_t& at, std::string& out) {
  const auto first = hex4(s, at);
  if (!first)
    return false;
  if (*first >= 0xd800 && *first < 0xdc00 && s.substr(at).starts_with("\\u")) {
    const auto back = at;
    at += 2;
    const auto second = hex4(s, at);
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      append_utf8(out, 0x10000 + ((*first - 0xd800) << 10U) + (*second - 0xdc00));
      return true;
    }
    at = back;
  }
  // A lone surrogate cannot be encoded in UTF-8.
  append_utf8(out, *first >= 0xd800 && *first < 0xe000 ? 0xfffd : *first);
  return true;
}

} // namespace

std::size_t end_of_plain(std::string_view s, std::size_t at, char quote) noexcept {
  for (; s.size() - at >= 8; at += 8)
    if (const auto next = swar_word{s.data() + at};
        next.has(quote) || next.has('\\') || next.has_control())
      break;
  while (at < s.size() && s[at] != quote && s[at] != '\\' &&
         static_cast<unsigned char>(s[at]) >= 0x20)
    ++at;
  return at;
}

const char* read_json_string(std::string_view s, std::size_t& at, std::string& out) {
  const auto quote = s[at++];
  for (;;) {
    const auto from = at;
    at = end_of_plain(s, at, quote);
    out += s.substr(from, at - from);
    if (at >= s.size())
      return "a string has no end";
    if (s[at] == quote) {
      ++at;
      return nullptr;
    }
    if (s[at] != '\\')
      return "a string contains a control character";
    ++at;
    if (at >= s.size())
      return "a string has no end";
    const auto c = s[at++];
    static constexpr auto names = std::string_view{"\"\\/bfnrt"};
    static constexpr auto values = std::string_view{"\"\\/\b\f\n\r\t"};
    if (const auto i = names.find(c); i != names.npos)
      out += values[i];
    else if (c == '\'' && quote == '\'')
      out += c;
    else if (c != 'u')
      return "a string contains an invalid escape";
    else if (!read_unicode(s, at, out))
      return "\\u must be followed by four hexadecimal digits";
  }
}

namespace {

constexpr auto word_chars = [] {
  auto table = std::array<bool, 256>{};
  for (const auto c : std::string_view{"$ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789_+.*?!|&%^/#-\\"})
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

/// A recursive descent parser for one document. json_limits bounds its depth.
///
/// Tokens are tried in a fixed order, as in @ai-sdk-tool/parser: space, punctuation, comment,
/// keyword, number, string, word. An unquoted word that begins with a keyword or a number, such as
/// `trueish`, is therefore read as two tokens and rejected.
class reader {
public:
  reader(std::string_view text, json_dialect dialect) : text_{text}, dialect_{dialect} {}

  result<json::value> document() {
    auto v = json::value{};
    skip();
    if (read_value(v, 0)) {
      skip();
      if (at_ < text_.size())
        fail("there is text after the value");
    }
    if (why_ != nullptr)
      return error{errc::parse_failed,
                   std::string{"not valid JSON: "} + why_ + " at byte " + std::to_string(at_)};
    return v;
  }

private:
  bool fail(const char* why) {
    if (why_ == nullptr)
      why_ = why;
    return false;
  }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!at(c))
      return false;
    ++at_;
    return true;
  }

  void skip() {
    for (;;) {
      if (!dialect_.relaxed) {
        while (at(' ') || at('\n') || at('\t') || at('\r'))
          ++at_;
        return;
      }
      if (at_ < text_.size() && text_[at_] > ' ' && text_[at_] != '/')
        return;
      while (const auto length = text::space_at(text_, at_))
        at_ += length;
      if (!at('/'))
        return;
      const auto rest = text_.substr(at_);
      // A comment without an end is not skipped. It is then parsed as words and rejected.
      const auto end = rest.starts_with("//")   ? text_.find('\n', at_)
                       : rest.starts_with("/*") ? text_.find("*/", at_ + 2)
                                                : std::string_view::npos;
      if (end == std::string_view::npos)
        return;
      at_ = end + (rest[1] == '/' ? 1 : 2);
    }
  }

  bool read_value(json::value& into, std::size_t depth) {
    if (at_ >= text_.size())
      return fail("a value is missing");
    const auto c = text_[at_];
    if (c == '{' || c == '[') {
      if (depth >= json_limits{}.depth_max)
        return fail("too deeply nested");
      return c == '{' ? read_object(into, depth + 1) : read_array(into, depth + 1);
    }
    if (c == '"' || (c == '\'' && dialect_.relaxed)) {
      // Most strings contain no escapes and can be copied as a whole.
      if (const auto s = plain_string()) {
        into.emplace_string().assign(s->data(), s->size());
        return true;
      }
      auto s = std::string{};
      if (!read_string(s))
        return false;
      into.emplace_string().assign(s.data(), s.size());
      return true;
    }
    const auto rest = text_.substr(at_);
    if (rest.starts_with("true") || rest.starts_with("null")) {
      into = c == 't' ? json::value(true) : json::value(nullptr);
      at_ += 4;
      return true;
    }
    if (rest.starts_with("false")) {
      into = false;
      at_ += 5;
      return true;
    }
    if (read_number(into))
      return true;
    if (why_ != nullptr || !dialect_.relaxed)
      return fail("a value cannot begin with this character");
    const auto word = read_word();
    if (word.empty())
      return fail("a value cannot begin with this character");
    into.emplace_string().assign(word.data(), word.size());
    return true;
  }

  std::string_view read_word() {
    const auto from = at_;
    while (at_ < text_.size() && word_chars[static_cast<unsigned char>(text_[at_])])
      ++at_;
    return text_.substr(from, at_ - from);
  }

  /// Parses a number. Returns false if there is no valid number here; why_ is set only if the
  /// number is invalid, not if no number begins here.
  bool read_number(json::value& into) {
    auto i = at_;
    const auto digits = [&] {
      const auto from = i;
      while (i < text_.size() && text::is_digit(text_[i]))
        ++i;
      return i > from;
    };
    if (i < text_.size() && text_[i] == '-')
      ++i;
    const auto first = i;
    if (!digits())
      return false;
    if (!dialect_.relaxed && text_[first] == '0' && i > first + 1)
      return fail("a number has a leading zero");
    if (const auto point = i; i < text_.size() && text_[i] == '.') {
      ++i;
      if (!digits())
        i = point;
    }
    if (const auto mark = i; i < text_.size() && (text_[i] == 'e' || text_[i] == 'E')) {
      ++i;
      if (i < text_.size() && (text_[i] == '+' || text_[i] == '-'))
        ++i;
      if (!digits())
        i = mark;
    }
    auto number = text::number_of(text_.substr(at_, i - at_));
    // A number that does not fit a double would become infinite, which JSON cannot represent.
    if (!number)
      return fail("a number is out of range");
    into = *std::move(number);
    at_ = i;
    return true;
  }

  /// Parses the string that begins here if it has no escapes. Otherwise returns nullopt and does
  /// not move.
  std::optional<std::string_view> plain_string() {
    const auto quote = text_[at_];
    const auto end = end_of_plain(text_, at_ + 1, quote);
    if (end >= text_.size() || text_[end] != quote)
      return {};
    const auto inside = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return inside;
  }

  bool read_string(std::string& out) {
    const auto* why = read_json_string(text_, at_, out);
    return why == nullptr || fail(why);
  }

  bool read_array(json::value& into, std::size_t depth) {
    auto& items = into.emplace_array();
    ++at_;
    skip();
    while (!take(']')) {
      if (!read_value(items.emplace_back(nullptr), depth))
        return false;
      skip();
      if (!next(']'))
        return false;
    }
    return true;
  }

  bool read_object(json::value& into, std::size_t depth) {
    auto& members = into.emplace_object();
    ++at_;
    skip();
    while (!take('}')) {
      auto key = std::string{};
      if (!read_key(key))
        return false;
      skip();
      if (!take(':'))
        return fail("a colon is missing");
      skip();
      auto value = json::value{};
      if (!read_value(value, depth))
        return false;
      if (!add(members, key, std::move(value)))
        return false;
      skip();
      if (!next('}'))
        return false;
    }
    return true;
  }

  bool add(json::object& members, const std::string& key, json::value value) {
    if (key == "__proto__" && !dialect_.keep_proto)
      return true;
    const auto [place, is_new] = members.emplace(key, std::move(value));
    if (is_new)
      return true;
    if (dialect_.relaxed)
      return fail("a key is repeated in an object");
    // emplace() does not move from the value if the key exists
    place->value() = std::move(value); // NOLINT(bugprone-use-after-move): see above
    return true;
  }

  bool read_key(std::string& key) {
    if (at('"') || (at('\'') && dialect_.relaxed)) {
      const auto plain = plain_string();
      if (plain)
        key = *plain;
      return plain || read_string(key);
    }
    if (!dialect_.relaxed || at_ >= text_.size() || text::is_digit(text_[at_]))
      return fail("a key is missing");
    const auto rest = text_.substr(at_);
    for (const auto* keyword : {"true", "false", "null"})
      if (rest.starts_with(keyword))
        return fail("a keyword cannot be a key");
    if (rest.size() > 1 && rest[0] == '-' && text::is_digit(rest[1]))
      return fail("a number cannot be a key");
    key = read_word();
    return !key.empty() || fail("a key is missing");
  }

  /// Consumes the comma after an element. Does not consume a closing bracket, at which the caller's
  /// loop ends.
  bool next(char end) {
    if (at(end))
      return true;
    if (!take(','))
      return fail("a comma is missing");
    skip();
    return !at(end) || dialect_.relaxed || fail("there is a comma before a closing bracket");
  }

  std::string_view text_;
  json_dialect dialect_;
  std::size_t at_ = 0;
  const char* why_ = nullptr;
};

} // namespace

result<json::value> read_json(std::string_view text, json_dialect dialect) {
  return reader{text, dialect}.document();
}

result<json::value> parse_relaxed_json(std::string_view text) {
  return read_json(text, {.relaxed = true});
}

result<json::value> parse_lenient_json(std::string_view text) {
  return read_json(text, {.keep_proto = true});
}

} // namespace superstep
