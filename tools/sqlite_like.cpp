// SPDX-License-Identifier: Apache-2.0
// LIKE and GLOB for queries that models write. SQLite's own functions run in one operation, which
// the progress handler cannot interrupt. A pattern of 200 characters and a text of 500 KB take half
// a second, and a query without a loop may call them a thousand times.
#include "sqlite_like.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <sqlite3.h>

namespace superstep::detail {

namespace {

/// Returns the characters of a text one by one, decoded as SQLite decodes them, including invalid
/// UTF-8.
class reader {
public:
  reader() = default;
  explicit reader(std::string_view text) : rest_{text} {}

  [[nodiscard]] bool is_at_end() const noexcept { return rest_.empty(); }
  [[nodiscard]] char peek() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }
  void skip_bytes(std::size_t count) { rest_.remove_prefix(count); }

  /// Returns the next character; 0 at the end.
  std::uint32_t next() {
    if (rest_.empty())
      return 0;
    const auto lead = take();
    return lead < 0xC0U ? lead : next_of_several(lead);
  }

private:
  std::uint32_t take() {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte;
  }
  std::uint32_t next_of_several(std::uint32_t lead) {
    constexpr auto replacement = std::uint32_t{0xFFFD};
    auto c = lead < 0xE0U   ? lead & 0x1FU
             : lead < 0xF0U ? lead & 0x0FU
             : lead < 0xF8U ? lead & 0x07U
             : lead < 0xFCU ? lead & 0x03U
             : lead < 0xFEU ? lead & 0x01U
                            : 0U;
    while (!rest_.empty() && (static_cast<unsigned char>(rest_.front()) & 0xC0U) == 0x80U)
      c = (c << 6U) + (take() & 0x3FU);
    const auto is_invalid =
        c < 0x80U || (c & 0xFFFFF800U) == 0xD800U || (c & 0xFFFFFFFEU) == 0xFFFEU;
    return is_invalid ? replacement : c;
  }

