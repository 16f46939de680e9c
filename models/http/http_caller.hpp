// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/http/answer_stream.hpp"
#include "models/http/wire_request.hpp"
#include "models/retry.hpp"

#include <superstep/models/provider_model.hpp>
#include <superstep/net/http_client.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::models {

/// The outcome of one attempt.
struct attempt {
  /// A pointer, so that coroutines pass it on without copying the message.
  result<std::unique_ptr<message>> answer;
  failure why; ///< set if there is no answer
  /// The wait that the server requests for this call.
  std::optional<std::chrono::milliseconds> wait;
  bool is_held_back = false; ///< whether the request was not sent
};

/// Sends one request to a provider's server and reads the answer. Applies neither limits nor
/// retries.
class http_caller {
public:
  /// @param options `headers_env` must already be replaced by values in `headers`
  http_caller(const provider_model_options& options, const std::string& key, http_client client,
              std::shared_ptr<model_limits> limits);

  /// Makes one attempt. Both arguments must outlive the task. The limits that
  /// rate-limit headers report are applied before the body is read.
  [[nodiscard]] task<attempt> ask(const wire_request& asked, const chunk_handler& on_chunk) const;
  /// Returns the URL without its query, for errors.
  [[nodiscard]] const std::string& url() const noexcept { return shown_url_; }
  /// Returns the query of the URL including the question mark; "" without a query.
  [[nodiscard]] std::string_view query() const noexcept {
    return std::string_view{url_}.substr(shown_url_.size());
  }

private:
  /// @param first beginning of the body, if it was already read from the stream
  task<attempt> read_events(http_stream& stream, const wire_request& asked,
                            const chunk_handler& on_chunk, std::string first) const;
  task<attempt> read_whole(http_stream& stream, const chunk_handler& on_chunk,
                           std::string first) const;
  [[nodiscard]] attempt judge_answer(const http_response& head, const std::string& body) const;
  void apply_rates(const http_response& head, model_limits::time_point sent,
                   model_limits::time_point now) const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> find_wait(const http_response& head) const;
  [[nodiscard]] http_request make_request(const wire_request& asked,
                                          std::shared_ptr<std::atomic<bool>> is_held) const;
  [[nodiscard]] attempt answered(result<message> answer) const;
  [[nodiscard]] attempt broken(const error& transport) const;
  /// @param http_status status of the answer that reports the failure; 0 if there is none
  [[nodiscard]] attempt failed(failure why, std::string_view text, int http_status = 0) const;
  /// Returns the text for an error: masks keys and header values (see without_secrets()) and
  /// removes the query of the URL.
  [[nodiscard]] std::string shown(std::string_view text) const;

  provider_api api_;
  output_version version_;
  std::size_t answer_bytes_max_;
  std::size_t tool_calls_max_; // 0: no limit
  std::chrono::milliseconds wait_max_;
  const clock* time_;
  http_headers headers_;             ///< headers that every request has
  std::vector<std::string> secrets_; ///< the key and the values of the user's headers
  std::string shown_url_;
  std::string url_;
  http_client client_;
  std::shared_ptr<model_limits> limits_;
};

/// Returns the outcome of a request that was not sent, because a pause began after the limits had
/// admitted the call.
[[nodiscard]] attempt held_back();

} // namespace superstep::models
