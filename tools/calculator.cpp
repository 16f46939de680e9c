// SPDX-License-Identifier: Apache-2.0
// The tool `calculator`: evaluates the tokens of calculator_tokens.cpp by recursive descent. Models
// read its error texts and correct their expressions.
#include "calculator_tokens.hpp"

#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace {

using detail::calculator_fault;
using detail::calculator_token;

/// Evaluates an expression by this grammar:
///
///     sum     := product (("+" | "-") product)*
///     product := signed (("*" | "/" | "//" | "mod")? signed)*
///     signed  := ("+" | "-")* power
///     power   := operand "%"* ("^" signed)?
///
/// A product without operator, such as 2(3), is a multiplication. By this grammar, -2^2 is -4, 2^-1
/// is 0.5, 2^3^2 is 512 and 6/2(3) is 9.
class evaluator {
public:
  evaluator(const std::vector<calculator_token>& tokens, std::size_t depth_max)
      : tokens_{tokens}, depth_max_{depth_max} {}

  result<double> run() {
    if (kind() == 0)
      return calculator_fault("the expression is empty", 1);
    const auto value = sum();
    if (kind() == '=') // models often write "2+3="
      ++at_;
    if (kind() != 0 && at_ > 0 && tokens_[at_ - 1].kind == '=')
      fail("something follows the `=`");
    if (!fault_ && kind() != 0)
      fail(rest_fault());
    if (fault_)
      return *std::move(fault_);
    return value == 0 ? 0.0 : value; // not -0
  }

private:
  /// Returns the error for text that follows a complete expression.
  [[nodiscard]] std::string_view rest_fault() const {
    const auto is_operand = kind() == 'n' || kind() == 'c' || kind() == 'f';
    if (is_operand && at_ > 0 && tokens_[at_ - 1].kind == '%')
      return "an operator is missing: `%` was read as percent; write `mod` for the remainder";
    return is_operand ? "an operator is missing before a number" : "something is out of place";
  }

  [[nodiscard]] char kind() const { return fault_ ? '\0' : tokens_[at_].kind; }

  bool take(char wanted) {
    if (kind() != wanted)
      return false;
    ++at_;
    return true;
  }

  double fail(std::string_view what) { return fail(what, tokens_[at_].position); }
  double fail(std::string_view what, std::size_t position) {
    if (!fault_)
      fault_ = calculator_fault(what, position);
    return 0;
  }

  double checked(double value, std::size_t position) {
    if (!fault_ && std::isnan(value))
      return fail("the result is not a real number", position);
    if (!fault_ && std::isinf(value))
      return fail("the result is too large", position);
    return value;
  }

  double sum() {
    auto value = product();
    while (kind() == '+' || kind() == '-') {
      const auto op = tokens_[at_++];
      const auto right = product();
      value = checked(op.kind == '+' ? value + right : value - right, op.position);
    }
    return value;
  }

  double product() {
    auto value = signed_power();
    while (is_operator(kind()) || kind() == '(' || kind() == '[' || follows_bracket()) {
      const auto op = tokens_[at_];
      if (is_operator(op.kind))
        ++at_;
      const auto right = signed_power();
      if (op.kind != '*' && is_operator(op.kind) && right == 0 && !fault_)
        return fail("division by zero", op.position);
      value = checked(combined(op.kind, value, right), op.position);
    }
    return value;
  }

  static bool is_operator(char kind) {
    return kind == '*' || kind == '/' || kind == 'd' || kind == 'm';
  }

  /// Returns the remainder with the sign of the divisor. Unlike the difference of rounded products,
  /// it is exact, also for large numbers.
  static double remainder(double left, double right) {
    const auto out = std::fmod(left, right);
    if (out == 0)
      return 0; // not -0
    return (out < 0) != (right < 0) ? out + right : out;
  }

  /// Applies an operator of a product. As in Python, `//` rounds down and the remainder of `mod`
  /// has the sign of the divisor.
  static double combined(char kind, double left, double right) {
    switch (kind) {
    case '/':
      return left / right;
    case 'd':
      // The difference is a multiple of the divisor. `left / right` may be rounded up to an
      // integer.
      return std::round((left - remainder(left, right)) / right);
    case 'm':
      return remainder(left, right);
    default:
      return left * right;
    }
  }

  /// Whether the next token continues a product without an operator. `(1+2)3`, `2pi` and `2sqrt(4)`
  /// are products, but `2 3` is an error.
  [[nodiscard]] bool follows_bracket() const {
    if (at_ == 0)
      return false;
    const auto before = tokens_[at_ - 1].kind;
    const auto is_closed = before == ')' || before == ']';
    return (kind() == 'n' && is_closed) ||
           ((kind() == 'c' || kind() == 'f') && (is_closed || before == 'n' || before == 'c'));
  }

  double signed_power() {
    auto negative = false;
    while (kind() == '+' || kind() == '-')
      negative = negative != (tokens_[at_++].kind == '-');
    const auto value = power();
    return negative ? -value : value;
  }

