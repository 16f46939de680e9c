// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// Longest tag that is recognised; a `<` further from its `>` is text.
constexpr auto tag_max = std::size_t{512};

constexpr auto cdata_open = std::string_view{"<![CDATA["};
constexpr auto cdata_close = std::string_view{"]]>"};

/// How many words begin a tag.
constexpr auto word_count = std::size_t{11};

enum class tag_kind { block, call, parameter, name };

/// `<function=x>`, `</param>`, `<tool_call name="x">`, `<name>`, … in any case.
struct tag {
  tag_kind kind{};
  std::uint8_t word_index = 0; ///< the same for the same word, below word_count
  bool closing = false;
  bool self_closing = false;
  std::string_view word;  ///< function, call, tool, …, as written
  std::string_view value; ///< the name it gives; empty: none
  std::size_t from = 0;   ///< of its `<`
  std::size_t to = 0;     ///< behind its `>`
};

enum class reading { none, more, tag };
/// Reads the tag that begins at `at`. more: the text ends before that can be told.
[[nodiscard]] reading read_tag(std::string_view s, std::size_t at, tag& found);
/// The tag that begins at `at`; nothing: there is none.
[[nodiscard]] std::optional<tag> tag_at(std::string_view s, std::size_t at);

/// The end of the CDATA section that begins at `at`; npos: none does, or it has no end.
[[nodiscard]] std::size_t cdata_end(std::string_view s, std::size_t at);

/// The tags of a text outside CDATA, one after the other. A CDATA section without an end is none.
class tag_cursor {
public:
  explicit tag_cursor(std::string_view text, std::size_t from = 0) noexcept
      : text_{text}, at_{from} {}
  [[nodiscard]] std::optional<tag> next();

private:
  std::string_view text_;
  std::size_t at_;
  bool has_cdata_ = true; // one search without success is enough
};

/// A tag that begins a call for sure: outside a block, one that names it.
[[nodiscard]] inline bool names_call(const tag& t) noexcept {
  return t.kind == tag_kind::call && !t.closing && !t.value.empty();
}

} // namespace superstep::qwen3_coder
