// SPDX-License-Identifier: Apache-2.0
#include "protocols/hermes_stream.hpp"

#include "protocols/coerce_text.hpp"
#include "protocols/hermes_body.hpp"
#include "protocols/parse_answer_tools.hpp"

#include <superstep/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep::hermes {

namespace {

/// How much of the end of `s` may still become `tag`.
std::size_t held_back(std::string_view s, std::string_view tag) {
  for (auto length = std::min(s.size(), tag.size() - 1); length > 0; --length)
    if (tag.starts_with(s.substr(s.size() - length)))
      return length;
  return 0;
}

/// Whether no call begins in it, not even at its end.
bool is_plain(std::string_view piece) {
  for (auto at = piece.find('<'); at != piece.npos; at = piece.find('<', at + 1)) {
    // The second byte alone tells nearly all others from it.
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
  // Most pieces are plain text and need not be copied together with anything.
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
  // Half an end tag is as good as a whole one when nothing more comes.
  body.remove_suffix(held_back(body, close_tag));
  if (auto call = refuses_unclosed_ ? std::nullopt : read_body(body, tools_, shapes_, repair::no))
    return emit_call(std::move(*call));
  if (text::is_blank(body) && body.size() + open_tag.size() == all.size()) {
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

/// True: there may be more to read.
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
