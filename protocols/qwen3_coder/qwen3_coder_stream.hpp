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

/// Reports the arguments of one streamed call while its text grows. All offsets are relative to the
/// beginning of the call; its text is passed to every function.
class call_progress {
public:
  call_progress(const std::vector<protocol_tool>& tools, argument_shapes& shapes,
                stream_output& output) noexcept
      : tools_{tools}, shapes_{shapes}, output_{output} {}

  /// Returns the name of the call; empty if it is not known yet.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Sets the name of the call and reports its beginning.
  void start(std::string_view name);
  /// Stops reporting: the next tag either belongs to the value of the open parameter or begins the
  /// next call. Which of the two is known only when this call is complete.
  void hold();
  /// Parses the next tag inside the call. Ignores it after hold().
  void add(std::string_view call, const tag& t);
  /// Ends the call. Reports the last argument if it was held back.
  void end();
  /// Returns the complete call if all its tags were regular. Nullopt if the text of the call must
  /// be parsed again as a whole.
  [[nodiscard]] std::optional<parsed_call> whole();
  /// Reports the value of the open parameter up to `end`. The caller ensures that no tag begins
  /// before `end`.
  void advance(std::string_view call, std::size_t end);

private:
  void open(const tag& t);
  void close(std::string_view call, std::size_t end);
  void close_shown(std::string_view call, std::size_t end);

  const std::vector<protocol_tool>& tools_;
  argument_shapes& shapes_;
  stream_output& output_;
  std::string name_;                           // the tool's name
  std::optional<argument_progress> arguments_; // set when the name is known

  // A run is a sequence of parameters with the same key; their values become a list.
  std::string run_key_;       // key of the current run
  std::string first_;         // value of the first parameter of the run
  std::size_t run_count_ = 0; // number of parameters in the run
  json::array run_;           // their values; empty while the run has one parameter

  // The open parameter.
  std::string key_;
  const parameter* parameter_ = nullptr; // its property in the schema
  std::uint8_t word_ = 0;                // word_index of its open tag
  std::size_t begin_ = 0;                // begin of its value
  std::size_t shown_ = 0;                // end of the reported part of its value
  std::size_t blank_ = 0;                // from shown_ to here there is only white space
  bool inside_ = false;                  // whether a parameter is open
  bool as_text_ = false;                 // whether its value is reported while it grows

  bool is_odd_ = false;        // whether a tag is out of place, so that whole() returns nullopt
  bool is_held_ = false;       // whether hold() was called
  bool has_early_ = false;     // whether a parameter came before the name
  std::size_t name_begin_ = 0; // begin of the text of an open name element; 0 if none is open
};

/// The parser for streamed answers of qwen3_coder. A call is reported while it grows. If its tags
/// are irregular, it is parsed again as a whole when it has ended, so that the result equals that
/// of the complete text.
class stream final : public protocol_stream {
public:
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error);
  void write(std::string_view piece) override;
  void refuse_unclosed() noexcept override { refuses_unclosed_ = true; }
  void finish() override;

private:
  enum class mode { text, block, call };

  void advance(bool complete);
  bool read_text(bool complete);
  bool read_block(bool complete);
  bool read_call(bool complete);
  bool drop_stray_closes(bool complete);
  /// Finds the next tag from scanned_ on. Returns `none` if the window contains no further tag.
  [[nodiscard]] reading next_tag(bool complete, tag& found);
  void take(std::size_t n);
  /// Begins the block or call at the beginning of the window.
  /// @param open its tag; only the offsets are valid, because take() has invalidated the views
  /// @param name the name in the tag; empty if the tag has none
  void begin_block(const tag& open, std::string name);
  void begin_call(const tag& open, std::string name, bool is_block);
  bool end_at_held(std::size_t end);
  [[nodiscard]] std::string open_name() const;
  void end_call(std::size_t end, std::size_t behind, bool at_finish);
  void leave_call(std::size_t behind);
  void end_block(std::size_t end);

  const std::vector<protocol_tool>& tools_;
  argument_shapes shapes_;
  stream_output output_;
  text_window window_; // begins with the text, block or call that is being parsed
  mode mode_ = mode::text;
  std::size_t scanned_ = 0;     // the window before this position has been searched for tags
  std::size_t cdata_scan_ = 0;  // position at which the search for the end of CDATA continues
  bool met_cdata_ = false;      // whether the open call contains a CDATA section
  bool has_cdata_ = true;       // false once a CDATA section without an end was found
  bool after_call_ = false;     // whether a stray `</tool_call>` may follow
  bool in_block_ = false;       // whether a block is open
  bool is_block_ = false;       // whether the open call is the block itself
  bool block_has_call_ = false; // whether a call has begun in the open block
  std::string outer_name_;      // name in the tag of the block, for calls without a name
  tag open_{};                  // tag of the open call; only its offsets are valid
  std::optional<call_end_finder> ends_; // set while a call is open
  std::size_t reread_ = 0;              // number of bytes that were read again; see reread_max
  std::optional<call_progress> progress_;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep::qwen3_coder
