// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

namespace superstep::models {

/// Estimates the tokens of requests before they are sent, from the token counts of earlier answers.
///
/// The estimate is the input, from its bytes, plus the output: the average of the latest answers
/// and twice their mean deviation, but at most the parameter max_tokens.
///
/// @par Threads
/// All members may be called from any thread.
class token_estimate {
public:
  /// Returns the estimated number of tokens of a request and its answer.
  /// @param bytes size of the request
  /// @param output_max the parameter max_tokens of the request; nullopt if it is not set
  [[nodiscard]] std::int64_t of(std::size_t bytes, std::optional<std::int64_t> output_max) const;
  /// Reports the token counts of an answer to a request of this size.
  void add(std::size_t bytes, const token_usage& usage);

private:
  mutable std::mutex mutex_;
  double tokens_per_byte_ = 0.25; ///< moving average
  double output_ = 0;             ///< moving average
  double deviation_ = 0;          ///< moving average of the difference to the average
  std::size_t answers_ = 0;
};

} // namespace superstep::models
