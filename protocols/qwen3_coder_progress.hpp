// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_progress.hpp"
#include "protocols/qwen3_coder_tag.hpp"
#include "protocols/stream_output.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace superstep::qwen3_coder {

/// Shows the arguments of one call while its text grows. Offsets are of the text of the call,
/// which begins at the same byte all the time.
class call_progress {
public:
  call_progress(const std::vector<protocol_tool>& tools, argument_shapes& shapes,
                stream_output& output) noexcept
      : tools_{tools}, shapes_{shapes}, output_{output} {}

  /// The name of the call; empty: not known yet.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The call is known by its name.
  void start(std::string_view name);
  /// The next tag inside the call.
  void add(std::string_view call, const tag& t);
  /// The call has ended with what add() was told last.
  void end();
  /// The call, if it is one whose tags all went in pairs; nothing: it has to be read as a whole.
  [[nodiscard]] std::optional<parsed_call> whole();
  /// No tag begins before `end`.
  void advance(std::string_view call, std::size_t end);

private:
  void open(const tag& t);
  void close(std::string_view call, std::size_t end);
  void close_shown(std::string_view call, std::size_t end);

  const std::vector<protocol_tool>& tools_;
  argument_shapes& shapes_;
  stream_output& output_;
  std::string name_;                           // of the call
  std::optional<argument_progress> arguments_; // set when the name is known
  std::string run_key_;                        // of the parameters in run_
  std::string first_;         // of the values that stand one after the other under one key
  std::size_t run_count_ = 0; // how many there are
  json::array run_;           // values that stand one after the other under one key: a list
  std::string key_;           // of the open parameter
  const parameter* parameter_ = nullptr; // what the schema says of it
  std::uint8_t word_ = 0;                // of its tag
  std::size_t begin_ = 0;                // of its value
  std::size_t shown_ = 0;                // how far its value has been shown
  std::size_t blank_ = 0;                // only white space stands from shown_ to here
  bool inside_ = false;                  // a parameter is open
  bool as_text_ = false;                 // its value is shown while it grows
  bool is_odd_ = false;                  // a tag stood where none belongs
  bool has_early_ = false;               // a parameter stood before the name: it is not shown
  std::size_t name_begin_ = 0;           // of an open name element; 0: none
};

} // namespace superstep::qwen3_coder
