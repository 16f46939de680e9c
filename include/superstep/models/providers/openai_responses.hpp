// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// OpenAI's Responses.
namespace superstep::openai_responses {

/// `POST /v1/responses`. Messages, calls and results become items of `input`; the reasoning of
/// earlier answers goes back as it came. `max_tokens` goes out as max_output_tokens.
[[nodiscard]] result<provider_request> make_request(provider_question);

/// The items of an answer as blocks of one message. An error when the answer says it failed.
[[nodiscard]] result<message> read_response(const json::object& answer);

[[nodiscard]] token_usage read_usage(const json::object& usage, std::string_view service_tier);

/// Reads the events of one stream in their order. Items and their parts become blocks with an
/// index.
class event_reader {
public:
  [[nodiscard]] chunk_result read(const json::object& event);

private:
  [[nodiscard]] std::optional<message_chunk> start_item(const json::object& event);
  [[nodiscard]] message_chunk start_message(const json::object& event, const json::object& item);
  [[nodiscard]] std::optional<message_chunk> end_call(const json::object& event,
                                                      const json::object& item);
  [[nodiscard]] std::optional<message_chunk> end_item(const json::object& event);
  [[nodiscard]] std::optional<message_chunk> add_text(const json::object& event);
  [[nodiscard]] std::optional<message_chunk> add_reasoning(const json::object& event);
  [[nodiscard]] message_chunk chunk_of_block(json::object block) const;
  std::int64_t place_of(const json::object& event);
  /// The index of the block that an event belongs to: the next one when its item or part is new.
  void move_to(const json::object& event, std::string_view part_key);

  std::int64_t index_ = -1;
  std::int64_t item_ = -1;
  std::int64_t part_ = -1;
  std::map<std::string, std::int64_t, std::less<>> places_; ///< of items, by their ids
  struct streamed_call {
    std::string arguments;
    bool is_announced = false; ///< its name and id were read
  };
  std::map<std::int64_t, streamed_call> calls_; ///< by the place of their item
};

} // namespace superstep::openai_responses
