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
  result<std::unique_ptr<message>> answer;       ///< a pointer, because four coroutines pass it on
  failure why;                                   ///< set if there is no answer
  std::optional<std::chrono::milliseconds> wait; ///< wait that the server requests for this call
  bool is_held_back = false;                     ///< whether the request was not sent
};

/// Sends one request to a provider's server and reads its answer, without limits and retries.
class http_caller {
public:
  /// @param options includes the values of `headers_env` among `headers`
  http_caller(const provider_model_options& options, const std::string& key, http_client client,
              std::shared_ptr<model_limits> limits);

  /// Makes one attempt. Both arguments must outlive the task. Rate-limit headers that report
  /// nothing left are applied to the limits before the answer is read.
  [[nodiscard]] task<attempt> ask(const wire_request& asked, const chunk_handler& on_chunk) const;
  /// The URL without its query, for errors.
  [[nodiscard]] const std::string& url() const noexcept { return shown_url_; }
  /// The query of the URL with its question mark, or "".
  [[nodiscard]] std::string_view query() const noexcept {
    return std::string_view{url_}.substr(shown_url_.size());
  }

private:
  task<attempt> read_events(http_stream& stream, const wire_request& asked,
                            const chunk_handler& on_chunk) const;
  task<attempt> read_whole(http_stream& stream, const chunk_handler& on_chunk) const;
  [[nodiscard]] attempt judge_answer(const http_response& head, const std::string& body) const;
  [[nodiscard]] std::optional<std::chrono::milliseconds>
  find_exhausted(const http_response& head) const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> find_wait(const http_response& head) const;
  [[nodiscard]] http_request make_request(const wire_request& asked,
                                          std::shared_ptr<std::atomic<bool>> is_held) const;
  [[nodiscard]] attempt answered(result<message> answer) const;
  [[nodiscard]] attempt broken(const error& transport) const;
  [[nodiscard]] attempt failed(failure why, std::string_view text) const;
  /// Returns a text for errors: without keys, header values and the query.
  [[nodiscard]] std::string shown(std::string_view text) const;

  provider_api api_;
  output_version version_;
  std::size_t answer_bytes_max_;
  std::size_t tool_calls_max_; // 0: no limit
  std::chrono::milliseconds wait_max_;
  const clock* time_;
  http_headers headers_;             ///< headers of all requests
  std::vector<std::string> secrets_; ///< the key and the values of the user's headers
  std::string shown_url_;
  std::string url_;
  http_client client_;
  std::shared_ptr<model_limits> limits_;
};

/// Returns an attempt that was not made: a pause began after the call got its permission and before
/// its first byte was sent.
[[nodiscard]] attempt held_back();

} // namespace superstep::models
