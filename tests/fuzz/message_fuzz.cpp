// SPDX-License-Identifier: Apache-2.0
// Fuzz target: a conversation in any form is accepted or rejected. An accepted one can be written
// and read again. Its conversion to each provider's form succeeds or is rejected.
#include "fuzz_input.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_responses.hpp"

#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace superstep;
  const auto value = parse_json(fuzz::text_of(data, size));
  if (!value)
    return 0;
  const auto messages = messages_from_json(*value);
  if (!messages)
    return 0;
  for (const auto& m : *messages) {
    const auto again = message_from_json(to_json(m));
    fuzz::must(again.has_value() && *again == m);
    fuzz::must(message_from_dict(to_dict(m)).has_value());
    (void)content_blocks(m);
  }
  auto question = provider_question{"m", *messages, {}, {}, {}};
  (void)openai_chat::make_request(question);
  (void)openai_responses::make_request(question);
  (void)anthropic::make_request(question);
  (void)ollama::make_request(question);
  (void)to_openai_messages(*messages, text_format::string);
  (void)merge_message_runs(*messages);
  (void)buffer_string(*messages);
  (void)buffer_xml(*messages);
  auto options = trim_options{};
  options.tokens_max = 20;
  options.allow_partial = true;
  const auto kept = trim_messages(*messages, options);
  fuzz::must(kept.has_value() && count_tokens_approximately(*kept) <= options.tokens_max);
  return 0;
}
