// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Deepest nesting of elements that is followed. Bounds the work for a close tag, which is compared
/// with every open element. Deeper arguments are malformed; where tags are only balanced, elements
/// below this depth are not tracked.
inline constexpr auto xml_depth_max = std::size_t{200};

/// One tag as it stands in a text: `<name …>`, `</name>`, `<name …/>`.
struct xml_tag {
  std::size_t begin{};
  std::size_t end{}; ///< behind the `>`
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
/// The tag that starts at `at` (a `<`); false: none does, or it does not end.
[[nodiscard]] bool read_tag(std::string_view text, std::size_t at, xml_tag& tag);
/// Decodes the five named entities, once.
[[nodiscard]] std::string decode_entities(std::string_view text);
/// As decode_entities(), but a text without any stays where it is.
/// @param buffer holds what was decoded; valid until it is used again
[[nodiscard]] std::string_view decode_entities(std::string_view text, std::string& buffer);

} // namespace superstep
