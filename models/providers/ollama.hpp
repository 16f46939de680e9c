// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

#include <cstddef>
#include <string>

/// Ollama's chat API: https://github.com/ollama/ollama/blob/main/docs/api.md
namespace superstep::ollama {

/// Builds the body for `POST /api/chat`, with streaming. Parameters become members of `options`
/// (`max_tokens` as `num_predict`), except `format`, `keep_alive`, `logprobs` and `top_logprobs`,
/// which stay top-level, and `reasoning`, which becomes `think`. Images are moved from the content
/// to `images`. Reasoning and tool blocks of other providers are omitted.
///
/// @return model_errc::bad_request for images that are not base64 data, and for types of messages
/// that the API does not support
[[nodiscard]] result<provider_request> make_request(provider_question);

/// Adds the ids that Ollama 0.17 and later accept: the ids of tool calls, and `tool_name` and
/// `tool_call_id` of tool messages. Without ids, the server matches results to parallel calls by
/// their order alone.
///
/// @param messages the messages from which `request` was built
void add_call_ids(provider_request& request, const message_list& messages);

/// Converts the lines of one answer to message chunks. Lines must be read in order.
class line_reader {
public:
  /// @param with_reasoning whether to keep the model's thinking in
  /// additional_kwargs.reasoning_content
  explicit line_reader(bool with_reasoning = false) noexcept : with_reasoning_{with_reasoning} {}

  /// Reads one line. Returns nullopt for a line that only reports that the model was loaded.
  [[nodiscard]] chunk_result read(const json::object& line);

private:
  [[nodiscard]] std::string next_id(const json::object& line);

  bool with_reasoning_;
  std::size_t calls_ = 0; ///< number of calls so far without an id from the server
};

} // namespace superstep::ollama
