// SPDX-License-Identifier: Apache-2.0
// Splits arithmetic expressions into tokens. Accepts the signs and number formats that occur in
// texts from which models copy. calculator.cpp evaluates the tokens.
#include "calculator_tokens.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numbers>
#include <string>
#include <system_error>

namespace superstep::detail {

namespace {

struct spelling {
  std::string_view text;
  char kind; ///< ' ' for characters that are ignored
};

// The first match is used, so `**` precedes `*`.
constexpr auto spellings = std::array{
    spelling{"**", '^'},
    spelling{"//", 'd'}, // floor division
    spelling{"+", '+'},
    spelling{"-", '-'},
    spelling{"\xe2\x88\x92", '-'}, // minus sign
    spelling{"\xe2\x80\x93", '-'}, // en dash
    spelling{"*", '*'},
    spelling{"\xc3\x97", '*'},     // multiplication sign
    spelling{"\xc2\xb7", '*'},     // middle dot
    spelling{"\xe2\x8b\x85", '*'}, // dot operator
    spelling{"/", '/'},
    spelling{"\xc3\xb7", '/'}, // division sign
    spelling{"\xe2\x88\x95", '/'},
    spelling{"\xe2\x81\x84", '/'}, // slashes of fractions
    spelling{"^", '^'},
    spelling{"%", '%'},
    spelling{"(", '('},
    spelling{")", ')'},
    spelling{"[", '['},
    spelling{"]", ']'},
    spelling{",", ','},
    spelling{";", ','},
    spelling{"=", '='},
    spelling{" ", ' '},
    spelling{"\t", ' '},
    spelling{"\n", ' '},
    spelling{"\r", ' '},
    spelling{"\xc2\xa0", ' '}, // no-break space
    spelling{"\xe2\x80\x89", ' '},
    spelling{"\xe2\x80\xaf", ' '}, // thin spaces
    spelling{"$", ' '},
    spelling{"\xe2\x82\xac", ' '}, // euro
    spelling{"\xc2\xa3", ' '},
    spelling{"\xc2\xa5", ' '}, // pound, yen
};

/// For each byte, the index of the first spelling that begins with it.
constexpr auto first_spelling = [] {
  auto out = std::array<std::uint8_t, 256>{};
  out.fill(std::uint8_t{spellings.size()});
  for (auto i = spellings.size(); i-- > 0;)
    out[static_cast<unsigned char>(spellings[i].text.front())] = static_cast<std::uint8_t>(i);
  return out;
}();

constexpr auto functions =
    std::array<std::string_view, 14>{"sqrt", "abs", "min", "max", "round", "floor", "ceil",
                                     "log",  "ln",  "exp", "sin", "cos",   "tan",   "log10"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class lexer {
public:
  explicit lexer(std::string_view text) : text_{text} {}

  result<std::vector<calculator_token>> read() {
    auto tokens = std::vector<calculator_token>{};
    tokens.reserve(16); // enough for most expressions
    while (at_ < text_.size()) {
      if (peek() == ' ') { // by far the most frequent sign
        ++at_;
        continue;
      }
      if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) {
        auto number = read_number();
        if (!number)
          return std::move(number).error();
        tokens.push_back(*number);
        continue;
      }
      if (is_letter(peek()) || text_.substr(at_).starts_with(pi_sign)) {
        auto word = read_word();
        if (!word)
          return std::move(word).error();
        tokens.push_back(*word);
        continue;
      }
      const auto* sign = find_spelling();
      if (!sign)
        return calculator_fault("`" + std::string{character()} + "` is not understood", position());
      if (sign->kind == '(')
        calls_.push_back(!tokens.empty() && tokens.back().kind == 'f');
      else if (sign->kind == ')' && !calls_.empty())
        calls_.pop_back();
      if (sign->kind != ' ')
        tokens.push_back({sign->kind, 0, position()});
      at_ += sign->text.size();
    }
    tokens.push_back({0, 0, position()});
    return tokens;
  }

private:
  [[nodiscard]] char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  [[nodiscard]] const spelling* find_spelling() const {
    const auto rest = text_.substr(at_);
    for (auto i = std::size_t{first_spelling[static_cast<unsigned char>(peek())]};
         i < spellings.size(); ++i)
      if (rest.starts_with(spellings[i].text))
        return &spellings[i];
    return nullptr;
  }

  static bool continues_character(char c) {
    return (static_cast<unsigned char>(c) & 0xc0U) == 0x80;
  }

  [[nodiscard]] std::string_view character() const {
    auto end = at_ + 1;
    while (end < text_.size() && continues_character(text_[end]))
      ++end;
    return text_.substr(at_, end - at_);
  }

  [[nodiscard]] std::size_t position() {
    for (; counted_ < at_; ++counted_)
      position_ += continues_character(text_[counted_]) ? 0 : 1;
    return position_;
  }

  [[nodiscard]] bool is_in_call() const { return !calls_.empty() && calls_.back(); }

  calculator_token constant(double value, std::size_t bytes) {
    const auto start = position();
    at_ += bytes;
    return {'c', value, start};
  }

  /// Reads a function, a constant, `mod`, or an `x` that means multiplication.
  result<calculator_token> read_word() {
    if (text_.substr(at_).starts_with(pi_sign))
      return constant(std::numbers::pi, pi_sign.size());
    auto end = at_;
    while (end < text_.size() && is_letter(text_[end]))
      ++end;
    if (text_.substr(at_).starts_with("log10"))
      end = at_ + 5;
    auto word = text_.substr(at_, end - at_);
    const auto is_product = [](std::string_view w) { return w.front() == 'x' || w.front() == 'X'; };
    if (word == "pi" || word == "PI")
      return constant(std::numbers::pi, word.size());
    if (word == "e")
      return constant(std::numbers::e, 1);
    auto token = calculator_token{0, 0, position()};
    if (const auto* known = std::ranges::find(functions, word); known != functions.end()) {
      token.kind = 'f';
      token.name = *known;
    } else if (word == "mod") {
      token.kind = 'm';
    } else if (is_product(word)) { // `x` directly before a word, as in `2xsqrt(4)`
      token.kind = '*';
      word = word.substr(0, 1);
    } else {
      return calculator_fault("`" + std::string{word} +
                                  "` is not understood; functions are sqrt, abs, min, max, round, "
                                  "floor, ceil, log (base 10), ln, exp, sin, cos, tan",
                              token.position);
    }
    at_ += word.size();
    return token;
  }

  void take_digits(std::string& into) {
    const auto begin = at_;
    while (is_digit(peek()))
      ++at_;
    into += text_.substr(begin, at_ - begin);
  }

  /// Whether the comma here separates thousands: exactly three digits follow.
  [[nodiscard]] bool at_separator() const {
    return peek() == ',' && is_digit(peek(1)) && is_digit(peek(2)) && is_digit(peek(3)) &&
           !is_digit(peek(4));
  }

  /// Reads the usual number: a whole one of few digits, which a double represents exactly. Returns
  /// false, and reads nothing, if the number may have another form.
  bool take_integer(double& into) {
    constexpr auto digits_max = std::size_t{15};
    auto value = std::uint64_t{0};
    auto end = at_;
    for (; end < text_.size() && is_digit(text_[end]) && end - at_ < digits_max; ++end)
      value = 10 * value + static_cast<std::uint64_t>(text_[end] - '0');
    const auto next = end < text_.size() ? text_[end] : '\0';
    if (end == at_ || is_digit(next) ||
        std::string_view{".,eE"}.find(next) != std::string_view::npos)
      return false;
    into = static_cast<double>(value);
    at_ = end;
    return true;
  }

  result<calculator_token> read_number() {
    const auto start = position();
    auto token = calculator_token{'n', 0, start};
    if (take_integer(token.number))
      return token;
    auto digits = std::string{};
    take_digits(digits);
    auto has_separators = false;
    while (at_separator() && !digits.empty()) {
      has_separators = true;
      ++at_;
      take_digits(digits);
    }
    if (peek() == '.') {
      digits += text_[at_++];
      take_digits(digits);
    }
    const auto signed_exponent = (peek(1) == '+' || peek(1) == '-') && is_digit(peek(2));
    if ((peek() == 'e' || peek() == 'E') && (is_digit(peek(1)) || signed_exponent)) {
      digits += text_[at_++];
      if (peek() == '-')
        digits += '-';
      at_ += signed_exponent ? 1 : 0;
      take_digits(digits);
    }
    if (peek() == '.' || (peek() == ',' && !is_in_call()))
      return calculator_fault("a number must not end with `" + std::string{peek()} +
                                  "`; thousands are separated as in 1,234,567.8",
                              position());
    if (has_separators && is_in_call())
      return calculator_fault("a comma between digits may separate thousands or arguments; write "
                              "1234 or 1, 234",
                              start);
    const auto [end, ec] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.number);
    if (ec != std::errc{})
      return calculator_fault("a number is out of range", start);
    return token;
  }

  static constexpr auto pi_sign = std::string_view{"\xcf\x80"};

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t counted_ = 0;  // the bytes whose characters position_ counts
  std::size_t position_ = 1; // the number of the character at `counted_`
  /// For each open parenthesis, whether it encloses the arguments of a function.
  std::vector<bool> calls_;
};

} // namespace

result<std::vector<calculator_token>> tokens_of(std::string_view expression) {
  return lexer{expression}.read();
}

error calculator_fault(std::string_view what, std::size_t position) {
  return {errc::parse_failed,
          std::string{what} + " (at character " + std::to_string(position) + ')'};
}

} // namespace superstep::detail
