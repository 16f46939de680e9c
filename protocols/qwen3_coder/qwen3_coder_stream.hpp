// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_progress.hpp"
#include "protocols/qwen3_coder/qwen3_coder_call.hpp"
#include "protocols/qwen3_coder/qwen3_coder_tag.hpp"
#include "protocols/stream_output.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// Reports the arguments of one call while its text grows. Offsets are relative to the text of the
/// call, which always begins at the same byte.
class call_progress {
public:
  call_progress(const std::vector<protocol_tool>& tools, argument_shapes& shapes,
                stream_output& output) noexcept
      : tools_{tools}, shapes_{shapes}, output_{output} {}

  /// Returns the name of the call; empty if it is not known yet.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Sets the name of the call.
  void start(std::string_view name);
  /// Adds the next tag inside the call.
  void add(std::string_view call, const tag& t);
  /// Ends the call after the last tag given to add().
  void end();
  /// Returns the call if all its tags were paired. Nullopt if its text has to be parsed as a whole.
  [[nodiscard]] std::optional<parsed_call> whole();
  /// Reports the text before `end`, where no tag begins.
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
  std::string first_;                          // of consecutive values with one key
  std::size_t run_count_ = 0;                  // how many there are
  json::array run_;                            // consecutive values with one key: a list
  std::string key_;                            // of the open parameter
  const parameter* parameter_ = nullptr;       // its property in the schema
  std::uint8_t word_ = 0;                      // of its tag
  std::size_t begin_ = 0;                      // of its value
  std::size_t shown_ = 0;                      // end of the reported part of its value
  std::size_t blank_ = 0;                      // only white space between shown_ and here
  bool inside_ = false;                        // a parameter is open
  bool as_text_ = false;                       // its value is reported while it grows
  bool is_odd_ = false;                        // a tag is out of place
  bool has_early_ = false;                     // a parameter preceded the name and is not reported
  std::size_t name_begin_ = 0;                 // of an open name element; 0: none
};

/// The stream of the qwen3_coder protocol, which reads tag by tag. A call is reported while it
/// grows and parsed as a whole when it has ended, so that the result equals that of the complete
/// text.
class stream final : public protocol_stream {
public:
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error);
  void write(std::string_view piece) override;
  void refuse_unclosed() noexcept override { refuses_unclosed_ = true; }
  void finish() override;

private:
  enum class mode { text, block, call };
  enum class wait { no, yes };

  void advance(bool complete);
  bool read_text(bool complete);
  bool read_block(bool complete);
  bool read_call(bool complete);
  bool drop_stray_close(bool complete);
  /// Finds the next tag after scanned_. `none`: there is none up to the end.
  [[nodiscard]] reading next_tag(bool complete, tag& found);
  void take(std::size_t n);
  /// @param open the tag at the begin of the window; its views are invalid
  /// @param name the name in the tag, as written
  void begin_block(const tag& open, std::string name);
  void begin_call(const tag& open, std::string name, bool is_block);
  [[nodiscard]] std::string open_name() const;
  void end_call(std::size_t end, std::size_t behind, bool at_finish);
  void leave_call(std::size_t behind);
  void end_block(std::size_t end);

  const std::vector<protocol_tool>& tools_;
  argument_shapes shapes_;
  stream_output output_;
  text_window window_; // begins with the text, block or call that is being read
  mode mode_ = mode::text;
  std::size_t scanned_ = 0;     // of the window; no tag begins before
  std::size_t cdata_scan_ = 0;  // how far the end of the CDATA section at scanned_ was looked for
  bool met_cdata_ = false;      // in the call
  bool has_cdata_ = true;       // false: the section at scanned_ has no end
  bool after_call_ = false;     // a close tag of a block that was never opened may follow
  bool in_block_ = false;       // the call is inside a block
  bool is_block_ = false;       // the call is its block
  bool block_has_call_ = false; // or had one that could not be parsed
  std::string outer_name_;      // the name in the tag of the block, for its calls
  tag open_{};                  // of the call; its offsets only
  std::optional<call_progress> progress_;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep::qwen3_coder
