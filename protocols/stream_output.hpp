// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// The received text of a stream that has not been parsed yet. New text is appended at the end, and
/// parsed text is removed from the front.
///
/// Removal is O(1) amortised: take() only advances an offset, and the bytes are moved when more
/// than half of the buffer is unused.
class text_window {
public:
  /// Adds received text. Invalidates earlier views.
  void append(std::string_view piece) { bytes_ += piece; }
  [[nodiscard]] std::string_view view() const noexcept {
    return std::string_view{bytes_}.substr(begin_);
  }
  [[nodiscard]] bool empty() const noexcept { return begin_ == bytes_.size(); }
  /// Removes the first `n` bytes. Invalidates earlier views.
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

/// Reports the arguments of one call as tool_input_delta events while they are parsed. Text is
/// buffered until flush(), so that one piece of an answer causes one event instead of many.
class input_progress {
public:
  /// @param call number of the call in its stream
  /// @param on_event receives the events; must outlive this object
  input_progress(std::size_t call, const protocol_event_handler& on_event)
      : call_{call}, on_event_{&on_event} {}
  /// Starts another call. The object is reused so that its buffers are allocated only once.
  void restart(std::size_t call);

  /// Reports the arguments of an incomplete call, without the closing brackets and quote, because
  /// more text may follow there. Reports nothing if the text does not begin with what was already
  /// reported.
  /// @param so_far all arguments that have been parsed
  /// @return whether the text was reported
  bool show(const json::value& so_far);
  /// Adds one member to the arguments and reports them as show() does. If the last member has the
  /// same key, it is replaced.
  bool show_member(std::string_view key, const json::value& value);
  /// Adds a member whose value is a string that is still growing. Returns whether its beginning was
  /// reported.
  bool begin_string(std::string_view key);
  /// Adds text to the string that begin_string() began, and reports it.
  void append_string(std::string_view text);
  /// Ends the string that begin_string() began.
  void end_string() { members_ += '"'; }
  /// Returns the JSON object of all members that were added.
  [[nodiscard]] std::string whole() const;
  /// Whether further arguments may be reported before the call is complete. False after
  /// written_bytes_max bytes have been formatted: each report formats members again, so the work
  /// would become quadratic.
  [[nodiscard]] bool may_show() const noexcept {
    return written_ + shown_.size() <= written_bytes_max;
  }
  /// Sends the buffered text as events.
  void flush();
  /// Sends the rest of the complete arguments. Returns false, and sends nothing, if `arguments`
  /// does not begin with the text that was already reported.
  [[nodiscard]] bool complete(std::string_view arguments);

private:
  static constexpr std::size_t written_bytes_max = std::size_t{256} * 1024;
  void begin_member(std::string_view key);
  void send(std::size_t end);
  bool show_text(std::string_view text);

  std::size_t call_;
  const protocol_event_handler* on_event_;
  std::string shown_;         // the reported text, of which the first sent_ bytes have been sent
  std::string members_;       // all members so far, as JSON without the closing brace
  std::string last_key_;      // key of the last member
  std::size_t last_from_ = 0; // position in members_ at which the last member begins
  std::size_t sent_ = 0;
  std::size_t written_ = 0; // bytes formatted by the show functions and begin_string()
};

/// Sends the events of one stream in the order that tool_protocol.hpp documents: start, deltas,
/// end, complete call. The concatenated deltas of a complete call are its arguments.
class stream_output {
public:
  /// @param options how errors are reported
  /// @param on_event receives the events; must not be null
  /// @param on_error receives calls that cannot be parsed; may be null
  stream_output(stream_options options, protocol_event_handler on_event,
                protocol_error_handler on_error);

  /// Sends ordinary text. Empty text is ignored.
  void text(std::string_view text);
  /// Begins a call. @pre no call is open
  void start(std::string_view name);
  /// Whether a call is open.
  [[nodiscard]] bool is_started() const noexcept { return is_open_; }
  /// Returns the number of calls that have begun.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  /// Returns the object that reports the arguments of the open call.
  [[nodiscard]] input_progress& progress() noexcept { return progress_; }
  /// Ends the open call, or sends a complete call if none is open.
  ///
  /// Later parts of a call can change arguments that were already reported, or its name. The open
  /// call is then ended with drop(), and `parsed` is sent as another call with its own number.
  void call(parsed_call parsed);
  /// Ends the arguments of the open call without sending a complete call. No effect if no call is
  /// open.
  void drop();
  /// Ends the open call with drop() and reports an error.
  /// @param tool name of the called tool; empty if unknown
  /// @param span the raw text of the call; also sent as text if stream_options::emit_raw_on_error
  /// is set
  void fail(const char* code, std::string tool, std::string_view span);
  /// Sends the buffered arguments of the open call.
  void flush();

private:
  stream_options options_;
  protocol_event_handler on_event_;
  protocol_error_handler on_error_;
  input_progress progress_;
  bool is_open_ = false; // whether a call is open
  std::string name_;     // name of the open call
  std::size_t calls_ = 0;
};

/// Reports a complete call with the events of a stream.
/// @param number the number of the call in its stream
void report_call(std::size_t number, parsed_call call, const protocol_event_handler& on_event);

/// Reports a complete answer with the events of a stream: first the text, then each valid call.
void report_answer(const message& answer, const protocol_event_handler& on_event);

} // namespace superstep
