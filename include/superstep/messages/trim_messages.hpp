// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/messages/token_counter.hpp>

#include <cstdint>
#include <vector>

namespace superstep {

/// Which end of a conversation is kept.
enum class trim_strategy : std::uint8_t { last, first };

struct trim_options {
  std::int64_t tokens_max = 0;
  token_counter count = approximate_tokens{};
  trim_strategy strategy = trim_strategy::last;
  /// The border message may be cut: a list block by block, then text line by line.
  bool allow_partial = false;
  /// `last` only: a leading system message stays, inside the budget.
  bool include_system = false;
  std::vector<message_type> start_on; ///< `last` only: what comes before one of these is dropped
  std::vector<message_type> end_on;   ///< what comes after one of these is dropped
};

/// The longest suffix (or prefix) of a conversation that fits a number of tokens. Each message is
/// counted once, the border message as often as it has blocks and lines. With `last`, end_on drops
/// messages before they are counted. An error when `first` is asked for what only `last` can do.
[[nodiscard]] result<message_list> trim_messages(const message_list&, const trim_options&);

} // namespace superstep
