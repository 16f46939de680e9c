// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// Maximum length of a tag in bytes. A longer tag is ordinary text.
constexpr auto tag_max = std::size_t{512};

constexpr auto cdata_open = std::string_view{"<![CDATA["};
constexpr auto cdata_close = std::string_view{"]]>"};

/// The number of words that begin a tag.
constexpr auto word_count = std::size_t{11};

enum class tag_kind { block, call, parameter, name };

/// A tag of a call, such as `<function=x>`, `</param>`, `<tool_call name="x">` or `<name>`, in
/// upper or lower case. The views point into the text.
struct tag {
  tag_kind kind{};
  std::uint8_t word_index = 0; ///< index of the word in the table of words
  bool closing = false;
  bool self_closing = false;
  std::string_view word;  ///< function, call, tool, …, as written
  std::string_view value; ///< the name in the tag; empty if there is none
  std::size_t from = 0;   ///< position of its `<`
  std::size_t to = 0;     ///< position after its `>`
};

/// The result of reading a tag: no tag, more text is needed to decide, or a complete tag.
enum class reading { none, more, tag };
/// Parses the tag that begins at `at`, the position of a `<`.
[[nodiscard]] reading read_tag(std::string_view s, std::size_t at, tag& found);
/// Returns the tag that begins at `at`, or nullopt if there is none.
[[nodiscard]] std::optional<tag> tag_at(std::string_view s, std::size_t at);

/// Returns the end of the CDATA section that begins at `at`; npos if there is none or it has no
/// end.
[[nodiscard]] std::size_t cdata_end(std::string_view s, std::size_t at);

/// Iterates over the tags of a complete text. Tags in CDATA sections are skipped; a CDATA section
/// without an end is ordinary text.
class tag_cursor {
public:
  explicit tag_cursor(std::string_view text, std::size_t from = 0) noexcept
      : text_{text}, at_{from} {}
  /// Returns the next tag; nullopt at the end of the text.
  [[nodiscard]] std::optional<tag> next();
  /// Continues at an earlier tag that was already returned.
  void rewind(std::size_t at) noexcept { at_ = at; }

private:
  std::string_view text_;
  std::size_t at_;
  bool has_cdata_ = true; // false once a CDATA section without an end was found
};

/// Whether the tag certainly begins a call, because it contains the name of a tool.
[[nodiscard]] inline bool names_call(const tag& t) noexcept {
  return t.kind == tag_kind::call && !t.closing && !t.value.empty();
}

/// Finds the tag that ends a call. These tags do: the close tag of the call, the open tag of
/// another named call, and the tag of a block. The last two do not if they are inside the value of
/// a parameter whose close tag comes before that of the call: then they are part of the value.
/// Until this is known, such a tag is held.
class call_end_finder {
public:
  /// @param open the open tag of the call
  /// @param in_block whether the call is inside a block, so that a `</tool_call>` always ends it
  call_end_finder(const tag& open, bool in_block) noexcept
      : word_{open.word_index}, in_block_{in_block} {}

  /// Examines the next tag. Returns whether the call has ended: at held() if it is set, at this tag
  /// if not. At the end of the text, the call ends at held(), too.
  [[nodiscard]] bool add(const tag& t);
  /// Whether the tag is the close tag of the call.
  [[nodiscard]] bool closes(const tag& t) const noexcept {
    return t.kind == tag_kind::call && t.closing && t.word_index == word_;
  }
  /// Returns the position of the first held tag; nullopt if there is none.
  [[nodiscard]] std::optional<std::size_t> held() const noexcept {
    return held_.empty() ? std::nullopt : std::optional{held_.front().at};
  }

private:
  void add_parameter(const tag& t);

  /// The first held tag that is directly in the value of an open parameter.
  struct held_tag {
    std::size_t parameter; // number of parameters that are open there
    std::size_t at;
  };
  std::uint8_t word_;
  bool in_block_;
  std::vector<std::uint8_t> open_; // word_index of each open parameter
  std::vector<held_tag> held_;     // at most one per open parameter, in the order of the text
  std::array<std::size_t, word_count> count_{}; // number of open parameters by word
};

/// Maximum number of bytes of one answer that are read again because a held tag has ended a call.
/// After that, tags in values are not held. Bounds the time of answers with many calls without end.
constexpr auto reread_max = std::size_t{4'000'000};

/// White space at the beginning of a text, before a tag that belongs to the text before it.
struct space_before_tag {
  std::size_t length = 0; ///< in bytes
  /// Whether more text may continue the white space: the text ends in it, or inside a character.
  bool may_grow = false;
};
/// Measures white space. A tag after more than 64 bytes of it does not belong to the text before,
/// so that a stream need not hold back more. nullopt if there is more.
[[nodiscard]] std::optional<space_before_tag> space_before_tag_in(std::string_view s);

/// Whether a block, or a call outside a block, begins at `at`.
/// @param complete whether the text is complete; if false, the result may be `more`
/// @param found set to the tag if the result is `tag`
[[nodiscard]] reading opening_at(std::string_view all, std::size_t at, bool complete, tag& found);

/// The result of looking for superfluous `</tool_call>` tags before a call outside a block.
struct stray_closes {
  reading what = reading::none; ///< `tag` if there are such tags and a call follows
  std::size_t to = 0;           ///< position of that call
};
/// Looks for `</tool_call>` tags at `at`, the position of a `<`, that a call follows.
/// @param complete whether the text is complete; if false, the result may be `more`
[[nodiscard]] stray_closes stray_closes_at(std::string_view all, std::size_t at, bool complete);

/// Whether the piece is ordinary text: no call begins in it, and it does not end inside a tag that
/// may begin one.
[[nodiscard]] bool is_plain(std::string_view piece);

} // namespace superstep::qwen3_coder
