// SPDX-License-Identifier: Apache-2.0
#include "calculator_tokens.hpp"

#include <array>
#include <charconv>
#include <string>
#include <system_error>

namespace superstep::detail {

namespace {

struct spelling {
  std::string_view text;
  char kind; ///< ' ' for what is dropped
};

// Longer spellings stand before those they begin with.
constexpr auto spellings = std::array{
    spelling{"**", '^'},
    spelling{"+", '+'},
    spelling{"-", '-'},
    spelling{"\xe2\x88\x92", '-'}, // minus sign
    spelling{"\xe2\x80\x93", '-'}, // en dash
    spelling{"*", '*'},
    spelling{"x", '*'},
    spelling{"X", '*'},
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

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class lexer {
public:
  explicit lexer(std::string_view text) : text_{text} {}

  result<std::vector<calculator_token>> read() {
    auto tokens = std::vector<calculator_token>{};
    while (at_ < text_.size()) {
      if (is_digit(peek()) || (peek() == '.' && is_digit(peek(1)))) {
        auto number = read_number();
        if (!number)
          return std::move(number).error();
        tokens.push_back(*number);
        continue;
      }
      const auto* sign = find_spelling();
      if (!sign)
        return calculator_fault("`" + std::string{character()} + "` is not understood", position());
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
    for (const auto& s : spellings)
      if (text_.substr(at_).starts_with(s.text))
        return &s;
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

  [[nodiscard]] std::size_t position() const {
    auto characters = std::size_t{1};
    for (const auto c : text_.substr(0, at_))
      characters += continues_character(c) ? 0 : 1;
    return characters;
  }

  void take_digits(std::string& into) {
    while (is_digit(peek()))
      into += text_[at_++];
  }

  /// A comma between digits, three of them behind it, and no fourth.
  [[nodiscard]] bool at_separator() const {
    return peek() == ',' && is_digit(peek(1)) && is_digit(peek(2)) && is_digit(peek(3)) &&
           !is_digit(peek(4));
  }

  result<calculator_token> read_number() {
    const auto start = position();
    auto digits = std::string{};
    take_digits(digits);
    while (at_separator() && !digits.empty()) {
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
    if (peek() == '.' || peek() == ',')
      return calculator_fault("a number is not finished by `" + std::string{peek()} +
                                  "`; thousands are separated as in 1,234,567.8",
                              position());
    auto token = calculator_token{'n', 0, start};
    const auto [end, ec] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.number);
    if (ec != std::errc{})
      return calculator_fault("a number is out of range", start);
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
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
