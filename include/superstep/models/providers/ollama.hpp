// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

#include <cstddef>
#include <string>

/// Ollama's chat.
namespace superstep::ollama {

/// `POST /api/chat`, streamed. Parameters become `options`, but for `format`, `keep_alive`,
/// `logprobs`, `top_logprobs` and `reasoning`, which is sent as `think`. Images are split out of
/// content and must be base64.
/// Reasoning and calls of other providers' blocks are left out of content.
[[nodiscard]] result<provider_request> make_request(provider_question);

/// Adds to a request what Ollama 0.17's API takes beyond it: the ids of calls, and in results the
/// `tool_name` and `tool_call_id` of their call, without which parallel results differ by
/// their order only.
void add_call_ids(provider_request& request, const message_list& messages);

/// Reads the lines of one answer in their order.
class line_reader {
public:
  /// Whether the model's thinking is kept, as additional_kwargs.reasoning_content.
  explicit line_reader(bool with_reasoning = false) noexcept : with_reasoning_{with_reasoning} {}

  [[nodiscard]] chunk_result read(const json::object& line);

private:
  [[nodiscard]] std::string next_id(const json::object& line);

  bool with_reasoning_;
  std::size_t calls_ = 0; ///< so far without an id of the server's
};

} // namespace superstep::ollama
