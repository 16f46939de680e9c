// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/elements/tool_xml.hpp"
#include "protocols/elements/xml_scanner.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Follows the outermost elements of a text that grows.
class xml_elements {
public:
  enum class event {
    none,   ///< no further event in the text so far
    open,   ///< an element has begun
    close,  ///< it has ended, or it was empty
    broken, ///< the rest cannot be parsed
  };

  /// @param raw names of elements that contain text only
  explicit xml_elements(const raw_names& raw) noexcept : raw_{&raw} {}

  /// Continues to the next event. `text` begins with the earlier texts.
  [[nodiscard]] event next(std::string_view text);
  /// Returns the name of the element of the last event.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_open() const noexcept { return depth_ > 0; }
  [[nodiscard]] bool is_raw() const noexcept { return is_raw_; }
  /// Returns the position of the open tag of that element.
  [[nodiscard]] std::size_t element() const noexcept { return element_; }
  /// Returns the position after the tag of the last event.
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  /// Returns the content of the element of a close event if it is text without tags and the element
  /// has no attributes; nullopt otherwise.
  [[nodiscard]] std::optional<std::string_view> text_in(std::string_view text) const;
  /// Returns the position of the content of the element of the last event.
  [[nodiscard]] std::size_t content() const noexcept { return content_; }
  /// Returns the end of the content of the element of a close event.
  [[nodiscard]] std::size_t content_end() const noexcept { return content_end_; }
  /// Returns the position up to which the text has been parsed. Inside an element, the text before
  /// it belongs to that element.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  /// Returns the position up to which an open element is text, with or without its close tag.
  [[nodiscard]] std::size_t text_end() const noexcept { return std::min(at_, stray_); }
  /// Whether anything but white space stood outside the elements.
  [[nodiscard]] bool has_text() const noexcept { return has_text_; }

private:
  enum class section { none, data, comment };

  event outside(std::string_view text);
  event inside(std::string_view text);
  /// Moves at_ behind the section that begins there or is open. Returns false if it has no end yet.
  bool pass_section(std::string_view text);
  /// Moves at_ over text that belongs to the element however the open section ends.
  void pass_section_text(std::string_view text);
  [[nodiscard]] bool may_be_own_tag(std::string_view text, std::size_t at) const;
  /// Records a tag inside the open element that is not its own.
  void note_tag(const xml_tag& tag);

  static constexpr auto npos = std::string_view::npos;

  const raw_names* raw_;
  std::string name_;
  std::size_t at_ = 0;
  std::size_t element_ = 0;
  std::size_t begin_ = 0;
  std::size_t content_ = 0;
  std::size_t content_end_ = 0;
  std::vector<std::string> inner_;  // elements that are open inside of a text
  std::size_t stray_ = npos;        // a close tag that closes none of them
  section section_ = section::none; // that is open
  std::size_t section_scan_ = 0;    // its end does not begin before
  std::size_t depth_ = 0;           // of elements of the same name; 0: outside
  bool is_raw_ = false;
  bool has_attributes_ = false;
  bool has_text_ = false;
};

} // namespace superstep
