// SPDX-License-Identifier: Apache-2.0
// Fuzz target: JSON lines are read as the events of a stream, and each line as a complete answer,
// of every provider. They are accepted or rejected, and accepted events add up to a message. The
// first byte selects how the lines are split.
#include "fuzz_input.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/line_parser.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_responses.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace superstep;

constexpr auto bytes_max = std::size_t{1} << 20;

void look_at(const message& m) {
  (void)content_blocks(m);
  fuzz::must(message_from_json(to_json(m)).has_value());
}

template <class Read>
void stream(const std::vector<json::object>& events, const Read& read) {
  auto sum = std::optional<message_chunk>{};
  for (const auto& event : events) {
    auto chunk = read(event);
    if (!chunk)
      break;
    if (!*chunk)
      continue;
    if (!sum)
      sum = **std::move(chunk);
    else if (!append(*sum, **std::move(chunk)))
      return; // a reader must not be used after an error
    (void)content_blocks(*sum);
  }
  if (!sum)
    return;
  fuzz::must(chunk_from_json(to_json(*sum)).has_value());
  look_at(to_message(*std::move(sum)));
}

std::vector<std::string> lines_of(std::string_view text, std::uint32_t seed) {
  auto whole = std::vector<std::string>{};
  auto parser = providers::line_parser{bytes_max};
  fuzz::must(parser.feed(text, whole).has_value());
  auto luck = std::minstd_rand{seed};
  auto pieces = std::vector<std::string>{};
  auto piecewise = providers::line_parser{bytes_max};
  while (!text.empty()) {
    const auto n = std::min(text.size(), std::size_t{1} + luck() % 7);
    fuzz::must(piecewise.feed(text.substr(0, n), pieces).has_value());
    text.remove_prefix(n);
  }
  fuzz::must(pieces == whole && piecewise.finish() == parser.finish());
  return whole;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  auto events = std::vector<json::object>{};
  for (const auto& line : lines_of(fuzz::text_of(data + 1, size - 1), data[0] + 1U))
    if (const auto event = parse_json(line); event && event->is_object())
      events.push_back(event->get_object());
  for (const auto& event : events) {
    for (const auto read :
         {openai_chat::read_response, openai_responses::read_response, anthropic::read_response})
      if (const auto m = read(event))
        look_at(*m);
  }
  stream(events, openai_chat::read_event);
  auto of_responses = openai_responses::event_reader{};
  stream(events, [&](const json::object& e) { return of_responses.read(e); });
  auto of_anthropic = anthropic::event_reader{data[0] % 2 == 0};
  stream(events, [&](const json::object& e) { return of_anthropic.read(e); });
  auto of_ollama = ollama::line_reader{true};
  stream(events, [&](const json::object& e) { return of_ollama.read(e); });
  return 0;
}
