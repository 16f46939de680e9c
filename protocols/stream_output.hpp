// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// The unprocessed part of a stream. Removing from its front is cheap: the remaining bytes are
/// moved once for many removals.
class text_window {
public:
  void append(std::string_view piece) { bytes_ += piece; }
  [[nodiscard]] std::string_view view() const noexcept {
    return std::string_view{bytes_}.substr(begin_);
  }
  [[nodiscard]] bool empty() const noexcept { return begin_ == bytes_.size(); }
  void take(std::size_t n) {
    begin_ += n;
    if (begin_ == bytes_.size()) {
      bytes_.clear();
      begin_ = 0;
    } else if (begin_ > bytes_.size() / 2) {
      bytes_.erase(0, begin_);
      begin_ = 0;
    }
  }

private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

/// Converts the arguments read so far to tool_input_delta events of one call. Text is buffered
/// until flush(), so that one piece of an answer makes one delta. Used by one stream; `on_event`
/// must outlive it.
class input_progress {
public:
  input_progress(std::size_t call, const protocol_event_handler& on_event)
      : call_{call}, on_event_{&on_event} {}
  /// Starts another call. Keeps the buffers, because answers have many calls.
  void restart(std::size_t call);

  /// Reports the certain beginning of the arguments if it extends the reported text. Returns
  /// whether exactly this has been reported now.
  bool show(const json::value& so_far);
  /// Adds one member, or replaces the last when it has the same key. As show().
  bool show_member(std::string_view key, const json::value& value);
  /// Begins a string member. Returns whether exactly this has been reported now.
  bool begin_string(std::string_view key);
  /// Adds to that string.
  void append_string(std::string_view text);
  void end_string() { members_ += '"'; }
  /// Returns all members as arguments.
  [[nodiscard]] std::string whole() const;
  /// False if arguments have been written out so often that the rest waits for complete(). Keeps
  /// the work for one call linear in its length.
  [[nodiscard]] bool may_show() const noexcept {
    return written_ + shown_.size() <= written_bytes_max;
  }
  void flush();
  /// Sends the rest. Returns false, and sends nothing, if `arguments` does not begin with the
  /// reported text.
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

/// Sends the events of one stream in their documented order: start, deltas, end and finished call.
/// The concatenated deltas are always the arguments of their call.
class stream_output {
public:
  stream_output(stream_options options, protocol_event_handler on_event,
                protocol_error_handler on_error);

  void text(std::string_view text);
  /// Begins a call.
  void start(std::string_view name);
  [[nodiscard]] bool is_started() const noexcept { return is_open_; }
  /// Returns the number of calls that have begun.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  /// Returns the progress of the open call.
  [[nodiscard]] input_progress& progress() noexcept { return progress_; }
  /// Ends the call. If it does not begin with the reported arguments, because later parts changed
  /// earlier ones, the started input is dropped and another one is sent in its place.
  void call(parsed_call parsed);
  /// Ends the input of the open call, if there is one, without a call.
  void drop();
  /// Reports an error.
  /// @param span its text, which is sent as text if the options say so
  void fail(const char* code, std::string tool, std::string_view span);
  /// Sends the buffered arguments.
  void flush();

private:
  stream_options options_;
  protocol_event_handler on_event_;
  protocol_error_handler on_error_;
  input_progress progress_; // of the open call
  bool is_open_ = false;    // a call is
  std::string name_;        // of that call
  std::size_t calls_ = 0;
};

/// Reports a complete answer with the events that a stream of it would have had.
void report_answer(const message& answer, const protocol_event_handler& on_event);

} // namespace superstep
