// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/base/error.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/tools/detail/argument_schema.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

// Structured responses of agents: requests them from the model, reads them from its answers, and
// asks again after an invalid answer.
namespace superstep::react {

/// The exception for a structured response that is still invalid after all retries.
class invalid_response : public model_error {
public:
  /// @param text the text of the last answer, which is not part of the state
  invalid_response(const error& why, std::string text);
  /// Returns the text of the last answer. Valid during the lifetime of the exception.
  [[nodiscard]] const std::string& answer() const noexcept { return *text_; }

private:
  std::shared_ptr<const std::string> text_; ///< shared, because copying must not throw
};

/// Requests the structured response of an agent in model calls, and reads it from the answers.
/// Immutable; shared by all runs of the agent.
class response_reader {
public:
  /// Throws compile_error if the schema is invalid, or if it must be strict and cannot be.
  /// @param is_separate whether the response is requested in a call of its own, which offers no
  /// tools; see is_response()
  /// @param continues_invalid whether the agent answers invalid tool calls and calls the model
  /// again
  response_reader(response_format format, bool is_separate, bool continues_invalid);

  /// Adds the request for the response to a call.
  void prepare(model_call& call) const;
  /// Whether an answer contains a response, and not calls of the agent's tools. The answer of a
  /// separate call always does, so calls in it are invalid.
  [[nodiscard]] bool is_response(const message& answer) const noexcept;
  /// Returns the response in an answer. The response of structured_method::tool_call becomes the
  /// text of the answer, and its call is removed.
  /// @return an error for an answer that was cut, is not JSON or does not match the schema
  [[nodiscard]] result<json::value> read(message& answer) const;
  /// Returns the text of an invalid answer: its text, or the arguments of its call.
  [[nodiscard]] std::string text_of_answer(const message& answer) const;
  /// Adds an invalid answer and its error to a call, which is then made again.
  void add_fault(model_call& call, const message& answer, const error& why) const;
  /// See response_format::prompt.
  [[nodiscard]] const std::string& prompt() const noexcept { return format_.prompt; }
  /// See response_format::retries.
  [[nodiscard]] std::uint32_t retries() const noexcept { return format_.retries; }

private:
  [[nodiscard]] result<json::value> parse(const message& answer) const;

  response_format format_;
  bool is_separate_;
  bool continues_invalid_;
  std::shared_ptr<const answer_schema> schema_;
  argument_schema checks_;
  tool_definitions tool_; ///< the tool of structured_method::tool_call; otherwise null
  bool is_tool_strict_ = false;
};

using response_reader_ptr = std::shared_ptr<const response_reader>;

/// The result of ask_for_response().
struct response_answer {
  message answer;            ///< the last answer
  json::value value;         ///< the structured response; null if the answer calls tools
  bool has_value = false;    ///< whether `value` is set
  std::uint32_t answers = 0; ///< number of answers, including the invalid ones
  token_usage usage;         ///< sum over all answers
};

/// Makes a model call whose answer contains a structured response, and repeats it after an invalid
/// answer. The task throws the model's error, or invalid_response after the last attempt.
/// @param call prepared by response_reader::prepare()
/// @param asked is notified of invalid answers; may be null
[[nodiscard]] task<response_answer> ask_for_response(response_reader_ptr reader, model_call call,
                                                     model_ask ask,
                                                     std::shared_ptr<const agent_context> asked);

} // namespace superstep::react
