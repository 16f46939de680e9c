// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/tools/tool.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

struct calculator_options {
  std::size_t length_max = 2'000; ///< bytes of one expression
  std::size_t depth_max = 100;    ///< parentheses and powers inside one another
};

/// The value of an arithmetic expression, as people and models type them: + - * / ^ (also x × · ÷ −
/// and **), signs, ( ) and [ ], decimals with a leading or trailing dot, exponents (1e6), `50%` for
/// 0.5, `//` (floor division) and `mod`, sqrt, abs, min, max, round (halves away from zero), floor,
/// ceil, log (base 10), ln, exp, sin, cos and tan (radians), pi and e, thousands separators and currency signs, which are dropped, `2(3+4)` for 2*(3+4), and one =
/// at the end. An error says what is wrong and at which character.
[[nodiscard]] result<double> calculate(std::string_view expression, calculator_options = {});

/// The shortest decimal that reads back as the same number; no exponent between 1e-7 and 1e21, and
/// no `.0`.
[[nodiscard]] std::string number_text(double);

/// `calculator`, with the argument `expression`.
[[nodiscard]] tool_ptr make_calculator(calculator_options options = {});

} // namespace superstep
