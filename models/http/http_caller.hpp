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

/// How one attempt ended.
struct attempt {
  result<std::unique_ptr<message>> answer;       ///< boxed: four coroutines hand it on
  failure why;                                   ///< when there is no answer
  std::optional<std::chrono::milliseconds> wait; ///< the server wants this call to wait so long
  bool is_held_back = false;                     ///< it did not go out
};

/// One request to a provider's server and its answer, without limits and second attempts.
class http_caller {
public:
  /// @param options with the values of `headers_env` among `headers`
  http_caller(const provider_model_options& options, const std::string& key, http_client client,
              std::shared_ptr<model_limits> limits);

  /// Both arguments outlive the task; the awaiting frame owns them. Rate-limit headers that report
  /// nothing left reach the limits before the answer is read.
  [[nodiscard]] task<attempt> ask(const wire_request& asked, const chunk_handler& on_chunk) const;
  /// The address without its query, for errors.
  [[nodiscard]] const std::string& url() const noexcept { return shown_url_; }
  /// The query of the address with its question mark, or "".
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
  /// Returns a text as errors may show it: without keys, values of headers and the query.
  [[nodiscard]] std::string shown(std::string_view text) const;

  provider_api api_;
  output_version version_;
  std::size_t answer_bytes_max_;
  std::size_t tool_calls_max_;
  std::chrono::milliseconds wait_max_;
  const clock* time_;
  http_headers headers_;             ///< all but those of one request
  std::vector<std::string> secrets_; ///< the key and the values of the user's headers
  std::string shown_url_;
  std::string url_;
  http_client client_;
  std::shared_ptr<model_limits> limits_;
};

/// An attempt that was not made: a pause began between the permission to go out and the first byte.
[[nodiscard]] attempt held_back();

} // namespace superstep::models