  double power() {
    auto value = operand();
    while (take('%'))
      value /= 100;
    if (kind() != '^')
      return value;
    const auto op = tokens_[at_++];
    if (!enter())
      return 0;
    const auto exponent = signed_power();
    --depth_;
    if (value == 0 && exponent < 0)
      return fail("division by zero", op.position);
    return checked(std::pow(value, exponent), op.position);
  }

  double operand() {
    const auto token = fault_ ? calculator_token{} : tokens_[at_];
    if (take('n') || take('c'))
      return token.number;
    if (take('f'))
      return call(token);
    if (token.kind == '(' || token.kind == '[') {
      if (!enter())
        return 0;
      ++at_;
      const auto value = sum();
      --depth_;
      if (!fault_ && !take(token.kind == '(' ? ')' : ']'))
        return fail(token.kind == '(' ? "`(` is not closed" : "`[` is not closed", token.position);
      return value;
    }
    return fail(token.kind == 0 ? "the expression ends too early" : "a number is missing");
  }

  /// Reads the arguments of a function and returns its value.
  double call(const calculator_token& function) {
    if (kind() != '(')
      return fail("`" + std::string{function.name} + "` needs its arguments in parentheses");
    if (!enter())
      return 0;
    auto arguments = std::vector<double>{};
    do {
      ++at_; // skips the parenthesis or a comma
      arguments.push_back(sum());
    } while (kind() == ',');
    --depth_;
    if (!fault_ && !take(')'))
      return fail("`(` is not closed", function.position);
    const auto value = fault_ ? std::optional{0.0} : value_of(function.name, arguments);
    if (!value)
      return fail("`" + std::string{function.name} + "` does not take " +
                      std::to_string(arguments.size()) + " arguments",
                  function.position);
    return checked(*value, function.position);
  }

  /// Returns the value of a function; nullopt if the number of arguments is wrong. round() rounds
  /// halves away from zero.
  static std::optional<double> value_of(std::string_view name, const std::vector<double>& given) {
    if (name == "min")
      return *std::ranges::min_element(given);
    if (name == "max")
      return *std::ranges::max_element(given);
    const auto x = given.front();
    if (name == "round" && given.size() == 2) {
      const auto scale = std::pow(10.0, std::trunc(given[1]));
      const auto scaled = x * scale;
      return std::isfinite(scaled) && scale > 0 ? std::round(scaled) / scale : x;
    }
    using function = double (*)(double);
    static constexpr auto known = std::array<std::pair<std::string_view, function>, 12>{{
        {"sqrt", std::sqrt},
        {"abs", std::fabs},
        {"round", std::round},
        {"floor", std::floor},
        {"ceil", std::ceil},
        {"log", std::log10},
        {"log10", std::log10},
        {"ln", std::log},
        {"exp", std::exp},
        {"sin", std::sin},
        {"cos", std::cos},
        {"tan", std::tan},
    }};
    for (const auto& [word, body] : known)
      if (word == name && given.size() == 1)
        return body(x);
    return std::nullopt;
  }

  bool enter() {
    if (!fault_ && ++depth_ > depth_max_)
      fail("the expression is nested too deeply");
    return !fault_;
  }

  const std::vector<calculator_token>& tokens_;
  std::size_t depth_max_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  std::optional<error> fault_;
};

struct calculator_arguments {
  std::string expression;

  static constexpr auto descriptions = std::array{
      std::pair{"expression",
                "Arithmetic with + - * / // ^ ( ), mod and % for percent, sqrt, abs, min, max, "
                "round, floor, ceil, log (base 10), ln, exp, sin, cos, tan, pi and e, for example "
                "1,250 * (3 + 4.5) or 20% * 50"}};
};
BOOST_DESCRIBE_STRUCT(calculator_arguments, (), (expression))

} // namespace

result<double> calculate(std::string_view expression, calculator_options options) {
  if (expression.size() > options.length_max)
    return error{errc::too_large, "the expression has " + std::to_string(expression.size()) +
                                      " bytes; at most " + std::to_string(options.length_max) +
                                      " are allowed"};
  const auto tokens = detail::tokens_of(expression);
  if (!tokens)
    return tokens.error();
  return evaluator{*tokens, options.depth_max}.run();
}

std::string number_text(double value) {
  auto buffer = std::array<char, 64>{};
  const auto size = std::abs(value);
  // A whole number is written several times faster as an integer, with the same digits.
  constexpr auto whole_max = 1e15;
  if (size >= 1 && size < whole_max && std::trunc(value) == value) {
    const auto whole = static_cast<std::int64_t>(value);
    return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), whole).ptr};
  }
  const auto plain = size == 0 || (size >= 1e-7 && size < 1e21);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  return {buffer.data(), end};
}

tool_ptr make_calculator(calculator_options options) {
  auto calculate_one = [options](const calculator_arguments& args) {
    const auto value = calculate(args.expression, options);
    auto out = tool_output{};
    out.is_error = value.has_error();
    out.content = value ? number_text(*value) : "Error: " + value.error().text;
    return out;
  };
  return make_tool<calculator_arguments>(
      "calculator", "Computes an arithmetic expression and answers with the number.",
      calculate_one);
}

} // namespace superstep
