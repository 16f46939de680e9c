// SPDX-License-Identifier: Apache-2.0
// Counts tool calls before they are parsed, so that an answer with too many calls is rejected
// early.
#include "models/http/call_count.hpp"

#include "models/providers/json_parts.hpp"

#include <simdjson.h>

#include <new>

namespace superstep::models {

namespace {

using namespace providers;
namespace ondemand = simdjson::ondemand;

/// Shorter texts are not searched: parsing them takes only a few milliseconds.
constexpr auto long_text = std::size_t{256} * 1024;

/// Finds the list of tool calls, or the list of content blocks that may contain calls.
simdjson::error_code find_calls(provider_api api, ondemand::document& in, ondemand::array& out) {
  auto holder = ondemand::object{};
  switch (api) {
  case provider_api::openai_chat: {
    auto choice = ondemand::object{};
    if (const auto failed = in["choices"].at(0).get(choice))
      return failed;
    if (choice["message"].get(holder))
      if (const auto failed = choice["delta"].get(holder))
        return failed;
    return holder["tool_calls"].get(out);
  }
  case provider_api::openai_responses:
    return in["output"].get(out);
  case provider_api::anthropic:
    return in["content"].get(out);
  case provider_api::ollama:
    break;
  }
  if (const auto failed = in["message"].get(holder))
    return failed;
  return holder["tool_calls"].get(out);
}

/// Whether the text has more than `most` opening braces.
bool has_more_objects(std::string_view text, std::size_t most) {
  auto at = text.find('{');
  for (auto count = std::size_t{0}; at != std::string_view::npos; at = text.find('{', at + 1))
    if (++count > most)
      return true;
  return false;
}

} // namespace

std::size_t count_calls(provider_api api, const json::object& answer) {
  const auto size_of = [](const json::array* list) { return list ? list->size() : std::size_t{0}; };
  switch (api) {
  case provider_api::openai_chat: {
    const auto* choices = array_in(answer, "choices");
    const auto* choice = choices && !choices->empty() ? choices->front().if_object() : nullptr;
    const auto* said = choice ? object_in(*choice, "message") : nullptr;
    if (choice && !said)
      said = object_in(*choice, "delta");
    return said ? size_of(array_in(*said, "tool_calls")) : 0;
  }
  case provider_api::openai_responses:
    return size_of(array_in(answer, "output"));
  case provider_api::anthropic:
    return size_of(array_in(answer, "content"));
  case provider_api::ollama:
    break;
  }
  const auto* said = object_in(answer, "message");
  return said ? size_of(array_in(*said, "tool_calls")) : 0;
}

bool has_more_calls(provider_api api, std::string_view text, std::size_t calls_max,
                    std::size_t spare) {
  if (text.size() < long_text)
    return false;
  // Each call is an object, so a text with few braces cannot have many calls.
  if (!has_more_objects(text, calls_max))
    return false;
  auto copy = simdjson::padded_string{};
  auto padded = simdjson::padded_string_view{text.data(), text.size(), text.size() + spare};
  if (spare < simdjson::SIMDJSON_PADDING) {
    copy = simdjson::padded_string{text};
    padded = copy;
  }
  auto parser = ondemand::parser{};
  auto document = ondemand::document{};
  auto calls = ondemand::array{};
  const auto failed = parser.iterate(padded).get(document);
  if (failed == simdjson::MEMALLOC)
    throw std::bad_alloc{};
  if (failed || find_calls(api, document, calls))
    return false;
  auto count = std::size_t{0};
  for (auto call : calls) {
    if (call.error())
      return false;
    if (++count > calls_max)
      return true;
  }
  return false;
}

} // namespace superstep::models
