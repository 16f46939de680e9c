// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <cstddef>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// One sign, number or function of an expression. `kind` is 'n' for a number, 'c' for a constant,
/// 'f' for a function, 'd' for floor division, 'm' for `mod`, 0 for the end, and otherwise the
/// ASCII form of the sign: + - * / ^ % ( ) [ ] , =
struct calculator_token {
  char kind = 0;
  double number = 0;
  std::size_t position = 0; ///< in characters, counted from 1
  std::string_view name{};  ///< name of a function
};

/// Splits an expression into tokens. Ignores blanks and currency signs. The last token marks the
/// end.
[[nodiscard]] result<std::vector<calculator_token>> tokens_of(std::string_view expression);

/// Returns an error text with the position, in characters counted from 1.
[[nodiscard]] error calculator_fault(std::string_view what, std::size_t position);

} // namespace superstep::detail
