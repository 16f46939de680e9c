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

/// A parser that reports the beginning and end of the outermost elements of a growing text.
/// Elements inside them are not reported.
class xml_elements {
public:
  enum class event {
    none,   ///< all text so far has been parsed; more text is needed for an event
    open,   ///< an element has begun
    close,  ///< the open element has ended, or an empty element `<name/>` was found
    broken, ///< the next tag is invalid; the rest cannot be parsed
  };

  /// @param raw names of elements whose content is text; must outlive this object
  explicit xml_elements(const raw_names& raw) noexcept : raw_{&raw} {}

  /// Parses up to the next event.
  /// @param text the whole text so far, from the same first byte in every call
  [[nodiscard]] event next(std::string_view text);

  // "The element" below is the element of the last open or close event. Positions are byte offsets
  // in the text.

  /// Returns the name of the element.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether the element has begun and not ended.
  [[nodiscard]] bool is_open() const noexcept { return depth_ > 0; }
  /// Whether the content of the element is text and not parsed.
  [[nodiscard]] bool is_raw() const noexcept { return is_raw_; }
  /// Returns the position of the element's open tag.
  [[nodiscard]] std::size_t element() const noexcept { return element_; }
  /// Returns the position after the tag of the last event.
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  /// Returns the content of an element that has ended. Nullopt if the element is not raw, and has
  /// attributes or contains a `<`.
  [[nodiscard]] std::optional<std::string_view> text_in(std::string_view text) const;
  /// Returns the position at which the content of the element begins.
  [[nodiscard]] std::size_t content() const noexcept { return content_; }
  /// Returns the position at which the content ends. @pre the element has ended
  [[nodiscard]] std::size_t content_end() const noexcept { return content_end_; }
  /// Returns the position up to which the text has been parsed. Inside an element, all text before
  /// this position belongs to the element.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  /// Returns the position up to which the text is certainly the content of the open raw element,
  /// even if the element is never closed. The repair of an unclosed element removes a close tag
  /// that closes no inner element, so the text from such a tag on is not certain.
  [[nodiscard]] std::size_t text_end() const noexcept { return std::min(at_, stray_); }
  /// Whether there was text other than white space outside the elements.
  [[nodiscard]] bool has_text() const noexcept { return has_text_; }

private:
  /// A part of the text in which tags do not count: a CDATA section or a comment.
  enum class section { none, data, comment };

  event outside(std::string_view text);
  event inside(std::string_view text);
  /// Moves at_ to the end of the open section, or of a section that begins at at_. Returns false if
  /// the end has not arrived yet.
  bool pass_section(std::string_view text);
  /// Moves at_ forward inside a section whose end has not arrived. Stops before a tag that would
  /// close the element if the section never ends.
  void pass_section_text(std::string_view text);
  /// Whether a tag with the name of the open element may begin at `at`.
  [[nodiscard]] bool may_be_own_tag(std::string_view text, std::size_t at) const;
  /// Records a tag with another name inside the open raw element.
  void note_tag(const xml_tag& tag);

  static constexpr auto npos = std::string_view::npos;

  const raw_names* raw_;
  std::string name_;
  std::size_t at_ = 0;
  std::size_t element_ = 0;
  std::size_t begin_ = 0;
  std::size_t content_ = 0;
  std::size_t content_end_ = 0;
  std::vector<std::string> inner_;  // names of the tags that are open inside a raw element
  std::size_t stray_ = npos;        // position of a close tag that closes none of inner_
  section section_ = section::none; // the kind of the section that is open
  std::size_t section_scan_ = 0;    // the end of the open section is not before this position
  std::size_t depth_ = 0;           // nesting of elements with name_; 0 outside all elements
  bool is_raw_ = false;
  bool has_attributes_ = false;
  bool has_text_ = false;
};

} // namespace superstep
