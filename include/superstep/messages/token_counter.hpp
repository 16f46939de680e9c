// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <cstdint>
#include <functional>

namespace superstep {

/// Returns the number of tokens of one message. The tokens of a conversation are the sum over its
/// messages.
using token_counter = std::function<std::int64_t(const message&)>;

/// A token estimate by character count, for use as a token_counter.
///
/// Source: `count_tokens_approximately` in langchain-core 1.7.2, messages/utils.py.
struct approximate_tokens {
  double characters_per_token = 4.0;
  double extra_per_message = 3.0; ///< for the role markers around a message
  double per_image = 85.0;        ///< fixed cost of an image (low detail)
  bool names_count = true;        ///< whether `name` is counted

  /// Estimates the tokens of a message: code points of text, role, name, call ids and calls,
  /// divided by characters_per_token, rounded up, plus extra_per_message.
  [[nodiscard]] std::int64_t operator()(const message&) const;
};

/// Estimates the tokens of a conversation.
[[nodiscard]] std::int64_t count_tokens_approximately(const message_list&,
                                                      const approximate_tokens& = {});

} // namespace superstep
