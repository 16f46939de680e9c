// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/messages/token_counter.hpp>

#include <cstdint>
#include <vector>

namespace superstep {

/// The end of the conversation that is kept.
enum class trim_strategy : std::uint8_t { last, first };

/// Options of trim_messages().
struct trim_options {
  std::int64_t tokens_max = 0;
  token_counter count = approximate_tokens{};
  trim_strategy strategy = trim_strategy::last;
  /// Whether the message at the boundary may be kept in part: block by block for a list, then line
  /// by line for text.
  bool allow_partial = false;
  /// `last` only: keep a leading system message. Its tokens count.
  bool include_system = false;
  std::vector<message_type> start_on; ///< `last` only: drop messages before the first of these
  std::vector<message_type> end_on;   ///< drop messages after the last of these
};

/// Returns the longest suffix (`last`) or prefix (`first`) of a conversation within a token budget.
/// Each message is counted once; the message at the boundary once more per block and line that is
/// tried. With `last`, messages dropped by end_on are not counted.
///
/// @return an error if `first` is combined with an option for `last` only
/// Source: `trim_messages` in langchain-core 1.7.2, messages/utils.py.
[[nodiscard]] result<message_list> trim_messages(const message_list&, const trim_options&);

} // namespace superstep
