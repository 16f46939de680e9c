// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/detail/byte_budget.hpp>
#include <superstep/base/detail/fair_line.hpp>
#include <superstep/base/detail/limiter.hpp>
#include <superstep/base/detail/rate_limiter.hpp>
#include <superstep/base/error.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/detail/call_activity.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/net/io_runtime.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// The form of an answer's content.
/// Source: `BaseChatModel.output_version` in langchain-core 1.7.2, language_models/chat_models.py.
enum class output_version : std::uint8_t {
  v0, ///< content in the form of the provider
  v1, ///< standard content blocks; see content_blocks() in message_json.hpp
};

/// Parses the name of an output_version, "v0" or "v1". May be called from any thread.
/// @return the version; model_errc::bad_configuration for another text
[[nodiscard]] result<output_version> read_output_version(std::string_view text);

/// Returns the version in the environment variable SUPERSTEP_OUTPUT_VERSION or, if that is not set,
/// LC_OUTPUT_VERSION; v0 if neither is set. An empty value counts as not set. Reads the
/// environment, so it is not safe while another thread calls setenv().
/// @return the version; model_errc::bad_configuration if the value is neither v0 nor v1
[[nodiscard]] result<output_version> default_output_version();

/// Converts the content of an answer to standard blocks and sets `response_metadata.output_version`
/// to "v1". An answer that is already standard is returned unchanged. May be called from any
/// thread.
/// @return the converted answer, or the error of content_blocks()
[[nodiscard]] result<message> standardized(message answer);

/// Converts the pieces of one stream, in order, to standard blocks. Each block gets an index, so
/// that append() adds the pieces block by block. Indexes of the provider are kept unless they
/// collide: a chat completion counts its tool calls from 0, but gives the text no index. Use one
/// object per stream. It is not synchronised.
class chunk_standardizer {
public:
  /// Converts the next piece of the stream.
  /// @return the converted piece, or the error of content_blocks()
  [[nodiscard]] result<message_chunk> standardize(message_chunk piece);

private:
  void number(json::object& block);
  std::int64_t free_index(std::int64_t wanted);

  std::string last_type_;
  std::int64_t index_ = -1;                    ///< index assigned to the last block that had none
  std::map<std::int64_t, std::int64_t> given_; ///< the provider's index → the assigned one
  std::set<std::int64_t> taken_;
  bool is_first_ = true;
};

namespace models {
class concurrency_control;
}

/// Options of model_limits: bounds on the use of one provider and key. Limits
/// that are not set do not apply.
struct model_limits_options {
  std::optional<std::size_t> model_calls = 256; ///< calls in flight; at least 1
  std::optional<std::int64_t> requests_per_minute{};
  std::optional<std::int64_t> tokens_per_minute{}; ///< input and output together
  /// Bytes of answers that are being received, beyond the first 64 KiB of each. When they are used
  /// up, further answers are not read from their connections until others are complete.
  std::optional<std::size_t> answer_bytes = 64 * 1024 * 1024;
  bool is_adaptive = true;         ///< reduces the calls in flight while the provider is overloaded
  std::size_t model_calls_min = 1; ///< lower bound of that reduction
  /// The length of the minute of the limits per minute; tests make it shorter.
  std::chrono::milliseconds window{60'000};
  /// Counts the calls that wait for these limits, and those that are repeated; null: not counted.
  std::shared_ptr<call_activity> activity{};
};

/// The limits that all calls to one provider and key share: calls in flight, requests and tokens
/// per minute, and a pause during which no request is sent.
///
/// The number of calls in flight adapts to the provider's capacity. Once calls are refused (HTTP
/// 429, 503, 529), it follows the measured number of calls that the provider accepts at once,
/// between `model_calls_min` and `model_calls`. Refusals that do not depend on the load do not
/// change it. Without a limit in the options, the number starts at the number of calls in flight at
/// the first refusal.
///
/// @par Threads
/// All members may be called by any thread.
/// @par Lifetime
/// Models share its ownership.
class model_limits {
public:
  /// A monotonic time, of std::chrono::steady_clock.
  using time_point = rate_limiter::time_point;

  /// Creates limits of which nothing is used yet.
  /// @throws std::invalid_argument for a limit below 1
  explicit model_limits(model_limits_options options);
  /// Creates limits that share the limits per minute with others. Those of the options are ignored.
  model_limits(model_limits_options options, rate_limiter shared);
  model_limits(const model_limits&) = delete;
  model_limits& operator=(const model_limits&) = delete;
  ~model_limits();

