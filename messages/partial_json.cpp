// SPDX-License-Identifier: Apache-2.0
// Parses JSON that is still being streamed. The text is closed with the brackets open at its end;
// if that is not valid JSON, the longest prefix that becomes valid with the same brackets is used.
// This gives the same results as langchain-core's parser, which removes one character at a time and
// takes quadratic time.
#include "messages/partial_json.hpp"

#include "argument_json.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace superstep {

namespace {

/// The brackets and strings that are open at the end of a text.
struct open_parts {
  std::string brackets; ///< the closing brackets needed, outermost first
  bool in_string = false;
  bool in_escape = false; ///< the last character is a backslash without the character it escapes
};

/// Returns nullopt if a bracket is closed that is not open.
std::optional<open_parts> open_at_end(std::string_view text) {
  auto open = open_parts{};
  for (const auto c : text) {
    if (open.in_string) {
      if (open.in_escape)
        open.in_escape = false;
      else if (c == '\\')
        open.in_escape = true;
      else if (c == '"')
        open.in_string = false;
    } else if (c == '"') {
      open.in_string = true;
    } else if (c == '{' || c == '[') {
      open.brackets += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (open.brackets.empty() || open.brackets.back() != c)
        return std::nullopt;
      open.brackets.pop_back();
    }
  }
  return open;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex_digit(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr auto half_length = std::string_view{"\\ud83d"}.size();

/// Whether an open string ends with the first half of a surrogate pair (`\ud83d`).
bool ends_in_half_character(std::string_view text) {
  if (text.size() < half_length)
    return false;
  const auto at = text.size() - half_length;
  const auto half = text.substr(at);
  const auto is_high = half[0] == '\\' && half[1] == 'u' && (half[2] == 'd' || half[2] == 'D') &&
                       std::string_view{"89abAB"}.find(half[3]) != std::string_view::npos &&
                       is_hex_digit(half[4]) && is_hex_digit(half[5]);
  const auto last_other = text.substr(0, at).find_last_not_of('\\');
  const auto escapes = at - (last_other == std::string_view::npos ? 0 : last_other + 1);
  return is_high && escapes % 2 == 0; // otherwise the backslash itself is escaped
}

/// Walks a text by JSON's grammar and finds the longest prefix that becomes JSON when the brackets
/// open at the end of the whole text are closed.
///
/// The brackets are fixed, so a prefix qualifies only where exactly these brackets are open.
/// Brackets that were opened and closed in between, or that a removed tail would have to reopen, do
/// not count.
class beginning_finder {
public:
  beginning_finder(std::string_view text, std::string_view wanted) : text_{text}, wanted_{wanted} {}

  /// Returns the length of the prefix; 0 if there is none.
  std::size_t find() {
    while (at_ < text_.size() && step()) {
      const auto closable = want_ == want::comma || want_ == want::first_value ||
                            want_ == want::first_key || want_ == want::end;
      if (closable && open_.size() == wanted_.size() && agreeing_ == wanted_.size())
        found_ = at_;
    }
    return found_;
  }

private:
  enum class want { value, first_value, key, first_key, colon, comma, end };

  /// Consumes one token or one white-space character; false if the grammar does not allow it.
  bool step() {
    const auto c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
      return true;
    }
    switch (want_) {
    case want::first_value:
      if (c == ']')
        return close(c);
      return value(c);
    case want::value:
      return value(c);
    case want::first_key:
      if (c == '}')
        return close(c);
      return key(c);
    case want::key:
      return key(c);
    case want::colon:
      return take(c == ':', want::value);
    case want::comma:
      if (c == ',')
        return take(true, open_.back() == '}' ? want::key : want::value);
      return close(c);
    case want::end:
      return false;
    }
    return false;
  }

  bool take(bool right, want next) {
    at_ += right ? 1 : 0;
    want_ = next;
    return right;
  }

  void value_ended() { want_ = open_.empty() ? want::end : want::comma; }

  bool open(char closing) {
    if (agreeing_ == open_.size() && agreeing_ < wanted_.size() && wanted_[agreeing_] == closing)
      ++agreeing_;
    open_ += closing;
    return take(true, closing == '}' ? want::first_key : want::first_value);
  }

  bool close(char c) {
    if (open_.empty() || open_.back() != c)
      return false;
    open_.pop_back();
    agreeing_ = std::min(agreeing_, open_.size());
    ++at_;
    value_ended();
    return true;
  }

  bool key(char c) {
    if (c != '"' || !string())
      return false;
    want_ = want::colon;
    return true;
  }

  bool value(char c) {
    if (c == '{' || c == '[')
      return open(c == '{' ? '}' : ']');
    const auto read = c == '"' ? string() : c == '-' || is_digit(c) ? number() : literal();
    if (read)
      value_ended();
    return read;
  }

  bool literal() {
    for (const auto* word : {"true", "false", "null"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += std::string_view{word}.size();
        return true;
      }
    return false;
  }

  /// Consumes the longest prefix that is a number. What follows it is checked as the next token.
  bool number() {
    const auto digits = [&](std::size_t from) {
      while (from < text_.size() && is_digit(text_[from]))
        ++from;
      return from;
    };
    auto end = at_ + (text_[at_] == '-' ? 1 : 0);
    if (end == text_.size() || !is_digit(text_[end]))
      return false;
    end = text_[end] == '0' ? end + 1 : digits(end);
    if (end < text_.size() && text_[end] == '.' && digits(end + 1) > end + 1)
      end = digits(end + 1);
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      const auto sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
      const auto first = end + (sign ? 2 : 1);
      if (digits(first) > first)
        end = digits(first);
    }
    at_ = end;
    return true;
  }

  bool string() {
    for (auto i = at_ + 1; i < text_.size(); ++i) {
      if (text_[i] == '"') {
        at_ = i + 1;
        return true;
      }
      if (text_[i] != '\\')
        continue;
      if (++i == text_.size())
        return false;
      if (text_[i] == 'u') {
        for (auto digit = 0; digit < 4; ++digit)
          if (++i >= text_.size() || !is_hex_digit(text_[i]))
            return false;
      } else if (std::string_view{"\"\\/bfnrt"}.find(text_[i]) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }

  std::string_view text_;
  std::string_view wanted_;
  std::string open_;
  std::size_t agreeing_ = 0; ///< number of outermost brackets that are equal in open_ and wanted_
  std::size_t at_ = 0;
  std::size_t found_ = 0;
  want want_ = want::value;
};

} // namespace

result<json::value> parse_partial_json(std::string_view text) {
  auto whole = parse_argument_json(text);
  if (whole)
    return whole;
  const auto open = open_at_end(text);
  if (!open)
    return json::value{};
  // Remove an incomplete escape or surrogate pair at the end, and close the open string.
  auto closed = std::string{text.substr(0, text.size() - (open->in_escape ? 1 : 0))};
  if (open->in_string && ends_in_half_character(closed))
    closed.resize(closed.size() - half_length);
  if (open->in_string)
    closed += '"';
  const auto length = beginning_finder{closed, open->brackets}.find();
  if (length == 0)
    return whole;
  closed.resize(length);
  closed.append(open->brackets.rbegin(), open->brackets.rend());
  return parse_argument_json(closed);
}

} // namespace superstep
