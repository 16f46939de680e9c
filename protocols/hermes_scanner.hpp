// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace superstep::hermes {

constexpr auto open_tag = std::string_view{"<tool_call>"};
constexpr auto close_tag = std::string_view{"</tool_call>"};

enum class found { nothing, close, nested };

/// Looks for the end of a call in text that grows: the close tag outside strings and comments, or
/// another call that begins before it. Every byte is looked at once, however the text is cut.
class scanner {
public:
  /// What the scanner is inside of. `_closed`: a close tag has stood in this comment.
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

  /// @param from where the body begins: behind the open tag
  explicit scanner(std::size_t from) noexcept : start_{from}, at_{from} {}

  /// Goes on until something is found or the text ends.
  /// @param complete no more text will come
  [[nodiscard]] found advance(std::string_view text, bool complete);
  /// As advance(), but stops at the next open tag as well. nothing: stopped there, or at the end.
  [[nodiscard]] found advance_to_tag(std::string_view text, bool complete);

  /// Where close or nested was found, or where the scan goes on.
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
  std::size_t probe_ = 0;   // how far white space behind an open tag has been skipped
  std::size_t word_ = npos; // where the bare word before at_ begins
  mode mode_ = mode::outside;
  bool passed_tag_ = false;

  static constexpr auto npos = std::string_view::npos;
};

} // namespace superstep::hermes
