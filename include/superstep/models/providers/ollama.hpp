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
[[nodiscard]] result<provider_request> make_request(provider_question);

/// Reads the lines of one answer in their order.
class line_reader {
public:
  /// Whether the model's thinking is kept, as additional_kwargs.reasoning_content.
  explicit line_reader(bool with_reasoning = false) noexcept : with_reasoning_{with_reasoning} {}

  [[nodiscard]] chunk_result read(const json::object& line);

private:
  [[nodiscard]] std::string next_id(const json::object& line);

  bool with_reasoning_;
  std::size_t calls_ = 0; ///< so far; Ollama gives calls no ids
};

} // namespace superstep::ollama
