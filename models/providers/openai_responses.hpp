// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses
namespace superstep::openai_responses {

/// Builds the body for `POST /v1/responses`. Messages, tool calls and results become items of
/// `input`. Reasoning in earlier answers is sent unchanged. `max_tokens` is sent as
/// max_output_tokens.
///
/// @return model_errc::bad_request for a block that the API does not support or an invalid
/// `tool_choice`
[[nodiscard]] result<provider_request> make_request(provider_question);

/// Reads a complete answer. Its items become blocks of one message. Returns model_errc::bad_answer
/// if the answer reports a failure or has no `output`.
[[nodiscard]] result<message> read_response(const json::object& answer);

/// Converts token counts. Details for the service tiers flex and priority get the tier as a prefix
/// of their names, because tokens of these tiers have other prices.
[[nodiscard]] token_usage read_usage(const json::object& usage, std::string_view tier_name);

/// Converts the events of one stream to message chunks. Events must be read in order. Each item,
/// and each part of an item, becomes a block with an index.
class event_reader {
public:
  /// Reads one event. Returns nullopt for an event without content.
  [[nodiscard]] chunk_result read(const json::object& event);

private:
  [[nodiscard]] std::optional<message_chunk> start_item(const json::object& event);
  [[nodiscard]] message_chunk start_message(const json::object& event, const json::object& item);
  [[nodiscard]] std::optional<message_chunk> end_call(const json::object& event,
                                                      const json::object& item);
  [[nodiscard]] std::optional<message_chunk> end_reasoning(const json::object& event,
                                                           const json::object& item);
  [[nodiscard]] std::optional<message_chunk> end_item(const json::object& event);
  [[nodiscard]] std::optional<message_chunk> add_text(const json::object& event);
  [[nodiscard]] std::optional<message_chunk> add_reasoning(const json::object& event);
  [[nodiscard]] message_chunk chunk_of_block(json::object block) const;
  std::int64_t place_of(const json::object& event);
  struct streamed_block {
    std::int64_t index = 0;
    bool has_text = false;  ///< whether its text, or that of its summary, was read
    bool has_phase = false; ///< whether the phase of its item was reported
  };
  /// Returns the block of the event's item and part, and makes it the current block. The events of
  /// several items may alternate. A new block gets the next index.
  streamed_block& move_to(const json::object& event, std::string_view part_key);
  [[nodiscard]] chunk_result end_of(const json::object& event) const;

  std::int64_t index_ = -1; ///< index of the current block
  std::int64_t item_ = -1;
  std::int64_t part_ = -1;
  std::map<std::int64_t, std::int64_t> parts_; ///< the latest part of each item
  std::map<std::pair<std::int64_t, std::int64_t>, streamed_block>
      blocks_;                                 ///< keyed by item and part
  std::map<std::int64_t, json::value> phases_; ///< keyed by output_index
  /// Output_index of each item, by the item's id.
  std::map<std::string, std::int64_t, std::less<>> places_;
  struct streamed_call {
    std::string arguments;
    bool is_announced = false; ///< whether name and id were reported
  };
  std::map<std::int64_t, streamed_call> calls_; ///< keyed by output_index
};

} // namespace superstep::openai_responses
