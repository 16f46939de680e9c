// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a stream of server-sent events gives the same events however its bytes are split.
// The first byte selects the split.
#include "fuzz_input.hpp"
#include "models/sse_parser.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  if (size == 0)
    return 0;
  constexpr auto bytes_max = std::size_t{1} << 20;
  auto luck = std::minstd_rand{data[0] + 1U};
  auto text = fuzz::text_of(data + 1, size - 1);
  auto whole = std::vector<std::string>{};
  auto reader = models::sse_parser{bytes_max};
  fuzz::must(reader.feed(text, whole).has_value());
  auto pieces = std::vector<std::string>{};
  auto piecewise = models::sse_parser{bytes_max};
  while (!text.empty()) {
    const auto n = std::min(text.size(), std::size_t{1} + luck() % 7);
    fuzz::must(piecewise.feed(text.substr(0, n), pieces).has_value());
    text.remove_prefix(n);
  }
  fuzz::must(pieces == whole);
  return 0;
}
