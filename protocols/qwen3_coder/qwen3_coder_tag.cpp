// SPDX-License-Identifier: Apache-2.0
// Parses single tags of qwen3_coder calls in all accepted spellings, and decides which tags begin a
// call.
#include "protocols/qwen3_coder/qwen3_coder_tag.hpp"

#include "protocols/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace superstep::qwen3_coder {

namespace {

constexpr auto block_word = std::string_view{"tool_call"};
constexpr auto words = std::array<std::pair<std::string_view, tag_kind>, word_count>{{
    {block_word, tag_kind::block},
    {"function", tag_kind::call},
    {"call", tag_kind::call},
    {"tool", tag_kind::call},
    {"invoke", tag_kind::call},
    {"parameter", tag_kind::parameter},
    {"param", tag_kind::parameter},
    {"argument", tag_kind::parameter},
    {"arg", tag_kind::parameter},
    {"name", tag_kind::name},
    {"tool_name", tag_kind::name},
}};

bool is_letter(char c) noexcept {
  return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_';
}

bool is_space(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/// Whether a word of the table begins with this letter. A fast test that rejects most `<` in
/// ordinary text.
bool begins_word(char c) noexcept {
  static constexpr auto first_letters = [] {
    auto table = std::array<bool, 256>{};
    for (const auto& [word, kind] : words)
      table[static_cast<unsigned char>(word.front())] = true;
    return table;
  }();
  return first_letters[static_cast<unsigned char>(ascii_lower(c))];
}

void skip_space(std::string_view s, std::size_t& at) noexcept {
  while (at < s.size() && is_space(s[at]))
    ++at;
}

std::string_view read_word(std::string_view s, std::size_t& at) noexcept {
  const auto from = at;
  while (at < s.size() && is_letter(s[at]))
    ++at;
  return s.substr(from, at - from);
}

const std::pair<std::string_view, tag_kind>* known(std::string_view word) noexcept {
  const auto found = std::ranges::find_if(words, [&](const auto& each) {
    return each.first == word ||
           (each.first.size() == word.size() && equal_any_case(each.first, word));
  });
  return found == words.end() ? nullptr : &*found;
}

/// Returns the name x in a tag such as `<function=x>`, `<function="x">` or `<function name="x">`;
/// empty if there is none.
/// @param s the text between the word and the `>`
std::string_view tag_value(std::string_view s) noexcept {
  auto at = std::size_t{0};
  skip_space(s, at);
  // Skips attributes other than `name`.
  while (at < s.size() && s[at] != '=') {
    const auto attribute = read_word(s, at);
    skip_space(s, at);
    if (attribute.empty() || at >= s.size() || s[at] != '=')
      return {};
    if (equal_any_case(attribute, "name"))
      break;
    ++at;
    skip_space(s, at);
    const auto quote = at < s.size() ? s[at] : '\0';
    if (quote == '"' || quote == '\'')
      at = std::min(s.size(), s.find(quote, at + 1)) + 1;
    else
      while (at < s.size() && !is_space(s[at]))
        ++at;
    skip_space(s, at);
  }
  if (at >= s.size())
    return {};
  ++at;
  skip_space(s, at);
  if (at < s.size() && (s[at] == '"' || s[at] == '\''))
    return text::trim(s.substr(at + 1, s.find(s[at], at + 1) - at - 1));
  const auto from = at;
  while (at < s.size() && !is_space(s[at]))
    ++at;
  return s.substr(from, at - from);
}

/// Finds the `>` of a tag outside quotes.
/// @return its position; s.size() if it has not arrived yet; npos if another `<` comes first or the
/// tag is too long
std::size_t close_of(std::string_view s, std::size_t at) noexcept {
  const auto end = std::min(s.size(), at + tag_max);
  auto quote = '\0';
  for (auto i = at; i < end; ++i) {
    const auto c = s[i];
    if (quote != '\0')
      quote = c == quote ? '\0' : quote;
    else if ((c == '"' || c == '\'') && (s[i - 1] == '=' || is_space(s[i - 1])))
      quote = c;
    else if (c == '>')
      return i;
    else if (c == '<')
      return s.npos;
  }
  return end < s.size() ? s.npos : end;
}

bool may_become_word(std::string_view begin) noexcept {
  return std::ranges::any_of(words, [&](const auto& each) {
    return equal_any_case(each.first.substr(0, begin.size()), begin);
  });
}

} // namespace

reading read_tag(std::string_view s, std::size_t at, tag& found) {
  found = tag{};
  found.from = at++;
  skip_space(s, at);
  if (at < s.size() && s[at] == '/') {
    found.closing = true;
    ++at;
    skip_space(s, at);
  }
  if (at - found.from > tag_max || (at < s.size() && !begins_word(s[at])))
    return reading::none;
  found.word = read_word(s, at);
  if (at >= s.size())
    return may_become_word(found.word) ? reading::more : reading::none;
  const auto* entry = known(found.word);
  if (entry == nullptr || !(is_space(s[at]) || s[at] == '=' || s[at] == '>' || s[at] == '/'))
    return reading::none;
  found.kind = entry->second;
  found.word_index = static_cast<std::uint8_t>(entry - words.data());
  const auto close = close_of(s, at);
  if (close == s.npos)
    return reading::none;
  if (close == s.size())
    return reading::more;
  auto inner = s.substr(at, close - at);
  if (inner.ends_with('/')) {
    found.self_closing = !found.closing;
    inner.remove_suffix(1);
  }
  found.value = tag_value(inner);
  found.to = close + 1;
  return reading::tag;
}

std::optional<tag> tag_at(std::string_view s, std::size_t at) {
  auto found = tag{};
  if (read_tag(s, at, found) == reading::tag)
    return found;
  return {};
}

std::size_t cdata_end(std::string_view s, std::size_t at) {
  if (!s.substr(at).starts_with(cdata_open))
    return s.npos;
  const auto end = s.find(cdata_close, at);
  return end == s.npos ? s.npos : end + cdata_close.size();
}

std::optional<tag> tag_cursor::next() {
  for (at_ = text_.find('<', at_); at_ != text_.npos; at_ = text_.find('<', at_)) {
    if (at_ + 1 < text_.size() && text_[at_ + 1] == '<') {
      ++at_;
      continue;
    }
    if (has_cdata_ && text_.substr(at_).starts_with(cdata_open)) {
      const auto end = cdata_end(text_, at_);
      has_cdata_ = end != text_.npos;
      at_ = has_cdata_ ? end : at_ + 1;
    } else if (const auto found = tag_at(text_, at_)) {
      at_ = found->to;
      return found;
    } else {
      ++at_;
    }
  }
  return {};
}

bool call_end_finder::add(const tag& t) {
  if (closes(t))
    return true;
  if (t.kind == tag_kind::parameter) {
    add_parameter(t);
    return false;
  }
  if (t.kind != tag_kind::block && !names_call(t))
    return false;
  if (open_.empty() || (in_block_ && t.kind == tag_kind::block && t.closing))
    return true;
  if (held_.empty() || held_.back().parameter != open_.size())
    held_.push_back({open_.size(), t.from});
  return false;
}

void call_end_finder::add_parameter(const tag& t) {
  if (t.self_closing)
    return;
  if (!t.closing) {
    open_.push_back(t.word_index);
    ++count_[t.word_index];
    return;
  }
  if (count_[t.word_index] == 0)
    return;
  // Parameters inside the closed one are part of its value, whether they have close tags or not.
  for (auto word = word_count; word != t.word_index; open_.pop_back()) {
    word = open_.back();
    --count_[word];
  }
  while (!held_.empty() && held_.back().parameter > open_.size())
    held_.pop_back();
}

std::optional<space_before_tag> space_before_tag_in(std::string_view s) {
  constexpr auto length_max = std::size_t{64};
  auto out = space_before_tag{};
  while (const auto next = text::space_at(s, out.length))
    if (out.length += next; out.length > length_max)
      return {};
  out.may_grow = text::may_become_space(s.substr(out.length));
  return out;
}

reading opening_at(std::string_view all, std::size_t at, bool complete, tag& found) {
  auto what = read_tag(all, at, found);
  if (what == reading::more)
    return found.closing || complete ? reading::none : what;
  if (what == reading::none || found.closing)
    return reading::none;
  if (found.kind == tag_kind::block || names_call(found))
    return what;
  if (found.kind != tag_kind::call || found.self_closing)
    return reading::none;
  // Ordinary text may contain tags like <tool>. Such a tag begins a call only if a name element
  // follows.
  const auto space = space_before_tag_in(all.substr(found.to));
  if (!space)
    return reading::none;
  if (space->may_grow)
    return complete ? reading::none : reading::more;
  const auto name = found.to + space->length;
  auto child = tag{};
  const auto next = all[name] == '<' ? read_tag(all, name, child) : reading::none;
  if (next == reading::more && !complete)
    return next;
  const auto is_name = next == reading::tag && child.kind == tag_kind::name && !child.closing;
  return is_name ? reading::tag : reading::none;
}

stray_closes stray_closes_at(std::string_view all, std::size_t at, bool complete) {
  constexpr auto closes_max = 2; // bounds the text that a stream must hold back
  const auto more = complete ? reading::none : reading::more;
  auto found = tag{};
  for (auto closes = 0; closes <= closes_max; ++closes) {
    const auto what = read_tag(all, at, found);
    if (what == reading::more && found.closing)
      return {equal_any_case(block_word.substr(0, found.word.size()), found.word) ? more
                                                                                  : reading::none,
              0};
    if (what != reading::tag || found.kind != tag_kind::block || !found.closing) {
      const auto opening = closes > 0 ? opening_at(all, at, complete, found) : reading::none;
      return opening == reading::tag && found.kind == tag_kind::block ? stray_closes{}
                                                                      : stray_closes{opening, at};
    }
    const auto space = space_before_tag_in(all.substr(found.to));
    if (!space)
      return {};
    at = found.to + space->length;
    if (space->may_grow)
      return {more, 0};
    if (all[at] != '<')
      return {};
  }
  return {};
}

bool is_plain(std::string_view piece) {
  auto found = tag{};
  for (auto at = piece.find('<'); at != piece.npos; at = piece.find('<', at + 1))
    if (opening_at(piece, at, false, found) != reading::none ||
        stray_closes_at(piece, at, false).what != reading::none)
      return false;
  return true;
}

} // namespace superstep::qwen3_coder
