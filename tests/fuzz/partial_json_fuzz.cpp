// SPDX-License-Identifier: Apache-2.0
// Fuzz target: incomplete JSON is completed to valid JSON, and complete JSON gives its own value.
#include "fuzz_input.hpp"
#include "messages/partial_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto text = fuzz::text_of(data, size);
  const auto read = parse_partial_json(text);
  if (const auto whole = parse_json(text))
    fuzz::must(read.has_value() && *read == *whole);
  if (!read)
    return 0;
  const auto again = parse_json(to_text(*read));
  fuzz::must(again.has_value());
  // Every value except a scalar is still read when the text is cut before its end.
  if (read->is_structured() && !text.empty())
    (void)parse_partial_json(text.substr(0, text.size() / 2));
  return 0;
}
