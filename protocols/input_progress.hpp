// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Turns the arguments as far as they are read into tool_input_delta events of one call. What is
/// shown waits for flush(), so that one piece of an answer makes one delta, however many steps its
/// reading took. Used by one stream; `on_event` outlives it.
class input_progress {
public:
  input_progress(std::size_t call, const protocol_event_handler& on_event)
      : call_{call}, on_event_{&on_event} {}
  /// Forgets the last call for the sake of another. The buffers stay: answers have many calls.
  void restart(std::size_t call);

  /// Adds what surely begins the final text, if it extends what was shown. Whether exactly this
  /// has been shown now.
  bool show(const json::value& so_far);
  /// Adds one member, or replaces the last when it has the same key. As show().
  bool show_member(std::string_view key, const json::value& value);
  /// A member that is a string begins. Whether exactly this has been shown now.
  bool begin_string(std::string_view key);
  /// More of that string.
  void append_string(std::string_view text);
  void end_string() { members_ += '"'; }
  /// All members as arguments.
  [[nodiscard]] std::string whole() const;
  /// False: arguments have been written out so often that the rest waits for complete(). Keeps the
  /// work for one call linear in its length.
  [[nodiscard]] bool may_show() const noexcept {
    return written_ + shown_.size() <= written_bytes_max;
  }
  void flush();
  /// Sends the rest. False: what was shown does not begin `arguments`; nothing is sent then.
  [[nodiscard]] bool complete(std::string_view arguments);

private:
  static constexpr std::size_t written_bytes_max = std::size_t{256} * 1024;
  void begin_member(std::string_view key);
  void send(std::size_t end);
  bool show_text(std::string_view text);

  std::size_t call_;
  const protocol_event_handler* on_event_;
  std::string shown_;
  std::string members_;       // all members so far, as JSON without its end
  std::string last_key_;      // of them
  std::size_t last_from_ = 0; // where the last begins
  std::size_t sent_ = 0;      // of shown_
  std::size_t written_ = 0;   // bytes of all texts made by show()
};

} // namespace superstep
