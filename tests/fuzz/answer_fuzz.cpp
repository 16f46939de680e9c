// SPDX-License-Identifier: Apache-2.0
// The answers of a chat-completions server, whole and as the chunks of a stream, a line each.
#include "fuzz_input.hpp"
#include "models/answer_reader.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  auto text = fuzz::text_of(data, size);
  if (const auto whole = models::read_answer(text))
    fuzz::must(whole->type == message_type::ai);
  fuzz::must(models::read_fault(text).text.size() <= 500);
  auto builder = models::answer_builder{};
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    if (!builder.add(line))
      return 0;
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  if (const auto message = builder.finish())
    fuzz::must(message->type == message_type::ai);
  return 0;
}
