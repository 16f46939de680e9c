// SPDX-License-Identifier: Apache-2.0
// Limits the cost of a query that a model wrote. SQLite calls its progress handler only between
// operations. So single operations that take long are prevented or replaced here. sqlite_like.cpp
// replaces LIKE and GLOB for the same reason.
#include "sqlite_guard.hpp"

#include "base/ascii_text.hpp"
#include "sqlite_like.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include <sqlite3.h>
#include <string.h>

namespace superstep::detail {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

/// The tokens of a query in lower case. Quotes of names are removed; texts and comments are
/// omitted.
class tokens {
public:
  explicit tokens(std::string_view query) : rest_{query} {
    while (!rest_.empty())
      next();
  }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] std::string_view at(std::size_t i) const {
    return i < all_.size() ? std::string_view{all_[i]} : std::string_view{};
  }
  /// Returns the position after the closing bracket for the opening bracket at `i`.
  [[nodiscard]] std::size_t after_bracket(std::size_t i) const {
    auto open = std::size_t{0};
    for (; i < all_.size(); ++i) {
      open += all_[i] == "(" ? 1 : 0;
      if (all_[i] == ")" && --open == 0)
        return i + 1;
    }
    return i;
  }

private:
  void skip_to(std::string_view end, std::size_t from) {
    const auto at = rest_.find(end, from);
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + end.size());
  }
  void quoted(char end) {
    const auto at = rest_.find(end, 1);
    if (rest_.front() != '\'')
      add(rest_.substr(1, at == std::string_view::npos ? at : at - 1));
    rest_.remove_prefix(at == std::string_view::npos ? rest_.size() : at + 1);
  }
  void add(std::string_view text) { all_.push_back(ascii_lower(text)); }
  void next() {
    const auto c = rest_.front();
    if (rest_.starts_with("--"))
      return skip_to("\n", 2);
    if (rest_.starts_with("/*"))
      return skip_to("*/", 2);
    if (c == '\'' || c == '"' || c == '`' || c == '[')
      return quoted(c == '[' ? ']' : c);
    auto size = std::size_t{1};
    while (is_word(c) && size < rest_.size() && is_word(rest_[size]))
      ++size;
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f')
      add(rest_.substr(0, size));
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  std::vector<std::string> all_;
};

/// Whether the token at `i` is the name in a definition of a common table expression:
/// `name [(columns)] AS [[NOT] MATERIALIZED] (`
bool defines_table(const tokens& all, std::size_t i) {
  auto next = all.at(i + 1) == "(" ? all.after_bracket(i + 1) : i + 1;
  if (all.at(next) != "as")
    return false;
  ++next;
  next += all.at(next) == "not" ? 1 : 0;
  next += all.at(next) == "materialized" ? 1 : 0;
  return all.at(next) == "(";
}

bool is_after_from(std::string_view before) {
  return before == "from" || before == "join" || before == "," || before == "(";
}

std::string_view text_of(sqlite3_value* value) {
  const auto* text = static_cast<const char*>(static_cast<const void*>(sqlite3_value_text(value)));
  return text == nullptr
             ? std::string_view{}
             : std::string_view{text, static_cast<std::size_t>(sqlite3_value_bytes(value))};
}

bool any_null(int count, sqlite3_value** values) {
  return std::any_of(values, values + count,
                     [](auto* v) { return sqlite3_value_type(v) == SQLITE_NULL; });
}

/// Counts a function call that processes `bytes`. Returns whether the query must end.
bool is_over(sqlite3_context* context, std::size_t bytes) {
  constexpr auto bytes_per_step = std::size_t{4};
  auto& watch = *static_cast<function_watch*>(sqlite3_user_data(context));
  const auto over = watch.is_over_after(1 + bytes / bytes_per_step);
  if (over)
    sqlite3_result_error_code(context, SQLITE_INTERRUPT);
  return over;
}