  /// The permission to send one request.
  struct admission {
    limiter::permit permit;   ///< counts the call as in flight
    time_point reserved_at{}; ///< for rate_limiter::settle()
    std::int64_t tokens = 0;  ///< the reserved tokens
  };
  /// Waits until a request may be sent. Requests are admitted by the start of their run, and a run
  /// with many requests at once does not delay the others; see fair_line.
  /// @param run identifies the run, for example model_request::run_key
  /// @param tokens estimated tokens of the request and its answer
  [[nodiscard]] task<admission> admit(std::string_view run, std::int64_t tokens) const;
  /// Waits like the other overload, for a request whose estimate improves while it waits.
  /// @param run identifies the run, for example model_request::run_key
  /// @param tokens called when the request is the first of the queue, and again after each
  /// settled or cancelled request; must be valid until the returned task has ended
  [[nodiscard]] task<admission> admit(std::string_view run, rate_limiter::estimator tokens) const;

  /// Limits the calls in flight.
  [[nodiscard]] const limiter& calls() const noexcept { return calls_; }
  /// Limits requests and tokens per minute.
  [[nodiscard]] const rate_limiter& rate() const noexcept { return rate_; }
  /// Limits the bytes of answers that are being received.
  [[nodiscard]] const byte_budget& answers() const noexcept { return answers_; }
  /// Counts calls that wait or are repeated; may be null. See model_limits_options.
  [[nodiscard]] const std::shared_ptr<call_activity>& activity() const noexcept {
    return options_.activity;
  }

  /// Reports a successful call. Must be called while the caller still holds the permit of calls().
  /// @param now the current time
  void answered(time_point now);
  /// Reports a call that the provider refused because it is overloaded or its limits are used up.
  /// Must be called while the caller still holds the permit of calls().
  ///
  /// A refusal among successful calls only delays its own call. If all of the latest calls were
  /// refused and `until` is given, no request is sent before `until`.
  /// @param sent when the request was sent
  /// @param now the current time
  /// @param until the earliest time for another attempt, if the provider specified it
  void overloaded(time_point sent, time_point now, std::optional<time_point> until = {});
  /// Pauses all calls until a point in time. For a provider that reports that no requests or tokens
  /// remain.
  void pause_until(time_point until);

private:
  const model_limits_options options_;
  limiter calls_;
  fair_line line_;
  rate_limiter rate_;
  byte_budget answers_;
  std::atomic<bool> was_refused_{false}; ///< until then answers take no lock
  std::mutex mutex_;
  std::unique_ptr<models::concurrency_control> control_; ///< guarded by mutex_
};

/// The supported wire formats; see models/providers.
enum class provider_api : std::uint8_t { openai_chat, openai_responses, anthropic, ollama };

/// Options of make_provider_model().
struct provider_model_options {
  provider_api api = provider_api::openai_chat; ///< wire format of the server
  std::string model{};                          ///< the model's name on the server; required
  /// Base address of the API, without the path of the endpoint; empty: the provider's own. A query
  /// (`?api-version=…`) is kept behind the path and never appears in errors.
  std::string base_url{};
  /// Environment variable that contains the API key; read once, when the model is created. Unset:
  /// the provider's (OPENAI_API_KEY, ANTHROPIC_API_KEY; none for Ollama). Empty: no key is sent.
  std::optional<std::string> api_key_env{};
  /// Parameters of every request: temperature, max_tokens, stop, …. They are converted to the
  /// provider's form. The members of `model_kwargs` are sent unchanged.
  json::object parameters{};
  /// Additional HTTP headers; they replace the API's own of the same name. Values of 16 characters
  /// or more are masked in errors.
  http_headers headers{};
  /// Headers whose values come from the environment: header name and variable name.
  http_headers headers_env{};
  /// Chat completions only: the request member for `max_tokens`. Unset: max_completion_tokens for
  /// OpenAI's and Azure's servers, max_tokens for others.
  std::optional<std::string> max_tokens_field{};
  /// Chat completions only: the request member that returns the reasoning of earlier answers to the
  /// server, e.g. `reasoning_content`; empty: it is not sent.
  std::string reasoning_field{};
  bool stream = false; ///< request a stream even without on_chunk; Ollama always streams
  std::optional<superstep::output_version>
      version{}; ///< form of answers; unset: default_output_version()

