// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/protocols/stream_output.hpp"

#include <set>
#include <string>
#include <string_view>

namespace superstep {

/// Shows the arguments of one call, argument by argument, as far as they will not change: strings
/// while they grow, lists as far as they are there, anything else once it is sure that it does not
/// become a list because its key stands again.
class argument_progress {
public:
  /// @param tool null: its arguments are strings
  argument_progress(const protocol_tool* tool, stream_output& output) noexcept
      : tool_{tool}, output_{output} {}

  /// A string begins. False: it cannot be shown while it grows.
  [[nodiscard]] bool open_string(std::string_view key);
  void append_string(std::string_view text) { output_.progress().append_string(text); }
  /// An argument is complete. The same key again replaces it.
  void close(std::string_view key, json::value value);
  /// The next argument has another key than the last, or there is none.
  void release();
  [[nodiscard]] std::string_view held() const noexcept { return held_key_; }
  /// Nothing more is shown before the end.
  void settle() noexcept { is_settled_ = true; }
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_; }

private:
  [[nodiscard]] bool is_plain_string(std::string_view key) const;
  /// Whether the key may stand next.
  [[nodiscard]] bool is_next(std::string_view key);

  const protocol_tool* tool_;
  stream_output& output_;
  std::set<std::string, std::less<>> keys_; // of all arguments that have been shown
  std::string last_key_;
  std::string held_key_; // of an argument that waits; empty: none
  json::value held_;
  bool is_settled_ = false;
};

} // namespace superstep
