// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/http/faults.hpp"
#include "models/http/wire_request.hpp"
#include "models/providers/line_parser.hpp"
#include "models/providers/provider_format.hpp"
#include "models/sse_parser.hpp"

#include <superstep/models/provider_model.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// Returns the message of a complete answer. Errors: errc::parse_failed if the body is not JSON,
/// the error that the server reports, or model_errc::bad_answer. judge_answer() classifies them.
/// @param calls_max maximum number of tool calls; an answer with more is an error; 0 means no limit
/// @param spare number of readable bytes after the body; enough of them avoid a copy
[[nodiscard]] result<message> read_answer(provider_api api, std::string_view body,
                                          std::size_t calls_max = 0, std::size_t spare = 0);

/// Combines the events of a streamed answer into a message. The bytes may be split anywhere.
class answer_stream {
public:
  /// Limits of one answer. Adding a piece takes time proportional to the number of parts, so
  /// answers with too many parts are errors.
  struct bounds {
    std::size_t event_bytes_max = 16 * 1024 * 1024;
    std::size_t parts_max = 1'000; ///< content blocks
    std::size_t calls_max = 1'000; ///< tool calls; 0 = no limit
  };

  /// @param secrets texts to mask in errors, because servers may repeat them
  answer_stream(provider_api api, const wire_request& asked, output_version version,
                chunk_handler on_chunk, bounds limits, std::vector<std::string> secrets = {});

  /// Adds bytes. Returns a fault if the stream is invalid, exceeds a limit or reports an error.
  /// After that, only has_told() may be called.
  [[nodiscard]] std::optional<fault> feed(std::string_view bytes);
  /// Called at the end of the stream. Reads a last event without a line end, and returns a fault if
  /// that event is invalid.
  [[nodiscard]] std::optional<fault> end();
  /// Whether the server marked the answer as complete.
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
  /// Whether the last event of the stream was read, such as [DONE]. Later events are ignored,
  /// because some servers do not end the body.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Returns the approximate number of bytes that this object keeps: all received bytes except the
  /// JSON around the text of each event.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  /// Whether a piece was passed to the caller.
  [[nodiscard]] bool has_told() const noexcept { return has_told_; }
  /// Returns the combined message.
  /// @pre is_whole()
  [[nodiscard]] result<message> finish();

private:
  using event_reader = std::function<chunk_result(const json::object&)>;
  [[nodiscard]] static event_reader make_reader(provider_api api, const wire_request& asked);

  [[nodiscard]] std::optional<fault> read_events();
  [[nodiscard]] std::optional<fault> read_event(std::string_view text);
  [[nodiscard]] std::optional<fault> read_event(const json::object& event, const std::string& loss);
  [[nodiscard]] std::optional<fault> add(message_chunk piece);
  [[nodiscard]] result<> tell(message_chunk piece);
  void look_for_end(const message_chunk& piece);
  void end_stream();
  /// Whether the start of the message was read. Always true for OpenAI, where it is not checked.
  [[nodiscard]] bool is_begun() const noexcept;

  provider_api api_;
  output_version version_;
  chunk_handler on_chunk_;
  bounds limits_;
  std::vector<std::string> secrets_;
  event_reader read_;
  sse_parser events_;
  providers::line_parser lines_;
  std::vector<std::string> pending_; ///< complete events that were not read yet
  std::optional<message_chunk> sum_;
  bool has_sorted_calls_ = false; ///< see append_chunk()
  chunk_standardizer standardizer_;
  std::size_t held_bytes_ = 0;
  bool is_whole_ = false;
  bool has_ended_ = false;
  /// A message_start (Anthropic) or a line with a message (Ollama) was read.
  bool has_opened_ = false;
  bool ends_in_call_ = false; ///< whether the last piece with content belongs to a tool call
  bool has_told_ = false;
  bool has_told_last_ = false;
};

} // namespace superstep::models