  std::uint32_t attempts_max = 8;              ///< per call; a 429 does not count
  std::uint32_t rate_limited_max = 100;        ///< 429 responses per call before it fails
  std::chrono::milliseconds backoff_base{500}; ///< upper bound of the first wait between attempts
  /// Limit of that bound, which doubles with each attempt.
  std::chrono::milliseconds backoff_max{60'000};
  std::chrono::milliseconds retry_after_max{600'000}; ///< limit of the wait that a server requests

  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{120'000}; ///< silence of the server, thinking included
  /// Per attempt; unset: no limit.
  std::optional<std::chrono::milliseconds> total_timeout{std::chrono::milliseconds{600'000}};
  /// Size limit of one answer.
  std::size_t answer_bytes_max = 16 * 1024 * 1024;
  /// Per answer, streamed or not; unset: no limit.
  std::optional<std::size_t> tool_calls_max = 1'000;
  std::string ca_file{}; ///< PEM file of trusted root certificates; empty: the system's

  /// Called before each wait for another attempt, on the thread of the call. May be empty.
  std::function<void(const model_attempt&)> on_retry{};

  /// The clock for dates in HTTP headers; must outlive the model.
  const superstep::clock* time = &system_clock();
};

/// Returns the API key and the header values that a model with these options sends, as far as the
/// environment contains them. Logs and recordings must mask them. Reads the environment, so it is
/// not safe while another thread calls setenv().
[[nodiscard]] std::vector<std::string> secrets_of(const provider_model_options&);

/// Removes the API key and the headers for which the environment lacks a value, and returns an
/// error text for each. For programs that check the options but send no request. Reads the
/// environment, so it is not safe while another thread calls setenv().
[[nodiscard]] std::vector<std::string> remove_missing_secrets(provider_model_options&);

/// Returns warnings about unsafe options: a key or header that is sent over unencrypted HTTP to
/// another machine; empty if there are none. Reads the environment, so it is not safe while another
/// thread calls setenv().
[[nodiscard]] std::vector<std::string> warnings_of(const provider_model_options&);

/// Creates a model that calls an HTTP API: OpenAI chat completions (or a compatible server), OpenAI
/// Responses, Anthropic or Ollama.
///
/// These failures are retried, with exponential backoff and full jitter seeded by run key, turn and
/// attempt: HTTP 5xx, 408 and 409, broken connections, incomplete answers and timeouts. HTTP 429 is
/// retried, not before the time that the server specifies, until the call has got
/// `rate_limited_max` of these responses. model_limits::overloaded() describes when a 429 also
/// delays other calls. An answer that is not JSON is retried like a 5xx. Any other unusable answer
/// is retried once. After a piece was streamed, nothing is retried. Other 4xx are final, and so is
/// a 429 that reports an exhausted quota.
///
/// Content that a provider does not support (a modality, a role) is an error before anything is
/// sent. Errors and the fingerprint never contain the key. model_request::parameters override the
/// options' parameters; names that belong to the conversation (`messages`, `tools`, `stream`, `n`,
/// …) are rejected.
///
/// May be called from any thread; reads the environment, so not while another thread calls
/// setenv().
/// @param options see provider_model_options; `model` is required
/// @param io runs the connections; must outlive the model
/// @param limits shared by all models of one provider and key; must not be null
/// @return the model; model_errc::bad_configuration if an option is invalid or the environment
/// lacks the key
///
/// Source: https://platform.openai.com/docs/api-reference,
/// https://docs.anthropic.com/en/api/messages and
/// https://github.com/ollama/ollama/blob/main/docs/api.md; retries as in the openai and anthropic
/// Python SDKs.
[[nodiscard]] result<chat_model_ptr> make_provider_model(provider_model_options options,
                                                         io_runtime& io,
                                                         std::shared_ptr<model_limits> limits);

/// Creates a provider model from a name `provider:model`, where provider is openai,
/// openai-responses, anthropic or ollama. Without a provider, names that begin with gpt-, chatgpt-,
/// o1, o3 or o4 select OpenAI, and those that begin with claude select Anthropic.
///
/// May be called from any thread; reads the environment like make_provider_model().
/// @param name e.g. `anthropic:claude-sonnet-4-0` or `gpt-4o-mini`
/// @param io runs the connections; must outlive the model
/// @param options `api` and `model` are replaced by those that the name specifies
/// @param limits shared with other models of the same provider and key; null: the model gets its
/// own, with default options
/// @return the model; model_errc::bad_configuration for an unknown provider, or an error of
/// make_provider_model()
///
/// Source: `init_chat_model` in langchain 1.4.7, chat_models/base.py.
[[nodiscard]] result<chat_model_ptr>
init_chat_model(std::string_view name, io_runtime& io, provider_model_options options = {},
                std::shared_ptr<model_limits> limits = nullptr);

} // namespace superstep
