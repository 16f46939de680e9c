// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/qwen3_coder_call.hpp"
#include "protocols/qwen3_coder_progress.hpp"
#include "protocols/stream_output.hpp"
#include "protocols/text_window.hpp"

#include <optional>
#include <string>
#include <vector>

namespace superstep::qwen3_coder {

/// Reads tag by tag. A call is shown while it grows, and read as a whole once it has ended, so
/// that it is what the same text says in one piece.
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
  /// The next tag from scanned_ on. none: there is none up to the end.
  [[nodiscard]] reading next_tag(bool complete, tag& found);
  void take(std::size_t n);
  /// @param open begins the window; its views are gone
  /// @param name that it gives, as it stands there
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
  bool in_block_ = false;       // the call stands in a block
  bool is_block_ = false;       // the call is its block
  bool block_has_call_ = false; // or had one that was no call
  std::string outer_name_;      // that the block gives its calls
  tag open_{};                  // of the call; its offsets only
  std::optional<call_progress> progress_;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep::qwen3_coder
