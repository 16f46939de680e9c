// SPDX-License-Identifier: Apache-2.0
// Interprets the reason why an answer ended. An answer that was cut may contain incomplete tool
// calls, which must not run. A refusal has no answer at all.
#include "models/providers/answer_end.hpp"

#include "base/ascii_text.hpp"
#include "base/utf8.hpp"
#include "models/providers/json_parts.hpp"

namespace superstep::providers {

namespace {

std::string_view reason_in(const json::object& metadata) {
  for (const auto* key : {"finish_reason", "stop_reason", "done_reason"})
    if (const auto reason = text_in(metadata, key); !reason.empty())
      return reason;
  // The Responses API has a status instead, and gives the reason in `incomplete_details`.
  const auto status = text_in(metadata, "status");
  const auto* details = object_in(metadata, "incomplete_details");
  const auto reason = details ? text_in(*details, "reason") : std::string_view{};
  return reason.empty() || status == "completed" ? status : reason;
}

} // namespace

bool is_normal_end(std::string_view reason) {
  const auto word = ascii_lower(reason);
  return is_one_of(word, {"stop", "end", "end_turn", "pause_turn", "stop_sequence", "eos",
                          "eos_token", "tool_calls", "tool_call", "tool_use", "function_call",
                          "complete", "completed"});
}

std::string why_cut(std::string_view reason) {
  if (reason.empty() || is_normal_end(reason))
    return {};
  constexpr auto reason_max = std::size_t{100};
  return "the answer was cut (" + shortened(reason, reason_max) + ')';
}

std::string why_cut(const json::object& metadata) {
  return why_cut(reason_in(metadata));
}

std::string refusal_of(const message& answer) {
  auto out = std::string{text_in(answer.additional_kwargs, "refusal")}; // chat completions
  if (answer.blocks)                                                    // Responses
    for (const auto& element : *answer.blocks) {
      const auto* block = element.if_object();
      if (const auto* inner = block ? object_in(*block, "value") : nullptr) // a standard block
        block = inner;
      if (block && type_of(*block) == "refusal")
        out += text_in(*block, "refusal");
    }
  return out;
}

std::string why_refused(const message& answer) {
  auto text = refusal_of(answer);
  if (text.empty() && reason_in(answer.response_metadata) != "refusal")
    return {};
  constexpr auto shown_max = std::size_t{200};
  if (text.empty())
    text = text_of(answer);
  return "the model refused to answer" + (text.empty() ? text : ": " + shortened(text, shown_max));
}

std::string why_cut_stream(const json::object& metadata) {
  const auto reason = reason_in(metadata);
  return reason.empty() ? "the stream ended without a finish reason" : why_cut(reason);
}

} // namespace superstep::providers
