// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Limits of one expression.
struct calculator_options {
  std::size_t length_max = 2'000; ///< bytes of the expression
  std::size_t depth_max = 100;    ///< nested parentheses and powers
};

/// Evaluates an arithmetic expression as people and models type it.
///
/// Supports + - * / ^ (also x × · ÷ − and **), signs, ( ) and [ ], decimals with a leading or
/// trailing dot, exponents (1e6), `50%` for 0.5, `//` (floor division), `mod`, sqrt, abs, min, max,
/// round (halves away from zero), floor, ceil, log (base 10), ln, exp, sin, cos and tan (radians),
/// pi and e. Thousands separators and currency signs are dropped. `2(3+4)` is 2*(3+4), and one =
/// at the end is ignored.
///
/// @return the value, or an error that describes the problem and its position in characters
[[nodiscard]] result<double> calculate(std::string_view expression, calculator_options = {});

/// Formats a number as the shortest decimal that parses to the same value, without exponent from
/// 1e-7 to 1e21, and without `.0`.
[[nodiscard]] std::string number_text(double);

/// Makes the tool `calculator` with the argument `expression`; its result is number_text() of
/// calculate().
[[nodiscard]] tool_ptr make_calculator(calculator_options options = {});

} // namespace superstep
