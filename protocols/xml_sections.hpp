// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace superstep {

/// Finds the ends of the CDATA sections and comments of one text, in which no tag counts.
///
/// Linear for a whole text: that a mark does not occur any more is looked up once.
class xml_sections {
public:
  explicit xml_sections(std::string_view text) noexcept : text_{text} {}

  /// Returns where the section that begins at `at` (a `<`) ends; `at`: no section begins there. A
  /// CDATA section without an end reaches to the next `>`. A comment without an end is not skipped.
  [[nodiscard]] std::size_t end_of(std::size_t at) noexcept;

private:
  std::string_view text_;
  bool has_data_end_ = true;
  bool has_comment_end_ = true;
};

inline constexpr auto data_open = std::string_view{"<![CDATA["};
inline constexpr auto data_close = std::string_view{"]]>"};
inline constexpr auto comment_open = std::string_view{"<!--"};
inline constexpr auto comment_close = std::string_view{"-->"};

} // namespace superstep
