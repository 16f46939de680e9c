// SPDX-License-Identifier: Apache-2.0
// The scanner that finds the ends of hermes calls in a growing text, and the parser for streamed
// answers.
#include "protocols/hermes/hermes_stream.hpp"

#include "protocols/answer_parts.hpp"
#include "protocols/hermes/hermes_call.hpp"
#include "protocols/text.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep::hermes {

namespace {

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || text::is_digit(c) ||
         std::string_view{"$_+.*?!|&%^/#-\\"}.find(c) != std::string_view::npos;
}

/// Whether a comment may follow the unquoted word without a space. True for keywords and numbers;
/// in all other words a slash is a part of the word.
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
      if (const auto next = swar_word{text.data() + at_};
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
    // The scan also stops at open tags inside strings, where call_finder compares searches.
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
  if (at_ == start_)
    return first_ == first_tag::may_nest;
  if (text[at_ - 1] == '}')
    return true;
  for (auto length = std::size_t{1}; length <= 3 && length <= at_ - start_; ++length)
    if (text::space_at(text, at_ - length) == length)
      return true;
  return false;
}

/// Handles a `<` outside strings. A close tag ends the call, except in a comment. An open tag may
/// begin a nested call.
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
    if (!complete && text::may_become_space(text.substr(probe_)))
      return step::wait;
    if (probe_ < text.size() && text[probe_] == '{')
      return step::nested;
  }
  at_ += open_tag.size();
  passed_tag_ = true;
  return step::on;
}

namespace {

/// Returns the length of the longest end of `s` that is an incomplete `tag`. This part must be held
/// back until more text arrives.
std::size_t held_back(std::string_view s, std::string_view tag) {
  for (auto length = std::min(s.size(), tag.size() - 1); length > 0; --length)
    if (tag.starts_with(s.substr(s.size() - length)))
      return length;
  return 0;
}

/// Whether the piece is ordinary text: it contains no open tag and does not end inside one.
bool is_plain(std::string_view piece) {
  for (auto at = piece.find('<'); at != piece.npos; at = piece.find('<', at + 1)) {
    // Comparing the second byte before the rest rejects nearly all other tags quickly.
    const auto may_begin = at + 1 == piece.size() || piece[at + 1] == open_tag[1];
    if (may_begin && open_tag.starts_with(piece.substr(at, open_tag.size())))
      return false;
  }
  return true;
}

} // namespace

stream::stream(const std::vector<protocol_tool>& tools, stream_options options,
               protocol_event_handler on_event, protocol_error_handler on_error)
    : tools_{tools}, shapes_{tools}, options_{options}, on_event_{std::move(on_event)},
      on_error_{std::move(on_error)} {
  SUPERSTEP_ASSERT(on_event_ != nullptr);
}

void stream::write(std::string_view piece) {
  SUPERSTEP_ASSERT(!finished_);
  // Most pieces contain no tag of a call. They are reported without being copied to the window.
  if (window_.empty() && is_plain(piece))
    return emit_text(piece);
  window_.append(piece);
  advance(false);
}

void stream::finish() {
  SUPERSTEP_ASSERT(!finished_);
  finished_ = true;
  advance(true);
  if (!scanner_)
    return;
  const auto all = window_.view();
  auto body = all.substr(open_tag.size());
  // A close tag that is cut off at the end of the answer is treated as complete.
  body.remove_suffix(held_back(body, close_tag));
  if (auto call = refuses_unclosed_ ? std::nullopt : read_body(body, tools_, shapes_, repair::no))
    return emit_call(std::move(*call));
  if (body.empty() && open_tag.size() == all.size()) {
    if (options_.emit_raw_on_error)
      emit_text(all);
    return;
  }
  fail("unfinished-tool-call", body, all);
}

void stream::advance(bool complete) {
  while (scanner_ ? read_call(complete) : read_text(complete)) {
  }
}

/// Reports the text before the next call. Returns false if the window has been read up to its end.
bool stream::read_text(bool complete) {
  const auto all = window_.view();
  if (const auto at = all.find(open_tag); at != all.npos && calls_ < answer_calls_max) {
    emit_text(all.substr(0, at));
    window_.take(at);
    scanner_.emplace(open_tag.size());
    return true;
  }
  const auto kept = complete ? 0 : held_back(all, open_tag);
  emit_text(all.substr(0, all.size() - kept));
  window_.take(all.size() - kept);
  return false;
}

bool stream::read_call(bool complete) {
  const auto all = window_.view();
  const auto what = scanner_->advance(all, complete);
  if (what == found::nothing)
    return false;
  const auto at = scanner_->at();
  const auto body = all.substr(open_tag.size(), at - open_tag.size());
  if (what == found::nested) {
    fail("malformed-nested-tool-call", body, all.substr(0, at));
    window_.take(at);
    scanner_.emplace(open_tag.size());
    return true;
  }
  const auto end = at + close_tag.size();
  if (auto call = read_body(body, tools_, shapes_, repair::yes))
    emit_call(std::move(*call));
  else
    fail("malformed-tool-call-body", body, all.substr(0, end));
  window_.take(end);
  scanner_.reset();
  return true;
}

void stream::emit_text(std::string_view text) {
  if (!text.empty())
    on_event_(stream_text{std::string{text}});
}

void stream::emit_call(parsed_call call) {
  const auto number = calls_++;
  on_event_(tool_input_start{number, call.name});
  on_event_(tool_input_delta{number, call.arguments});
  on_event_(tool_input_end{number});
  on_event_(stream_call{number, std::move(call)});
}

void stream::fail(const char* code, std::string_view body, std::string_view span) {
  if (on_error_)
    on_error_({code, name_in(body), std::string{span}});
  if (options_.emit_raw_on_error)
    emit_text(span);
}

} // namespace superstep::hermes
