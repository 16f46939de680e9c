// SPDX-License-Identifier: Apache-2.0
// Fuzz target for the parser of the qwen3_coder protocol; see protocol_fuzz.hpp.
#include "protocol_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  superstep::fuzz::read_protocol("qwen3_coder", superstep::fuzz::text_of(data, size));
  return 0;
}
