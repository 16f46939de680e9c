// SPDX-License-Identifier: Apache-2.0
// What is read of JSON that goes on is JSON; text that is whole says what it says.
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
  // Every value but a scalar is still there when the text breaks off before its end.
  if (read->is_structured() && !text.empty())
    (void)parse_partial_json(text.substr(0, text.size() / 2));
  return 0;
}
