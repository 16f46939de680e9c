// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_shape.hpp"
#include "protocols/stream_output.hpp"

#include <superstep/base/json.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Reports the arguments of one call, argument by argument, as far as they cannot change any more:
/// strings while they grow, lists as far as they have arrived, anything else once it is certain
/// that its key does not occur again and make it a list.
///
/// If all arguments have been reported, they are the arguments of the call, so that its text need
/// not be parsed a second time.
class argument_progress {
public:
  /// @param tool null for an unknown tool, whose arguments are strings
  /// @param shape the shape of the tool; null for an unknown tool
  argument_progress(const protocol_tool* tool, const argument_shape* shape,
                    stream_output& output) noexcept
      : tool_{tool}, shape_{shape}, output_{output} {}

  /// Begins a string. Returns false if it cannot be reported while it grows.
  /// @param p the result of find() for the key
  [[nodiscard]] bool open_string(std::string_view key, const parameter* p);
  void append_string(std::string_view text);
  /// Ends the open string, all of which has been appended.
  /// @param text the complete string; used only if is_choice()
  void end_string(std::string_view text);
  /// Whether the open string is one of an enum. Coercion can change it to another member, so that
  /// it is reported only up to the common beginning of all members that it can become.
  [[nodiscard]] bool is_choice() const noexcept { return open_ != nullptr && open_->texts; }
  /// The form in which an argument was written.
  enum class form {
    single, ///< once so far; the same key again makes it the first of a list
    list,   ///< several times: `value` is the list of the values
  };
  /// Ends an argument. The same key again replaces it.
  void close(std::string_view key, const parameter* p, json::value value, form as = form::single);
  /// As close(), for a string.
  void close_text(std::string_view key, const parameter* p, std::string_view text);
  /// Reports the held argument: the next one has another key, or there is none.
  void release();
  [[nodiscard]] std::string_view held() const noexcept { return held_key_; }
  /// Reports nothing more before the call is complete.
  void settle() noexcept { is_settled_ = true; }
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_; }
  /// Returns the closed arguments as JSON. Nullopt if the text of the call has to be parsed again.
  [[nodiscard]] std::optional<std::string> whole();

  /// Returns the property of the schema; null if it has none with this key.
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
  /// Returns the argument coerced to the schema. Nullopt if coercion renames the key.
  [[nodiscard]] std::optional<json::value> bent(std::string_view key, json::value value) const;
  /// Whether the key may come next.
  [[nodiscard]] bool is_next(std::string_view key, const parameter* p);
  [[nodiscard]] bool has_stood(std::string_view key, const parameter* p) const;
  void note(std::string_view key, const parameter* p);
  void hold(std::string_view key, const parameter* p, json::value value, bool is_final);
  /// If the text does not match its schema, the call has to be parsed again as a whole.
  void check_text(const parameter* p, std::string_view text);

  const protocol_tool* tool_;
  const argument_shape* shape_;
  stream_output& output_;
  std::uint64_t known_ = 0;                 // arguments that have been reported, by index
  std::set<std::string, std::less<>> keys_; // those without an index, or with one above 63
  std::string last_key_;
  std::string held_key_; // of the held argument; empty if there is none
  const parameter* held_parameter_ = nullptr;
  json::value held_;
  const parameter* open_ = nullptr; // of the open string; null if it has no schema
  std::string choice_;              // the reported part of an open choice
  bool is_choice_held_ = false;     // nothing more of it is reported before its end
  bool is_settled_ = false;
  bool is_exact_ = true; // the reported arguments are those of the call
};

/// Returns the size of the part of `raw`, a growing value, that cannot change its meaning: without
/// an incomplete entity or character at its end.
[[nodiscard]] std::size_t whole_text(std::string_view raw) noexcept;
/// Whether every property with a list schema is a list. A growing list with one member may not
/// look like one yet.
[[nodiscard]] bool lists_are_lists(const json::value& arguments, const json::value& schema);

} // namespace superstep
