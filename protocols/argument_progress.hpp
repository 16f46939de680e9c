// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_shape.hpp"
#include "protocols/stream_output.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Shows the arguments of one call, argument by argument, as far as they will not change: strings
/// while they grow, lists as far as they are there, anything else once it is sure that it does not
/// become a list because its key stands again.
///
/// What has been shown to the end is what the whole call says, so that it need not be read again.
class argument_progress {
public:
  /// @param tool null: its arguments are strings
  /// @param shape of the tool; null without one
  argument_progress(const protocol_tool* tool, const argument_shape* shape,
                    stream_output& output) noexcept
      : tool_{tool}, shape_{shape}, output_{output} {}

  /// A string begins. False: it cannot be shown while it grows.
  /// @param p what find() says of the key
  [[nodiscard]] bool open_string(std::string_view key, const parameter* p);
  void append_string(std::string_view text);
  /// The string that was opened is complete, and all of it has been appended.
  /// @param text the same as a whole; only looked at when is_choice()
  void end_string(std::string_view text);
  /// The open string is one of those that the schema lists. It may come out as another of them, so
  /// that it is shown only as far as it begins all that it may become.
  [[nodiscard]] bool is_choice() const noexcept { return open_ != nullptr && open_->texts; }
  /// The form in which an argument was written.
  enum class form {
    single, ///< once so far; the same key again makes it the first of a list
    list,   ///< several times: `value` is the list of what was written
  };
  /// An argument is complete. The same key again replaces it.
  void close(std::string_view key, const parameter* p, json::value value, form as = form::single);
  /// As close(), for a text.
  void close_text(std::string_view key, const parameter* p, std::string_view text);
  /// The next argument has another key than the last, or there is none.
  void release();
  [[nodiscard]] std::string_view held() const noexcept { return held_key_; }
  /// Nothing more is shown before the end.
  void settle() noexcept { is_settled_ = true; }
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_; }
  /// All that was closed, as the arguments of the call; nothing: they have to be read as a whole.
  [[nodiscard]] std::optional<std::string> whole();

  /// What the schema says of an argument; null: nothing.
  [[nodiscard]] const parameter* find(std::string_view key) const noexcept {
    return shape_ != nullptr ? shape_->find(key) : nullptr;
  }

private:
  [[nodiscard]] bool is_plain_string(const parameter* p) const noexcept {
    return tool_ == nullptr || (p != nullptr && p->is_plain_string);
  }
  [[nodiscard]] bool can_grow(const parameter* p) const noexcept {
    return tool_ == nullptr || (p != nullptr && p->can_grow);
  }
  /// The argument as the schema asks for it; nothing: the key comes out as another.
  [[nodiscard]] std::optional<json::value> bent(std::string_view key, json::value value) const;
  /// Whether the key may stand next.
  [[nodiscard]] bool is_next(std::string_view key, const parameter* p);
  [[nodiscard]] bool has_stood(std::string_view key, const parameter* p) const;
  void note(std::string_view key, const parameter* p);
  void hold(std::string_view key, const parameter* p, json::value value, bool is_final);
  /// A text is what its schema asks for, or else the whole has to be read again.
  void check_text(const parameter* p, std::string_view text);

  const protocol_tool* tool_;
  const argument_shape* shape_;
  stream_output& output_;
  std::uint64_t known_ = 0;                 // arguments that have been shown, by their index
  std::set<std::string, std::less<>> keys_; // those that have none, or a high one
  std::string last_key_;
  std::string held_key_; // of an argument that waits; empty: none
  const parameter* held_parameter_ = nullptr;
  json::value held_;
  const parameter* open_ = nullptr; // of the string that was opened; null: of no schema
  std::string choice_;              // what has been shown of an open choice
  bool is_choice_held_ = false;     // nothing more of it is shown before its end
  bool is_settled_ = false;
  bool is_exact_ = true; // what was shown is what the whole says
};

} // namespace superstep
