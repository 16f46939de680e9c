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

/// The number of words that begin a tag.
constexpr auto word_count = std::size_t{11};

enum class tag_kind { block, call, parameter, name };

/// `<function=x>`, `</param>`, `<tool_call name="x">`, `<name>`, … in any case.
struct tag {
  tag_kind kind{};
  std::uint8_t word_index = 0; ///< the same for the same word, below word_count
  bool closing = false;
  bool self_closing = false;
  std::string_view word;  ///< function, call, tool, …, as written
  std::string_view value; ///< the name in the tag; empty if there is none
  std::size_t from = 0;   ///< position of its `<`
  std::size_t to = 0;     ///< position after its `>`
};

enum class reading { none, more, tag };
/// Reads the tag that begins at `at`. `more`: the text ends before that is known.
[[nodiscard]] reading read_tag(std::string_view s, std::size_t at, tag& found);
/// Returns the tag that begins at `at`, or nullopt if there is none.
[[nodiscard]] std::optional<tag> tag_at(std::string_view s, std::size_t at);

/// Returns the end of the CDATA section that begins at `at`; npos if there is none or it has no
/// end.
[[nodiscard]] std::size_t cdata_end(std::string_view s, std::size_t at);

/// Iterates over the tags of a text outside CDATA. An unterminated CDATA section is ordinary text.
class tag_cursor {
public:
  explicit tag_cursor(std::string_view text, std::size_t from = 0) noexcept
      : text_{text}, at_{from} {}
  [[nodiscard]] std::optional<tag> next();

private:
  std::string_view text_;
  std::size_t at_;
  bool has_cdata_ = true; // whether a search for the end of a section may succeed
};

/// Whether the tag certainly begins a call, because it contains the name of one.
[[nodiscard]] inline bool names_call(const tag& t) noexcept {
  return t.kind == tag_kind::call && !t.closing && !t.value.empty();
}

// More white space than this between a call and a stray close tag is text.
inline constexpr auto stray_space_max = std::size_t{64};

/// Whether a block, or a call outside a block, begins at `at`. `more`: the text ends before that is
/// known.
/// @param complete whether no more text will follow
[[nodiscard]] reading opening_at(std::string_view all, std::size_t at, bool complete, tag& found);

/// Whether no call begins in the text or with its end.
[[nodiscard]] bool is_plain(std::string_view piece);

} // namespace superstep::qwen3_coder
