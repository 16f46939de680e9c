// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <cstdint>
#include <functional>

namespace superstep {

/// Tokens that one message takes. The tokens of a conversation are the sum.
using token_counter = std::function<std::int64_t(const message&)>;

/// What an estimate takes a message for.
struct approximate_tokens {
  double characters_per_token = 4.0;
  double extra_per_message = 3.0; ///< for the marks around a message
  double per_image = 85.0;        ///< an image has no characters; this is one of low detail
  bool names_count = true;

  /// Characters (code points) of text, role, name, call ids and calls, divided and rounded up.
  [[nodiscard]] std::int64_t operator()(const message&) const;
};

/// The estimate for a whole conversation.
[[nodiscard]] std::int64_t count_tokens_approximately(const message_list&,
                                                      const approximate_tokens& = {});

} // namespace superstep
