// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_limits.hpp>
#include <superstep/models/output_version.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/net/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// The wire formats there are; see models/providers.
enum class provider_api : std::uint8_t { openai_chat, openai_responses, anthropic, ollama };

/// An attempt of a model call that failed and is followed by another.
struct model_attempt {
  std::uint32_t number = 1; ///< from 1
  std::uint32_t attempts_max = 1;
  std::string why;
};

struct provider_model_options {
  provider_api api = provider_api::openai_chat;
  std::string model;    ///< name the server knows it by; required
  /// Address before the path of the API; empty: the provider's own. A query stays behind the path
  /// (`?api-version=…`) and does not appear in errors.
  std::string base_url;
  /// Environment variable with the key, read once, when the model is made. Unset: the provider's
  /// (OPENAI_API_KEY, ANTHROPIC_API_KEY, none for Ollama). Empty: no key is sent.
  std::optional<std::string> api_key_env;
  /// temperature, max_tokens, stop, …: sent in the provider's form. `model_kwargs` holds more of
  /// the provider's own.
  json::object parameters;
  /// Sent with each request, after the headers of the API and instead of one of the same name.
  /// Values of 16 characters or more are kept out of errors.
  http_headers headers;
  /// More headers: their names, and the environment variables that hold their values.
  http_headers headers_env;
  /// Chat completions: name of the limit of an answer that is given as `max_tokens`. Unset:
  /// max_completion_tokens for OpenAI's own servers and Azure's, max_tokens for others.
  std::optional<std::string> max_tokens_field;
  /// Chat completions: member in which the reasoning of earlier answers goes back to the server,
  /// e.g. `reasoning_content`; empty: it does not.
  std::string reasoning_field;
  bool stream = false; ///< ask for a stream even when nobody listens; Ollama always streams
  std::optional<superstep::output_version> version; ///< unset: default_output_version()

  std::uint32_t attempts_max = 8;        ///< per call; a 429 does not count as one
  std::uint32_t rate_limited_max = 100;  ///< 429s per call before it is given up
  std::uint32_t backoff_base_ms = 500;   ///< first upper bound of the wait before another attempt
  std::uint32_t backoff_max_ms = 60'000; ///< last upper bound; doubled from one to the other
  std::uint32_t retry_after_max_ms = 600'000; ///< a server that asks for more gets this

  std::uint32_t connect_timeout_ms = 10'000;
  std::uint32_t idle_timeout_ms = 120'000;  ///< silence of the server, thinking included
  std::uint32_t total_timeout_ms = 600'000; ///< of one attempt
  std::size_t answer_bytes_max = 16 * 1024 * 1024;
  std::size_t tool_calls_max = 1'000; ///< in one answer, streamed or not; 0 = no limit
  std::string ca_file; ///< PEM with the trusted roots; empty: the system's

  /// Called before each wait for another attempt, on the thread of the call. Empty: not called.
  std::function<void(const model_attempt&)> on_retry{};

  const superstep::clock* time =
      &system_clock(); ///< to read dates of the server with; outlives the model
};

/// Returns the key and the values of headers that such a model sends, as far as the environment has
/// them: what logs and recordings should not hold.
[[nodiscard]] std::vector<std::string> secrets_of(const provider_model_options&);

/// Returns what is dangerous about the options: a key or header that goes over plain http to
/// another host than this one.
[[nodiscard]] std::vector<std::string> warnings_of(const provider_model_options&);

/// A model behind HTTP: OpenAI's chat completions (or any server that speaks like it), OpenAI's
/// Responses, Anthropic or Ollama.
///
/// Tried again, after an exponential back-off with full jitter (seeded from run key, turn and
/// attempt): 5xx, 408, 409, broken connections, half-sent answers, time-outs, and 429 for as long
/// as the server says so. Other 4xx are final, and so is a 429 that says the quota is used up.
/// A call is not made again before the time that a 429 names; see model_limits::overloaded() for
/// when all calls wait. What a provider cannot take (a modality, a role) is an error before
/// anything goes out. An answer that is not JSON is retried like a 5xx, an unusable one once, if no
/// piece was streamed. The key is not in errors nor in the fingerprint. model_request::parameters
/// go over the options' own; those that belong to the conversation (`messages`, `tools`, `stream`,
/// `n`, …) are refused.
///
/// `limits` is shared by all models of one provider and key; `io` outlives the model.
[[nodiscard]] result<chat_model_ptr> make_provider_model(provider_model_options options,
                                                         io_runtime& io,
                                                         std::shared_ptr<model_limits> limits);

} // namespace superstep
