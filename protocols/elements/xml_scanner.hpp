// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Deepest nesting of elements that is followed. Bounds the work for a close tag, which is compared
/// with every open element. Deeper arguments are malformed; where tags are only balanced, elements
/// below this depth are not tracked.
inline constexpr auto xml_depth_max = std::size_t{200};

/// A tag of a text: `<name …>`, `</name>`, `<name …/>`.
struct xml_tag {
  std::size_t begin{};
  std::size_t end{}; ///< position after the `>`
  std::string_view name;
  std::string_view attributes;
  bool is_close{};
  bool is_empty{};
};

[[nodiscard]] constexpr bool is_xml_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
[[nodiscard]] constexpr std::string_view trim_xml(std::string_view text) noexcept {
  while (!text.empty() && is_xml_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_xml_space(text.back()))
    text.remove_suffix(1);
  return text;
}
/// Reads the tag that begins at `at` (a `<`). Returns false if there is none or it does not end.
[[nodiscard]] bool read_tag(std::string_view text, std::size_t at, xml_tag& tag);
/// Decodes the five named entities, once.
[[nodiscard]] std::string decode_entities(std::string_view text);
/// As decode_entities(), but returns a text without entities itself.
/// @param buffer receives the decoded text; the result is valid until the buffer changes
[[nodiscard]] std::string_view decode_entities(std::string_view text, std::string& buffer);

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

/// Returns the text of elements without close tags, without a tag that was cut before its
/// name could matter (`…<`, `…</bod`). Nullopt if the text ends inside a tag, so that the intention
/// of the model is unknown (`…<bo`, or `…</body` of an open element).
/// @param is_inside whether the end of the text is inside an element
[[nodiscard]] std::optional<std::string_view> without_cut_tag(std::string_view text,
                                                              bool is_inside);

/// Text between tags: only what would be read as markup is replaced, `&`, `<` and `]]>`.
[[nodiscard]] std::string escape_text(std::string_view text);
/// Text between double quotes.
[[nodiscard]] std::string escape_attribute(std::string_view text);

} // namespace superstep
