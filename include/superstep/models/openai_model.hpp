// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/result.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_limits.hpp>
#include <superstep/net/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace superstep {

struct openai_model_options {
  std::string model;                                  ///< name the server knows it by; required
  std::string base_url = "https://api.openai.com/v1"; ///< `/chat/completions` is added
  /// Environment variable with the key; empty: no key is sent. Read once, when the model is made.
  std::string api_key_env = "OPENAI_API_KEY";
  std::optional<double> temperature;      ///< unset: the server's default
  std::optional<std::int64_t> max_tokens; ///< of an answer; unset: the server's default
  bool stream = false;                    ///< ask for server-sent events

  std::uint32_t attempts_max = 8;        ///< per call; a 429 does not count as one
  std::uint32_t rate_limited_max = 100;  ///< 429s per call before it is given up
  std::uint32_t backoff_base_ms = 500;   ///< first upper bound of the wait before another attempt
  std::uint32_t backoff_max_ms = 60'000; ///< last upper bound; doubled from one to the other
  std::uint32_t retry_after_max_ms = 600'000; ///< a server that asks for more gets this

  std::uint32_t connect_timeout_ms = 10'000;
  std::uint32_t idle_timeout_ms = 120'000;  ///< silence of the server, thinking included
  std::uint32_t total_timeout_ms = 600'000; ///< of one attempt
  std::size_t answer_bytes_max = 16 * 1024 * 1024;
  std::string ca_file; ///< PEM with the trusted roots; empty: the system's

  const superstep::clock* time =
      &system_clock(); ///< to read dates in Retry-After with; outlives the model
};

/// A chat-completions server: OpenAI's, or any that speaks like it.
///
/// Tried again, after an exponential back-off with full jitter (seeded from run key, turn and
/// attempt): 5xx, 408, 409, broken connections, half-sent answers, time-outs, and 429 for as long
/// as the server says so. Other 4xx are final, and so is a 429 that says the quota is used up.
/// After a 429 with a time nothing goes out through `limits` before that time is over. The key
/// never appears in errors, logs or the fingerprint. model_request::parameters are sent as they
/// are, over the options' own; `messages`, `tools`, `stream`, `stream_options` and `n` among them
/// are refused.
///
/// `limits` is shared by all models of one provider and key; `io` outlives the model.
[[nodiscard]] result<chat_model_ptr> make_openai_model(openai_model_options options, io_runtime& io,
                                                       std::shared_ptr<model_limits> limits);

} // namespace superstep
