// SPDX-License-Identifier: Apache-2.0
#include "calculator_tokens.hpp"

#include <superstep/tools/calculator.hpp>
#include <superstep/tools/make_tool.hpp>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

namespace {

using detail::calculator_fault;
using detail::calculator_token;

/// sum := product (± product)*, product := signed ((* /)? signed)*, signed := ±* power,
/// power := operand %* (^ signed)?. So -2^2 is -4, 2^-1 is 0.5, 2^3^2 is 512 and 6/2(3) is 9.
class evaluator {
public:
  evaluator(const std::vector<calculator_token>& tokens, std::size_t depth_max)
      : tokens_{tokens}, depth_max_{depth_max} {}

  result<double> run() {
    if (kind() == 0)
      return calculator_fault("the expression is empty", 1);
    const auto value = sum();
    if (kind() == '=') // "2+3=" asks the same
      ++at_;
    if (kind() != 0 && at_ > 0 && tokens_[at_ - 1].kind == '=')
      fail("something follows the `=`");
    if (!fault_ && kind() != 0)
      fail(kind() == 'n' ? "an operator is missing before a number" : "something is out of place");
    if (fault_)
      return *std::move(fault_);
    return value == 0 ? 0.0 : value; // no negative zero
  }

private:
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
      return fail("the result is no real number", position);
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
    while (kind() == '*' || kind() == '/' || kind() == '(' || kind() == '[' || follows_bracket()) {
      const auto op = tokens_[at_];
      if (op.kind == '*' || op.kind == '/')
        ++at_;
      const auto right = signed_power();
      if (op.kind == '/' && right == 0 && !fault_)
        return fail("division by zero", op.position);
      value = checked(op.kind == '/' ? value / right : value * right, op.position);
    }
    return value;
  }

  /// `(1+2)3` is a product, `2 3` is a slip.
  [[nodiscard]] bool follows_bracket() const {
    return kind() == 'n' && at_ > 0 &&
           (tokens_[at_ - 1].kind == ')' || tokens_[at_ - 1].kind == ']');
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
    if (take('n'))
      return token.number;
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
                "Arithmetic with + - * / ^ ( ) and %, for example 1,250 * (3 + 4.5) or 20% * 50"}};
};
BOOST_DESCRIBE_STRUCT(calculator_arguments, (), (expression))

} // namespace

result<double> calculate(std::string_view expression, calculator_options options) {
  if (expression.size() > options.length_max)
    return error{errc::too_large, "the expression has " + std::to_string(expression.size()) +
                                      " bytes; at most " + std::to_string(options.length_max) +
                                      " are taken"};
  const auto tokens = detail::tokens_of(expression);
  if (!tokens)
    return tokens.error();
  return evaluator{*tokens, options.depth_max}.run();
}

std::string number_text(double value) {
  auto buffer = std::array<char, 64>{};
  const auto size = std::abs(value);
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
