// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// What a server says about a failure: `{"error": {"message", "code" or "type"}}`, or any other
/// text.
struct server_fault {
  std::string code;
  std::string text; ///< at most 500 bytes
};
[[nodiscard]] server_fault read_fault(std::string_view body);

/// The message of a chat completion, with usage, model name and finish reason.
/// Error model_errc::bad_answer: no JSON, no choices, or a message with neither text nor calls.
[[nodiscard]] result<message> read_answer(std::string_view body);

/// Puts a streamed chat completion together: the same message as the whole answer gives.
class answer_builder {
public:
  explicit answer_builder(std::size_t calls_max = 1'000);
  answer_builder(const answer_builder&) = delete;
  answer_builder& operator=(const answer_builder&) = delete;
  ~answer_builder();

  /// The data of one event: a chunk, or `[DONE]`.
  [[nodiscard]] result<void> add(std::string_view data);
  /// Whether the stream said that it is whole: `[DONE]`, or a finish reason.
  [[nodiscard]] bool is_whole() const noexcept;
  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  [[nodiscard]] result<message> finish();

private:
  struct parser;
  struct call {
    std::string id;
    std::string name;
    std::string arguments;
  };
  std::unique_ptr<parser> parser_;
  std::size_t calls_max_;
  bool is_done_ = false;
  bool has_content_ = false;
  std::string content_;
  std::string refusal_;
  std::string finish_reason_;
  std::string model_;
  std::vector<call> calls_;
  json::value usage_;
};

} // namespace superstep::models
