// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/xml_reader.hpp"
#include "protocols/xml_scanner.hpp"

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
    none,   ///< nothing more up to the end of the text
    open,   ///< an element has begun
    close,  ///< it has ended, or it was empty
    broken, ///< what follows cannot be told apart
  };

  /// @param raw names of elements that hold text only
  explicit xml_elements(const raw_names& raw) noexcept : raw_{&raw} {}

  /// Goes on up to the next event. `text` begins with what was given before.
  [[nodiscard]] event next(std::string_view text);
  /// Of the last event.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] bool is_open() const noexcept { return depth_ > 0; }
  [[nodiscard]] bool is_raw() const noexcept { return is_raw_; }
  /// Of the open tag of the element of the last event.
  [[nodiscard]] std::size_t element() const noexcept { return element_; }
  /// Behind the tag of the last event.
  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  /// What the element of a close event holds, when that is text without tags in it and the element
  /// has no attributes; nothing: it holds more.
  [[nodiscard]] std::optional<std::string_view> text_in(std::string_view text) const;
  /// Where the content of the element of the last event begins.
  [[nodiscard]] std::size_t content() const noexcept { return content_; }
  /// Where that of a close event ends.
  [[nodiscard]] std::size_t content_end() const noexcept { return content_end_; }
  /// Up to here the text has been understood; inside an element it belongs to it.
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  /// Up to here an open element is text whether its own close tag comes or not.
  [[nodiscard]] std::size_t text_end() const noexcept { return std::min(at_, stray_); }
  /// Whether anything but white space stood outside the elements.
  [[nodiscard]] bool has_text() const noexcept { return has_text_; }

private:
  enum class section { none, data, comment };

  event outside(std::string_view text);
  event inside(std::string_view text);
  /// Steps over the section that begins at at_, or that is open. False: it has no end yet.
  bool pass_section(std::string_view text);
  /// Moves at_ over what is text of the element whatever comes of the open section.
  void pass_section_text(std::string_view text);
  [[nodiscard]] bool may_be_own_tag(std::string_view text, std::size_t at) const;
  /// Notes a tag inside of the open element that is not its own.
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
  std::size_t depth_ = 0; // of elements of the same name; 0: outside
  bool is_raw_ = false;
  bool has_attributes_ = false;
  bool has_text_ = false;
};

} // namespace superstep
