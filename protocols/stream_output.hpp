// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/input_progress.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// What one stream sends, in the order that its readers rely on: a call is started, shown, ended
/// and only then given; deltas always join to the arguments of their call.
class stream_output {
public:
  stream_output(stream_options options, protocol_event_handler on_event,
                protocol_error_handler on_error);

  void text(std::string_view text);
  /// A call of that name has begun.
  void start(std::string_view name);
  [[nodiscard]] bool is_started() const noexcept { return is_open_; }
  /// How many calls have begun.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  /// Of the call that has begun.
  [[nodiscard]] input_progress& progress() noexcept { return progress_; }
  /// The call is complete. When it is not what was shown (its later parts changed the earlier
  /// ones), the started input comes to nothing and another one is sent in its place.
  void call(parsed_call parsed);
  /// The call that has begun, if any, comes to nothing.
  void drop();
  /// @param span its text, shown when the options ask for it
  void fail(const char* code, std::string tool, std::string_view span);
  /// Sends what progress has piled up.
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

} // namespace superstep
