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

/// Reports the arguments of one streamed call as early as possible. Reported text cannot be
/// withdrawn, so an argument is reported only as far as later text cannot change it:
/// - A string is reported while it grows.
/// - A list is reported item by item.
/// - Any other argument is held back until the next key is known. If the same key follows, the two
///   arguments become a list.
///
/// If every argument could be reported, whole() returns them, and the text of the call need not be
/// parsed a second time.
class argument_progress {
public:
  /// @param tool the called tool; null if it is unknown, and then all arguments are strings
  /// @param shape the precomputed facts of the tool's schema; null for an unknown tool
  /// @param output receives the reported arguments; must outlive this object
  argument_progress(const protocol_tool* tool, const argument_shape* shape,
                    stream_output& output) noexcept
      : tool_{tool}, shape_{shape}, output_{output} {}

  /// Begins a string argument. Returns false if the string cannot be reported while it grows; the
  /// caller then passes it to close() or close_text() when it is complete.
  /// @param p the result of find() for the key
  [[nodiscard]] bool open_string(std::string_view key, const parameter* p);
  /// Adds text to the string that open_string() began.
  void append_string(std::string_view text);
  /// Ends the string that open_string() began. All of its text must have been appended.
  /// @param text the complete string; used only if is_choice()
  void end_string(std::string_view text);
  /// Whether the open string must be a member of an enum. Coercion may change such a string to
  /// another member. Therefore only the beginning that all still possible members share is
  /// reported.
  [[nodiscard]] bool is_choice() const noexcept { return open_ != nullptr && open_->texts; }
  /// The number of times that the key of an argument has occurred.
  enum class form {
    single, ///< once; if the key occurs again, the value becomes the first item of a list
    list,   ///< several times; the value passed to close() is the list of all values
  };
  /// Ends an argument that was not reported while it grew. A second call with the same key replaces
  /// the value of the first.
  void close(std::string_view key, const parameter* p, json::value value, form as = form::single);
  /// Ends a string argument that was not reported while it grew. Faster than close().
  void close_text(std::string_view key, const parameter* p, std::string_view text);
  /// Reports the argument that is held back. Called when no further argument can have its key.
  void release();
  /// Returns the key of the argument that is held back; empty if there is none.
  [[nodiscard]] std::string_view held() const noexcept { return held_key_; }
  /// Stops reporting. The remaining arguments are reported when the call is complete.
  void settle() noexcept { is_settled_ = true; }
  /// Whether settle() has been called, by the user of this object or by the object itself.
  [[nodiscard]] bool is_settled() const noexcept { return is_settled_; }
  /// Returns all arguments as a JSON object. Nullopt if they may be inexact, so that the text of
  /// the call must be parsed again.
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
  /// Returns the argument coerced to the tool's schema. Nullopt if coercion renames the key.
  [[nodiscard]] std::optional<json::value> bent(std::string_view key, json::value value) const;
  /// Whether an argument with this key can be reported now. If it cannot, settle() is called.
  [[nodiscard]] bool is_next(std::string_view key, const parameter* p);
  /// Whether an argument with this key has already been reported.
  [[nodiscard]] bool has_stood(std::string_view key, const parameter* p) const;
  /// Records that an argument with this key has been reported.
  void note(std::string_view key, const parameter* p);
  /// Stores an argument until release(). Reports it at once if `is_final`.
  void hold(std::string_view key, const parameter* p, json::value value, bool is_final);
  /// Checks a string that was reported without coercion. If it does not match the schema, whole()
  /// returns nullopt.
  void check_text(const parameter* p, std::string_view text);

  const protocol_tool* tool_;
  const argument_shape* shape_;
  stream_output& output_;
  std::uint64_t known_ = 0; // reported arguments: bit i for the property with index i
  std::set<std::string, std::less<>> keys_; // reported arguments without such a bit
  std::string last_key_;                    // key of the last reported argument
  std::string held_key_; // key of the argument that is held back; empty if there is none
  const parameter* held_parameter_ = nullptr; // its property in the schema
  json::value held_;                          // its value
  const parameter* open_ = nullptr; // property of the open string; null if it has no schema
  std::string choice_;              // the reported part of an open enum string
  bool is_choice_held_ = false;     // the rest of the enum string waits for end_string()
  bool is_settled_ = false;
  bool is_exact_ = true; // coercion of the complete call would not change the reported arguments
};

/// Returns the number of bytes of the growing text `raw` whose meaning is certain. The rest is an
/// entity (`&am`) or a UTF-8 character that is still incomplete.
[[nodiscard]] std::size_t whole_text(std::string_view raw) noexcept;
/// Whether every argument whose schema is a list has a list as value. False for the growing text of
/// a list of which only one item has arrived, if it still looks like a single value.
[[nodiscard]] bool lists_are_lists(const json::value& arguments, const json::value& schema);

} // namespace superstep
