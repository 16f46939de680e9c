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

/// The supported wire formats; see models/providers.
enum class provider_api : std::uint8_t { openai_chat, openai_responses, anthropic, ollama };

/// Describes a failed attempt that will be followed by another.
struct model_attempt {
  std::uint32_t number = 1; ///< from 1
  std::uint32_t attempts_max = 1;
  std::string why; ///< the error of the attempt
};

/// Options of make_provider_model().
struct provider_model_options {
  provider_api api = provider_api::openai_chat;
  std::string model; ///< the model's name on the server; required
  /// Base address of the API, without the path of the endpoint; empty: the provider's own. A query
  /// (`?api-version=…`) is kept behind the path and never appears in errors.
  std::string base_url;
  /// Environment variable that contains the API key; read once, when the model is created. Unset:
  /// the provider's (OPENAI_API_KEY, ANTHROPIC_API_KEY; none for Ollama). Empty: no key is sent.
  std::optional<std::string> api_key_env;
  /// temperature, max_tokens, stop, …, converted to the provider's form. The members of
  /// `model_kwargs` are sent unchanged.
  json::object parameters;
  /// Additional HTTP headers; they replace the API's own of the same name. Values of 16 characters
  /// or more are masked in errors.
  http_headers headers;
  /// Headers whose values come from the environment: header name and variable name.
  http_headers headers_env;
  /// Chat completions only: the request member for `max_tokens`. Unset: max_completion_tokens for
  /// OpenAI's and Azure's servers, max_tokens for others.
  std::optional<std::string> max_tokens_field;
  /// Chat completions only: the request member that returns the reasoning of earlier answers to the
  /// server, e.g. `reasoning_content`; empty: it is not sent.
  std::string reasoning_field;
  bool stream = false; ///< request a stream even without on_chunk; Ollama always streams
  std::optional<superstep::output_version> version; ///< unset: default_output_version()

  std::uint32_t attempts_max = 8;        ///< per call; a 429 does not count
  std::uint32_t rate_limited_max = 100;  ///< 429 responses per call before it fails
  std::uint32_t backoff_base_ms = 500;   ///< upper bound of the first wait between attempts
  std::uint32_t backoff_max_ms = 60'000; ///< limit of that bound, which doubles with each attempt
  std::uint32_t retry_after_max_ms = 600'000; ///< limit of the wait that a server may request

  std::uint32_t connect_timeout_ms = 10'000;
  std::uint32_t idle_timeout_ms = 120'000;  ///< maximum silence of the server, thinking included
  std::uint32_t total_timeout_ms = 600'000; ///< per attempt
  /// Size limit of one answer.
  std::size_t answer_bytes_max = 16 * 1024 * 1024;
  std::size_t tool_calls_max = 1'000; ///< per answer, streamed or not; 0: no limit
  std::string ca_file; ///< PEM file of trusted root certificates; empty: the system's

  /// Called before each wait for another attempt, on the thread of the call. May be empty.
  std::function<void(const model_attempt&)> on_retry{};

  /// The clock for dates in HTTP headers; must outlive the model.
  const superstep::clock* time = &system_clock();
};

/// Returns the API key and the header values that such a model sends, as far as the environment
/// contains them. Logs and recordings must mask them.
[[nodiscard]] std::vector<std::string> secrets_of(const provider_model_options&);

/// Returns warnings about unsafe options: a key or header that is sent over plain HTTP to another
/// host.
[[nodiscard]] std::vector<std::string> warnings_of(const provider_model_options&);

/// Creates a model that calls an HTTP API: OpenAI chat completions (or a compatible server), OpenAI
/// Responses, Anthropic or Ollama.
///
/// Retried, with exponential backoff and full jitter seeded by run key, turn and attempt: HTTP 5xx,
/// 408 and 409, broken connections, incomplete answers and timeouts. HTTP 429 is retried up to
/// `rate_limited_max` times, not before the time that the server names; model_limits::overloaded()
/// describes when it delays other calls too. An answer that is not JSON is retried like a 5xx. Any
/// other unusable answer is retried once. After a piece was streamed, nothing is retried. Other 4xx
/// are final, and so is a 429 that reports an exhausted quota.
///
/// Content that a provider does not support (a modality, a role) is an error before anything is
/// sent. Errors and the fingerprint never contain the key. model_request::parameters override the
/// options' parameters; names that belong to the conversation (`messages`, `tools`, `stream`, `n`,
/// …) are rejected.
///
/// @param io runs the connections; must outlive the model
/// @param limits shared by all models of one provider and key; must not be null
/// @return model_errc::bad_configuration if an option is invalid or the environment lacks the key
/// Source: https://platform.openai.com/docs/api-reference,
/// https://docs.anthropic.com/en/api/messages and
/// https://github.com/ollama/ollama/blob/main/docs/api.md; retries as in the openai and anthropic
/// Python SDKs.
[[nodiscard]] result<chat_model_ptr> make_provider_model(provider_model_options options,
                                                         io_runtime& io,
                                                         std::shared_ptr<model_limits> limits);

} // namespace superstep