/// Returns the position of `part` in `text`; npos if there is none. memmem() takes linear time.
std::size_t find_in(std::string_view text, std::string_view part, std::size_t from) {
  const auto* found = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

void give(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void instr(sqlite3_context* context, int count, sqlite3_value** values) {
  if (any_null(count, values))
    return;
  const auto are_blobs =
      sqlite3_value_type(values[0]) == SQLITE_BLOB && sqlite3_value_type(values[1]) == SQLITE_BLOB;
  const auto bytes_of = [are_blobs](sqlite3_value* value) {
    if (!are_blobs)
      return text_of(value);
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
    return std::string_view{
        bytes, bytes == nullptr ? 0 : static_cast<std::size_t>(sqlite3_value_bytes(value))};
  };
  const auto text = bytes_of(values[0]);
  const auto part = bytes_of(values[1]);
  if (is_over(context, text.size()))
    return;
  const auto at = part.empty() ? 0 : text.empty() ? std::string_view::npos : find_in(text, part, 0);
  auto place = sqlite3_int64{0};
  if (at != std::string_view::npos) {
    place = 1;
    for (const auto c : text.substr(0, at)) // characters are counted in texts, bytes in blobs
      place += are_blobs || (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  }
  sqlite3_result_int64(context, place);
}

void replace(sqlite3_context* context, int count, sqlite3_value** values) {
  if (any_null(count, values))
    return;
  const auto text = text_of(values[0]);
  const auto part = text_of(values[1]);
  const auto with = text_of(values[2]);
  if (part.empty() || text.empty())
    return sqlite3_result_value(context, values[0]);
  if (is_over(context, text.size() * (1 + with.size() / part.size())))
    return;
  const auto size_max = static_cast<std::size_t>(
      sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
  auto out = std::string{};
  auto done = std::size_t{0};
  for (;;) {
    const auto at = find_in(text, part, done);
    out += text.substr(done, at == std::string_view::npos ? at : at - done);
    if (at == std::string_view::npos)
      break;
    out += with;
    done = at + part.size();
    if (out.size() > size_max)
      return sqlite3_result_error_toobig(context);
    if (done == text.size())
      break;
  }
  give(context, out);
}

/// Divides a text into its UTF-8 characters.
std::vector<std::string_view> characters_of(std::string_view list) {
  auto out = std::vector<std::string_view>{};
  for (auto i = std::size_t{0}; i < list.size();) {
    auto size = std::size_t{1};
    while (i + size < list.size() && (static_cast<unsigned char>(list[i + size]) & 0xC0U) == 0x80U)
      ++size;
    out.push_back(list.substr(i, size));
    i += size;
  }
  return out;
}

enum trim_side : unsigned { left = 1, right = 2 };

template <unsigned sides>
void trim(sqlite3_context* context, int count, sqlite3_value** values) {
  constexpr auto list_bytes_max = std::size_t{256};
  if (any_null(count, values))
    return;
  auto text = text_of(values[0]);
  const auto list = count > 1 ? text_of(values[1]) : std::string_view{" "};
  if (list.size() > list_bytes_max)
    return sqlite3_result_error(context, "the list of characters to trim is too long", -1);
  const auto set = characters_of(list);
  const auto find = [&](auto is_at) {
    const auto found = std::ranges::find_if(set, is_at);
    return found == set.end() ? std::size_t{0} : found->size();
  };
  while ((sides & left) != 0 && !text.empty()) {
    const auto size = find([&](auto c) { return text.starts_with(c); });
    if (is_over(context, list.size()))
      return;
    if (size == 0)
      break;
    text.remove_prefix(size);
  }
  while ((sides & right) != 0 && !text.empty()) {
    const auto size = find([&](auto c) { return text.ends_with(c); });
    if (is_over(context, list.size()))
      return;
    if (size == 0)
      break;
    text.remove_suffix(size);
  }
  give(context, text);
}

} // namespace

std::size_t expansions_of(std::string_view query, std::size_t max) {
  const auto all = tokens{query};
  auto references = std::map<std::string_view, std::size_t>{};
  for (auto i = std::size_t{0}; i < all.size(); ++i)
    if (is_word(all.at(i).empty() ? ' ' : all.at(i).front()) && defines_table(all, i))
      references.emplace(all.at(i), 0);
  for (auto i = std::size_t{1}; i < all.size(); ++i)
    if (const auto found = references.find(all.at(i));
        found != references.end() && is_after_from(all.at(i - 1)) && all.at(i + 1) != ".")
      ++found->second;
  auto out = std::size_t{1};
  for (const auto& [name, count] : references)
    out = std::min(max, out * std::max<std::size_t>(count, 1));
  return out;
}

bool has_wide_format(std::string_view query) {
  constexpr auto digits_max = std::size_t{4};
  const auto all = tokens{query};
  auto formats = false;
  for (auto i = std::size_t{0}; i < all.size(); ++i)
    formats = formats || ((all.at(i) == "printf" || all.at(i) == "format") && all.at(i + 1) == "(");
  for (auto at = query.find('%'); formats && at != std::string_view::npos;
       at = query.find('%', at + 1)) {
    auto digits = std::size_t{0};
    for (const auto c : query.substr(at + 1)) {
      if (c == '*')
        return true;
      digits = c >= '0' && c <= '9' ? digits + 1 : 0;
      if (digits > digits_max)
        return true;
      if (digits == 0 && std::string_view{"-+ 0#!,.;$"}.find(c) == std::string_view::npos)
        break;
    }
  }
  return false;
}

void limit_connection(sqlite3* db, std::size_t value_bytes_max) {
  // The progress handler runs only in loops. Code without loops is limited by the number of
  // operations and by the length of values.
  constexpr auto largest = std::size_t{1} << 30U;
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(std::min(value_bytes_max, largest)));
  sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 100'000);
  sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 200);
  sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
  sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 5'000);
  sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200);
  sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, 1'000);
}

void limit_row(sqlite3* db, sqlite3_stmt* query, std::size_t value_bytes_max) {
  // Less than the default of memory_bytes_max, so that memory is left for the arguments of
  // functions.
  constexpr auto row_bytes_max = std::size_t{24} << 20U;
  constexpr auto value_bytes_min = std::size_t{64} << 10U;
  const auto columns = static_cast<std::size_t>(std::max(sqlite3_column_count(query), 1));
  const auto share = std::max(row_bytes_max / columns, value_bytes_min);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, static_cast<int>(std::min(value_bytes_max, share)));
}

bool replace_slow_functions(sqlite3* db, function_watch& watch) {
  constexpr auto kind = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  const auto add = [&](const char* name, int count,
                       void (*body)(sqlite3_context*, int, sqlite3_value**)) {
    return sqlite3_create_function_v2(db, name, count, kind, &watch, body, nullptr, nullptr,
                                      nullptr) == SQLITE_OK;
  };
  auto done = add("instr", 2, instr) && add("replace", 3, replace) && replace_like(db, watch);
  for (const auto count : {1, 2})
    done = done && add("trim", count, trim<left | right>) && add("ltrim", count, trim<left>) &&
           add("rtrim", count, trim<right>);
  return done;
}

} // namespace superstep::detail
