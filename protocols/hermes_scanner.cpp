// SPDX-License-Identifier: Apache-2.0
#include "protocols/hermes_scanner.hpp"

#include "protocols/coerce_text.hpp"
#include "protocols/eight_bytes.hpp"

#include <algorithm>

namespace superstep::hermes {

namespace {

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text::is_digit(c) ||
         std::string_view{"$_+.*?!|&%^/#-\\"}.find(c) != std::string_view::npos;
}

/// A comment may follow a keyword or a number at once; in any other word the slashes are letters.
bool ends_before_comment(std::string_view word) noexcept {
  constexpr auto number_max = std::size_t{64};
  return word == "true" || word == "false" || word == "null" ||
         (word.size() <= number_max && text::number_of(word).has_value());
}

bool is_cut(std::string_view rest, std::string_view tag) noexcept {
  return rest.size() < tag.size() && tag.starts_with(rest);
}

} // namespace

found scanner::advance(std::string_view text, bool complete) {
  for (;;) {
    const auto result = advance_to_tag(text, complete);
    if (result != found::nothing || !passed_tag_)
      return result;
  }
}

found scanner::advance_to_tag(std::string_view text, bool complete) {
  passed_tag_ = false;
  while (at_ < text.size()) {
    auto s = step::on;
    if (mode_ == mode::outside)
      s = outside(text, complete);
    else if (in_comment())
      s = comment(text, complete);
    else
      s = quoted(text);
    if (s == step::close)
      return found::close;
    if (s == step::nested)
      return found::nested;
    if (s == step::wait || passed_tag_)
      return found::nothing;
  }
  return found::nothing;
}

scanner::step scanner::outside(std::string_view text, bool complete) {
  const auto c = text[at_];
  if (c == '<')
    return tag(text, complete);
  if (c == '/' && (at_ + 1 >= text.size() || text[at_ + 1] == '/' || text[at_ + 1] == '*'))
    return slash(text, complete);
  if (c == '"' || c == '\'')
    mode_ = c == '"' ? mode::double_quoted : mode::single_quoted;
  if (!is_word(c))
    word_ = npos;
  else if (word_ == npos)
    word_ = at_;
  ++at_;
  return step::on;
}

scanner::step scanner::slash(std::string_view text, bool complete) {
  if (at_ + 1 >= text.size() && !complete)
    return step::wait;
  const auto comment = at_ + 1 < text.size() &&
                       (word_ == npos || ends_before_comment(text.substr(word_, at_ - word_)));
  if (comment) {
    mode_ = text[at_ + 1] == '/' ? mode::line_comment : mode::block_comment;
    word_ = npos;
    at_ += 2;
    return step::on;
  }
  if (word_ == npos)
    word_ = at_;
  ++at_;
  return step::on;
}

scanner::step scanner::quoted(std::string_view text) {
  const auto quote = mode_ == mode::double_quoted ? '"' : '\'';
  while (at_ < text.size()) {
    if (text.size() - at_ >= 8)
      if (const auto next = eight_bytes{text.data() + at_};
          !next.has(quote) && !next.has('\\') && !next.has('<')) {
        at_ += 8;
        continue;
      }
    const auto c = text[at_];
    if (c == quote) {
      mode_ = mode::outside;
      ++at_;
      return step::on;
    }
    if (c == '\\') {
      if (at_ + 1 >= text.size())
        return step::wait;
      at_ += 2;
      continue;
    }
    // Open tags in strings are places where two scans may be found to be one.
    if (c == '<' && text.substr(at_).starts_with(open_tag)) {
      at_ += open_tag.size();
      passed_tag_ = true;
      return step::on;
    }
    ++at_;
  }
  return step::on;
}

scanner::step scanner::comment(std::string_view text, bool complete) {
  const auto line = mode_ == mode::line_comment || mode_ == mode::line_comment_closed;
  const auto c = text[at_];
  if (line && c == '\n') {
    mode_ = mode::outside;
    ++at_;
    return step::on;
  }
  if (!line && c == '*') {
    if (at_ + 1 >= text.size() && !complete)
      return step::wait;
    if (text.substr(at_).starts_with("*/")) {
      mode_ = mode::outside;
      at_ += 2;
      return step::on;
    }
  }
  if (c == '<')
    return tag(text, complete);
  ++at_;
  return step::on;
}

bool scanner::may_begin_here(std::string_view text) const noexcept {
  if (at_ == start_ || text[at_ - 1] == '}')
    return true;
  for (auto length = std::size_t{1}; length <= 3 && length <= at_ - start_; ++length)
    if (text::space_at(text, at_ - length) == length)
      return true;
  return false;
}

/// At a `<` outside strings.
scanner::step scanner::tag(std::string_view text, bool complete) {
  const auto rest = text.substr(at_);
  if (!complete && (is_cut(rest, open_tag) || is_cut(rest, close_tag)))
    return step::wait;
  word_ = npos;
  if (rest.starts_with(close_tag)) {
    if (!in_comment())
      return step::close;
    if (mode_ == mode::line_comment)
      mode_ = mode::line_comment_closed;
    else if (mode_ == mode::block_comment)
      mode_ = mode::block_comment_closed;
    at_ += close_tag.size();
    return step::on;
  }
  if (!rest.starts_with(open_tag)) {
    ++at_;
    return step::on;
  }
  const auto counts =
      in_comment() ? mode_ == mode::line_comment_closed || mode_ == mode::block_comment_closed
                   : may_begin_here(text);
  if (counts) {
    probe_ = std::max(probe_, at_ + open_tag.size());
    while (const auto length = text::space_at(text, probe_))
      probe_ += length;
    // A space of several bytes may have been cut.
    const auto left = text.size() - probe_;
    if (!complete && (left == 0 || (left < 3 && static_cast<unsigned char>(text[probe_]) >= 0x80)))
      return step::wait;
    if (probe_ < text.size() && text[probe_] == '{')
      return step::nested;
  }
  at_ += open_tag.size();
  passed_tag_ = true;
  return step::on;
}

} // namespace superstep::hermes