  std::string_view rest_;
};

/// The characters with a special meaning in a pattern. 0 means that there is no such character.
struct signs {
  std::uint32_t many = 0;
  std::uint32_t one = 0;
  std::uint32_t set = 0;    ///< first character of a set such as [a-z]
  std::uint32_t escape = 0; ///< makes the next character literal
  bool folds_case = false;  ///< whether the case of ASCII letters is ignored
};

constexpr auto like_signs = signs{'%', '_', 0, 0, true};
constexpr auto glob_signs = signs{'*', '?', '[', 0, false};

std::uint32_t lower(std::uint32_t c) {
  return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/// Whether a set such as [a-z] contains `c`. Moves `pattern` to the end of the set. A set that is
/// not closed contains nothing.
bool set_contains(reader& pattern, std::uint32_t c) {
  auto contains = false;
  auto is_inverted = false;
  auto before = std::uint32_t{0};
  auto member = pattern.next();
  if (member == '^') {
    is_inverted = true;
    member = pattern.next();
  }
  if (member == ']') { // a `]` as first member does not close the set
    contains = c == ']';
    member = pattern.next();
  }
  for (; member != 0 && member != ']'; member = pattern.next()) {
    if (member == '-' && before != 0 && pattern.peek() != ']' && pattern.peek() != '\0') {
      member = pattern.next();
      contains = contains || (c >= before && c <= member);
      before = 0;
    } else {
      contains = contains || c == member;
      before = member;
    }
  }
  return member != 0 && contains != is_inverted;
}

enum class outcome : std::uint8_t { matches, differs, interrupted };

/// Matches a text with a pattern from left to right. Each sign except `many` matches exactly one
/// character. So for the part before a `many`, the first match is as good as any later match. If
/// the text differs after a `many`, only the last `many` is tried again, with one more character
/// each time.
class matcher {
public:
  matcher(std::string_view pattern, std::string_view text, signs meaning, function_watch& watch)
      : pattern_{pattern}, text_{text}, meaning_{meaning}, watch_{watch} {}

  outcome run() {
    for (;;) {
      if (watch_.is_over_after(1 + std::exchange(bytes_skipped_, 0) / bytes_per_step))
        return outcome::interrupted;
      auto behind = pattern_;
      const auto sign = behind.next();
      if (sign != 0 && sign == meaning_.many) {
        pattern_ = behind;
        if (pattern_.is_at_end())
          return outcome::matches;
        start_part();
        if (!try_part())
          return outcome::differs;
        continue;
      }
      if (text_.is_at_end()) // a later start would leave even fewer characters
        return sign == 0 ? outcome::matches : outcome::differs;
      if (sign != 0 && takes(sign, behind)) {
        pattern_ = behind;
        continue;
      }
      if (!has_part_)
        return outcome::differs;
      part_text_.next();
      if (!try_part())
        return outcome::differs;
    }
  }

private:
  static constexpr auto bytes_per_step = std::size_t{8}; // when searching for a single character

  [[nodiscard]] bool are_same(std::uint32_t a, std::uint32_t b) const {
    return a == b || (meaning_.folds_case && a < 0x80U && b < 0x80U && lower(a) == lower(b));
  }

  /// Whether `sign` matches the next character of the text. Moves `behind` to the end of the sign.
  bool takes(std::uint32_t sign, reader& behind) {
    if (sign == meaning_.set)
      return set_contains(behind, text_.next());
    if (sign == meaning_.escape) {
      const auto literal = behind.next();
      return literal != 0 && are_same(literal, text_.next());
    }
    return are_same(sign, text_.next()) || sign == meaning_.one;
  }

  /// Records the part of the pattern that begins after a `many`.
  void start_part() {
    has_part_ = true;
    part_pattern_ = pattern_;
    part_text_ = text_;
    auto behind = pattern_;
    auto first = behind.next();
    if (first == meaning_.escape && first != 0)
      first = behind.next();
    else if (first == meaning_.one || first == meaning_.set || first == meaning_.many)
      first = 0;
    part_first_ = first < 0x80U ? static_cast<char>(first) : '\0';
  }

  /// Continues with the start of the recorded part, at the next position of the text where it may
  /// match. Returns false if there is no such position.
  bool try_part() {
    if (part_first_ != '\0') {
      const auto rest = part_text_.rest();
      const auto at = find_first(rest);
      if (at == rest.npos)
        return false;
      bytes_skipped_ = at;
      part_text_.skip_bytes(at);
    }
    text_ = part_text_;
    pattern_ = part_pattern_;
    return true;
  }

  [[nodiscard]] std::size_t find_first(std::string_view rest) const {
    const auto small = lower(static_cast<unsigned char>(part_first_));
    if (!meaning_.folds_case || small < 'a' || small > 'z')
      return rest.find(part_first_);
    const auto found = std::ranges::find_if(
        rest, [&](char c) { return (static_cast<unsigned char>(c) | 0x20U) == small; });
    return found == rest.end() ? rest.npos : static_cast<std::size_t>(found - rest.begin());
  }

  reader pattern_;
  reader text_;
  signs meaning_;
  function_watch& watch_;
  std::size_t bytes_skipped_ = 0; ///< number of bytes skipped since the watch was last asked
  bool has_part_ = false;
  char part_first_ = '\0'; ///< first character of the part if it is literal and ASCII, otherwise 0
  reader part_pattern_;
  reader part_text_;
};

/// Returns a value as text up to its first NUL character, because SQLite's own functions end there.
/// For NULL, data() of the result is null.
std::string_view c_text_of(sqlite3_value* value) {
  const auto* text = static_cast<const char*>(static_cast<const void*>(sqlite3_value_text(value)));
  return text == nullptr ? std::string_view{} : std::string_view{text, std::strlen(text)};
}

/// Whether SQLite was compiled so that a blob matches no pattern. Debian's SQLite is.
bool blobs_never_match() {
  return sqlite3_compileoption_used("LIKE_DOESNT_MATCH_BLOBS") != 0;
}

/// Implements the SQL functions `like(pattern, text[, escape])` and `glob(pattern, text)`.
void match(sqlite3_context* context, int count, sqlite3_value** values, signs meaning) {
  const auto is_blob = [](auto* value) { return sqlite3_value_type(value) == SQLITE_BLOB; };
  if ((is_blob(values[0]) || is_blob(values[1])) && blobs_never_match())
    return sqlite3_result_int(context, 0);
  const auto size_max =
      sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, -1);
  if (sqlite3_value_bytes(values[0]) > size_max)
    return sqlite3_result_error(context, "LIKE or GLOB pattern too complex", -1);
  if (count == 3) {
    const auto text = c_text_of(values[2]);
    if (text.data() == nullptr)
      return;
    auto escape = reader{text};
    meaning.escape = escape.next();
    if (meaning.escape == 0 || !escape.is_at_end())
      return sqlite3_result_error(context, "ESCAPE expression must be a single character", -1);
    if (meaning.escape == meaning.many)
      meaning.many = 0;
    if (meaning.escape == meaning.one)
      meaning.one = 0;
  }
  const auto pattern = c_text_of(values[0]);
  const auto text = c_text_of(values[1]);
  if (pattern.data() == nullptr || text.data() == nullptr)
    return;
  auto& watch = *static_cast<function_watch*>(sqlite3_user_data(context));
  const auto found = matcher{pattern, text, meaning, watch}.run();
  if (found == outcome::interrupted)
    return sqlite3_result_error_code(context, SQLITE_INTERRUPT);
  sqlite3_result_int(context, found == outcome::matches ? 1 : 0);
}

void like(sqlite3_context* context, int count, sqlite3_value** values) {
  match(context, count, values, like_signs);
}

void glob(sqlite3_context* context, int count, sqlite3_value** values) {
  match(context, count, values, glob_signs);
}

} // namespace

bool replace_like(sqlite3* db, function_watch& watch) {
  constexpr auto kind = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  const auto add = [&](const char* name, int count, auto* body) {
    return sqlite3_create_function_v2(db, name, count, kind, &watch, body, nullptr, nullptr,
                                      nullptr) == SQLITE_OK;
  };
  return add("like", 2, like) && add("like", 3, like) && add("glob", 2, glob);
}

} // namespace superstep::detail
