// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Maximum nesting of elements. It bounds the work for a close tag, which is compared with every
/// open element. Arguments that are nested deeper are an error. Functions that only balance tags
/// ignore deeper elements.
inline constexpr auto xml_depth_max = std::size_t{200};

/// A tag in a text: `<name …>`, `</name>` or `<name …/>`. The views point into the text.
struct xml_tag {
  std::size_t begin{}; ///< position of the `<`
  std::size_t end{};   ///< position after the `>`
  std::string_view name;
  std::string_view attributes;
  bool is_close{}; ///< whether it is `</name>`
  bool is_empty{}; ///< whether it is `<name …/>`
};

/// Whether a character is ASCII white space, including vertical tab and form feed.
[[nodiscard]] constexpr bool is_xml_space(char c) noexcept {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
/// Returns the text without ASCII white space at both ends.
[[nodiscard]] constexpr std::string_view trim_xml(std::string_view text) noexcept {
  while (!text.empty() && is_xml_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_xml_space(text.back()))
    text.remove_suffix(1);
  return text;
}
/// Parses the tag that begins at `at`, the position of a `<`. Returns false if there is no valid
/// tag or its `>` is missing.
[[nodiscard]] bool read_tag(std::string_view text, std::size_t at, xml_tag& tag);
/// Replaces the five named entities of XML by their characters. The result is not decoded again:
/// `&amp;lt;` becomes `&lt;`.
[[nodiscard]] std::string decode_entities(std::string_view text);
/// Decodes entities as above, but does not copy a text that has none.
/// @param buffer receives the decoded text if there are entities
/// @return a view of `text` or of `buffer`; valid as long as both are unchanged
[[nodiscard]] std::string_view decode_entities(std::string_view text, std::string& buffer);

/// Finds the ends of the CDATA sections and comments of one text. `<` inside them does not begin a
/// tag.
///
/// All searches in one text together take linear time, because a search for an end mark that fails
/// is not repeated.
class xml_sections {
public:
  explicit xml_sections(std::string_view text) noexcept : text_{text} {}

  /// Returns the end of the section that begins at `at`, the position of a `<`; `at` itself if no
  /// section begins there. A CDATA section without an end mark ends at the next `>`. A comment
  /// without an end mark is not a section.
  [[nodiscard]] std::size_t end_of(std::size_t at) noexcept;

private:
  std::string_view text_;
  bool has_data_end_ = true;    // false once a search for `]]>` has failed
  bool has_comment_end_ = true; // false once a search for `-->` has failed
};

inline constexpr auto data_open = std::string_view{"<![CDATA["};
inline constexpr auto data_close = std::string_view{"]]>"};
inline constexpr auto comment_open = std::string_view{"<!--"};
inline constexpr auto comment_close = std::string_view{"-->"};

/// Removes an incomplete tag from the end of an answer that was cut. A lone `<`, or a close tag
/// with an incomplete name such as `</bod`, can be removed without loss.
/// @param is_inside whether the end of the text is inside an element
/// @return the text without that tag; nullopt if the text ends inside a tag whose meaning is
/// unknown, such as `<bo`, or `</body` where `body` is open
[[nodiscard]] std::optional<std::string_view> without_cut_tag(std::string_view text,
                                                              bool is_inside);

/// Escapes text for the space between two tags. Only `&`, `<` and the `>` of `]]>` are replaced.
[[nodiscard]] std::string escape_text(std::string_view text);
/// Escapes text for an attribute value in quotes of this kind, `"` or `'`.
[[nodiscard]] std::string escape_attribute(std::string_view text, char quote = '"');

} // namespace superstep
