// SPDX-License-Identifier: Apache-2.0
// Fuzz target: writing an accepted JSON text and parsing it again gives the same value.
#include "fuzz_input.hpp"

#include <superstep/base/json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto read = parse_json(fuzz::text_of(data, size));
  if (!read)
    return 0;
  const auto text = to_text(*read);
  const auto again = parse_json(text);
  fuzz::must(again.has_value());
  fuzz::must(to_text(*again) == text);
  fuzz::must(parse_json(to_canonical_text(*read)).has_value());
  return 0;
}
