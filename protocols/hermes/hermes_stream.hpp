// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_shape.hpp"
#include "protocols/stream_output.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::hermes {

constexpr auto open_tag = std::string_view{"<tool_call>"};
constexpr auto close_tag = std::string_view{"</tool_call>"};

enum class found { nothing, close, nested };

/// A scanner for the end of one call in a growing text. The call ends at the first close tag
/// outside strings and comments, or before a nested call. Every byte is examined once, regardless
/// of the pieces in which the text arrives.
class scanner {
public:
  /// The part of the JSON that the scanner is in. The modes `…_closed` are comments that contain a
  /// close tag; after it, an open tag begins another call.
  enum class mode : unsigned char {
    outside,
    double_quoted,
    single_quoted,
    line_comment,
    line_comment_closed,
    block_comment,
    block_comment_closed,
  };
  static constexpr auto mode_count = std::size_t{7};

  /// Whether an open tag directly after the open tag of the call begins a nested call. As in the AI
  /// SDK middleware, it does in streams only.
  enum class first_tag : bool { is_text, may_nest };

  /// @param from the position of the body, after the open tag
  explicit scanner(std::size_t from, first_tag first = first_tag::may_nest) noexcept
      : start_{from}, at_{from}, first_{first} {}

  /// Scans until a close tag or a nested call is found, or the text ends.
  /// @param text the whole text so far, from the same first byte in every call
  /// @param complete whether the text is complete
  [[nodiscard]] found advance(std::string_view text, bool complete);
  /// Scans as advance() does, but also stops after the next open tag. The result is then `nothing`,
  /// and is_at_tag() is true.
  [[nodiscard]] found advance_to_tag(std::string_view text, bool complete);

  /// Returns the position of the found tag, or the position at which the scan continues.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] mode inside() const noexcept { return mode_; }
  [[nodiscard]] bool is_at_tag() const noexcept { return passed_tag_; }

private:
  enum class step { on, wait, close, nested };
  step outside(std::string_view text, bool complete);
  step quoted(std::string_view text);
  step comment(std::string_view text, bool complete);
  step slash(std::string_view text, bool complete);
  step tag(std::string_view text, bool complete);
  [[nodiscard]] bool may_begin_here(std::string_view text) const noexcept;
  [[nodiscard]] bool in_comment() const noexcept { return mode_ >= mode::line_comment; }

  std::size_t start_;
  std::size_t at_;
  std::size_t probe_ = 0;   // end of the white space after an open tag, as far as it has arrived
  std::size_t word_ = npos; // begin of the unquoted word before at_; npos if there is none
  mode mode_ = mode::outside;
  first_tag first_;
  bool passed_tag_ = false;

  static constexpr auto npos = std::string_view::npos;
};

/// The parser for streamed answers of hermes. A call is reported when it is complete.
class stream final : public protocol_stream {
public:
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error);
  void write(std::string_view piece) override;
  void refuse_unclosed() noexcept override { refuses_unclosed_ = true; }
  void finish() override;

private:
  void advance(bool complete);
  bool read_text(bool complete);
  bool read_call(bool complete);
  void emit_text(std::string_view text);
  void emit_call(parsed_call call);
  void fail(const char* code, std::string_view body, std::string_view span);

  const std::vector<protocol_tool>& tools_;
  argument_shapes shapes_;
  stream_options options_;
  protocol_event_handler on_event_;
  protocol_error_handler on_error_;
  text_window window_;             // the open call from its open tag, or an incomplete open tag
  std::optional<scanner> scanner_; // set while a call is open
  std::size_t calls_ = 0;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep::hermes
