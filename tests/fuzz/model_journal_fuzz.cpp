// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a line of a model's journal is rejected, or it can be written and read again.
#include "fuzz_input.hpp"
#include "models/journal_format.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto once = models::read_line(fuzz::text_of(data, size));
  if (!once)
    return 0;
  const auto line = models::to_line(*once);
  fuzz::must(line.find('\n') == line.npos);
  fuzz::must(models::read_line(line).has_value());
  return 0;
}
