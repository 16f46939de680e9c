// SPDX-License-Identifier: Apache-2.0
// Fuzz target for the input lines of a batch: an accepted row has a key, and lines do not affect
// one another.
#include "batch/input_row.hpp"
#include "fuzz_input.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  auto text = fuzz::text_of(data, size);
  auto parser = row_parser{};
  for (auto number = std::uint64_t{1}; !text.empty(); ++number) {
    const auto line = text.substr(0, text.find('\n'));
    if (const auto row = parser.parse(line, number)) {
      fuzz::must(!row->request.key.empty() && row->request.key.size() <= row_key_bytes_max);
      fuzz::must(parser.shape() == row->shape);
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return 0;
}
