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

/// The message of an answer that came whole. An answer with more than `calls_max` tool calls is an
/// error; 0 = no limit. Errors: errc::parse_failed for what is not JSON, the error that the server
/// reports, model_errc::bad_answer for anything else; see judge_answer().
/// @param spare readable bytes behind the body: they save a copy of a large one
[[nodiscard]] result<message> read_answer(provider_api api, std::string_view body,
                                          std::size_t calls_max = 0, std::size_t spare = 0);

/// Puts together an answer that is streamed, from bytes in pieces of any size.
class answer_stream {
public:
  /// What one answer may hold. More is no answer: adding pieces costs a look at each of these.
  struct bounds {
    std::size_t event_bytes_max = 16 * 1024 * 1024;
    std::size_t parts_max = 1'000; ///< blocks
    std::size_t calls_max = 1'000; ///< tool calls; 0 = no limit
  };

  /// `secrets` are kept out of errors, should the server repeat them.
  answer_stream(provider_api api, const wire_request& asked, output_version version,
                chunk_handler on_chunk, bounds limits,
                std::vector<std::string> secrets = {});

  /// What is wrong with the stream, when something is; nothing more may be fed then.
  [[nodiscard]] std::optional<fault> feed(std::string_view bytes);
  /// The stream has ended.
  [[nodiscard]] std::optional<fault> end();
  /// Whether the answer said that it is whole.
  [[nodiscard]] bool is_whole() const noexcept { return is_whole_; }
  /// About how many bytes of the answer are kept so far: what has come, without the frame around
  /// each event.
  [[nodiscard]] std::size_t held_bytes() const noexcept { return held_bytes_; }
  /// Whether somebody has been told of a piece.
  [[nodiscard]] bool has_told() const noexcept { return has_told_; }
  /// @pre is_whole()
  [[nodiscard]] result<message> finish();

private:
  using event_reader = std::function<chunk_result(const json::object&)>;
  [[nodiscard]] static event_reader make_reader(provider_api api, const wire_request& asked);

  [[nodiscard]] std::optional<fault> read_events();
  [[nodiscard]] std::optional<fault> read_event(std::string_view text);
  [[nodiscard]] std::optional<fault> read_event(const json::object& event,
                                                const std::string& loss);
  [[nodiscard]] std::optional<fault> add(message_chunk piece);
  [[nodiscard]] result<> tell(message_chunk piece);
  void look_for_end(const message_chunk& piece);
  /// Whether an event was one of the provider's that opens an answer.
  [[nodiscard]] bool is_begun() const noexcept;

  provider_api api_;
  output_version version_;
  chunk_handler on_chunk_;
  bounds limits_;
  std::vector<std::string> secrets_;
  event_reader read_;
  sse_parser events_;
  providers::line_parser lines_;
  std::vector<std::string> pending_; ///< events that are whole and not read yet
  std::optional<message_chunk> sum_;
  chunk_standardizer standardizer_;
  std::size_t held_bytes_ = 0;
  bool is_whole_ = false;
  bool has_opened_ = false;   ///< Anthropic: message_start came; Ollama: a line with a message
  bool ends_in_call_ = false; ///< the latest piece with content was one of a call
  bool has_told_ = false;
  bool has_told_last_ = false;
};

} // namespace superstep::models
