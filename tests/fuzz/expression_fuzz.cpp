// SPDX-License-Identifier: Apache-2.0
// Fuzz target: any input of the calculator gives an error, or a number that the calculator accepts
// as input.
#include "fuzz_input.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <cmath>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto value = calculate(fuzz::text_of(data, size));
  if (!value)
    return 0;
  fuzz::must(std::isfinite(*value));
  const auto again = calculate(number_text(*value));
  fuzz::must(again.has_value() && *again == *value);
  return 0;
}
