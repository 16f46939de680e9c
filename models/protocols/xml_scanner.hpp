// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// One tag as it stands in a text: `<name …>`, `</name>`, `<name …/>`.
struct xml_tag {
  std::size_t begin{};
  std::size_t end{}; ///< behind the `>`
  std::string_view name;
  std::string_view attributes;
  bool is_close{};
  bool is_empty{};
};

[[nodiscard]] bool is_xml_space(char c) noexcept;
[[nodiscard]] std::string_view trim_xml(std::string_view text) noexcept;
/// The tag that starts at `at` (a `<`); false: none does, or it does not end.
[[nodiscard]] bool read_tag(std::string_view text, std::size_t at, xml_tag& tag);
/// Decodes the five named entities, once.
[[nodiscard]] std::string decode_entities(std::string_view text);

} // namespace superstep
