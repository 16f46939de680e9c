// SPDX-License-Identifier: Apache-2.0
// Fuzz target for the parser of the hermes protocol; see protocol_fuzz.hpp.
#include "protocol_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  superstep::fuzz::read_protocol("hermes", superstep::fuzz::text_of(data, size));
  return 0;
}
