// SPDX-License-Identifier: Apache-2.0
// The parser for streamed answers of qwen3_coder. The class stream finds blocks and calls;
// call_progress reports the arguments of one call while they arrive.
#include "protocols/qwen3_coder/qwen3_coder_stream.hpp"

#include "protocols/answer_parts.hpp"
#include "protocols/argument_progress.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/qwen3_coder/qwen3_coder_call.hpp"
#include "protocols/qwen3_coder/qwen3_coder_tag.hpp"
#include "protocols/text.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep::qwen3_coder {

void call_progress::start(std::string_view name) {
  output_.start(name);
  name_ = name;
  const auto* tool = find_tool(tools_, name);
  arguments_.emplace(tool, tool != nullptr ? &shapes_.of(*tool) : nullptr, output_);
  if (has_early_)
    arguments_->settle();
}

void call_progress::hold() {
  is_odd_ = is_held_ = true;
  if (arguments_)
    arguments_->settle();
}

void call_progress::add(std::string_view call, const tag& t) {
  if (is_held_)
    return;
  if (t.kind != tag_kind::parameter)
    is_odd_ = true;
  if (t.kind == tag_kind::name && !inside_ && !arguments_ && !t.self_closing) {
    if (!t.closing) {
      name_begin_ = t.to;
    } else if (name_begin_ > 0) {
      if (const auto name = value_of(call.substr(name_begin_, t.from - name_begin_)); !name.empty())
        start(name);
      name_begin_ = 0;
    }
    return;
  }
  if (t.kind != tag_kind::parameter)
    return;
  if (!arguments_) {
    has_early_ = true;
    return;
  }
  if (arguments_->is_settled())
    return;
  if (inside_ && t.closing && t.word_index == word_) {
    close(call, t.from);
  } else if (!inside_ && !t.closing && !t.value.empty()) {
    open(t);
    if (t.self_closing)
      close(call, t.to);
  } else if (!t.closing && (inside_ || !t.self_closing)) {
    // In a value, either this tag is part of it, or the value has no close tag. Which of the two is
    // known only when the call is complete.
    arguments_->settle();
  } else {
    is_odd_ = true;
  }
}

void call_progress::open(const tag& t) {
  key_ = decode_entities(t.value);
  word_ = t.word_index;
  begin_ = shown_ = blank_ = t.to;
  inside_ = true;
  parameter_ = arguments_->find(key_);
  as_text_ = arguments_->open_string(key_, parameter_);
}

void call_progress::close(std::string_view call, std::size_t end) {
  inside_ = false;
  if (run_key_ != key_) {
    run_key_ = key_;
    run_.clear();
    run_count_ = 0;
  }
  ++run_count_;
  const auto raw = call.substr(begin_, end - std::min(begin_, end));
  if (as_text_ && shown_ > begin_ && run_count_ == 1)
    return close_shown(call, end);
  auto value = value_of(raw);
  if (run_count_ == 1) {
    first_ = std::move(value);
    return arguments_->close_text(key_, parameter_, first_);
  }
  if (run_.empty())
    run_.emplace_back(first_);
  run_.emplace_back(value);
  arguments_->close(key_, parameter_, run_, argument_progress::form::list);
}

/// Ends a string that was reported while it grew, and reports its last part.
void call_progress::close_shown(std::string_view call, std::size_t end) {
  const auto raw = text::trim(call.substr(begin_, end - begin_));
  const auto last = static_cast<std::size_t>(raw.data() - call.data()) + raw.size();
  if (shown_ < last)
    arguments_->append_string(decode_entities(call.substr(shown_, last - shown_)));
  first_ = decode_entities(raw); // needed if the key is repeated and the values become a list
  arguments_->end_string(first_);
}

std::optional<parsed_call> call_progress::whole() {
  if (!arguments_ || is_odd_ || inside_ || has_early_)
    return {};
  auto arguments = arguments_->whole();
  if (!arguments)
    return {};
  return parsed_call{name_, std::move(*arguments)};
}

void call_progress::end() {
  if (arguments_ && !inside_ && !is_held_)
    arguments_->release();
}

void call_progress::advance(std::string_view call, std::size_t end) {
  if (!inside_ || !as_text_ || arguments_->is_settled() || end <= blank_)
    return;
  // A character of which only the first bytes have arrived may be white space.
  const auto arrived = call.substr(blank_, end - blank_);
  const auto fresh = arrived.substr(0, whole_text(arrived));
  const auto trimmed = text::trim(fresh);
  if (trimmed.empty()) {
    blank_ += fresh.size();
    return;
  }
  // White space before the value is dropped. White space after it is held back, because it belongs
  // to the value only if more text follows.
  const auto offset = [&](const char* p) { return static_cast<std::size_t>(p - call.data()); };
  const auto from = shown_ == begin_ ? offset(trimmed.data()) : shown_;
  if (from == offset(trimmed.data()) && shown_ == begin_ && call[from] == '<') {
    as_text_ = false;
    return;
  }
  const auto last = offset(trimmed.data() + trimmed.size());
  if (last == from)
    return;
  arguments_->append_string(decode_entities(call.substr(from, last - from)));
  shown_ = blank_ = last;
}

stream::stream(const std::vector<protocol_tool>& tools, stream_options options,
               protocol_event_handler on_event, protocol_error_handler on_error)
    : tools_{tools}, shapes_{tools}, output_{options, std::move(on_event), std::move(on_error)} {}

void stream::write(std::string_view piece) {
  SUPERSTEP_ASSERT(!finished_);
  // Most pieces contain no tag of a call. They are reported without being copied to the window.
  if (mode_ == mode::text && window_.empty() && !after_call_ && is_plain(piece))
    return output_.text(piece);
  window_.append(piece);
  advance(false);
  output_.flush();
}

void stream::finish() {
  SUPERSTEP_ASSERT(!finished_);
  finished_ = true;
  advance(true);
}

void stream::advance(bool complete) {
  for (auto more = true; more;) {
    if (mode_ == mode::text)
      more = read_text(complete);
    else
      more = mode_ == mode::block ? read_block(complete) : read_call(complete);
  }
}

void stream::take(std::size_t n) {
  window_.take(n);
  scanned_ = cdata_scan_ = 0;
}

/// Removes the `</tool_call>` tags that follow a single call but close no block. Returns false if
/// more text is needed to recognise the tags.
bool stream::drop_stray_closes(bool complete) {
  while (after_call_) {
    const auto all = window_.view();
    const auto space = space_before_tag_in(all);
    if (space && space->may_grow && !complete)
      return false;
    auto found = tag{};
    const auto has_tag = space && space->length < all.size() && all[space->length] == '<';
    const auto what = has_tag ? read_tag(all, space->length, found) : reading::none;
    if (what == reading::more && !complete)
      return false;
    after_call_ = what == reading::tag && found.kind == tag_kind::block && found.closing;
    if (after_call_)
      take(found.to);
  }
  return true;
}

bool stream::read_text(bool complete) {
  if (!drop_stray_closes(complete))
    return false;
  const auto all = window_.view();
  auto found = tag{};
  if (output_.calls() >= answer_calls_max)
    scanned_ = all.size();
  for (auto at = all.find('<', scanned_); at != all.npos; at = all.find('<', at + 1)) {
    const auto what = opening_at(all, at, complete, found);
    if (what == reading::none) {
      const auto strays = stray_closes_at(all, at, complete);
      if (strays.what == reading::none)
        continue;
      output_.text(all.substr(0, at));
      take(strays.what == reading::tag ? strays.to : at);
      return strays.what == reading::tag;
    }
    output_.text(all.substr(0, at));
    auto name = decode_entities(found.value);
    take(at);
    if (what == reading::more)
      return false;
    // take() has removed the text before the tag, so the offsets are relative to the tag.
    found.from = 0;
    found.to -= at;
    if (found.kind == tag_kind::block)
      begin_block(found, std::move(name));
    else
      begin_call(found, std::move(name), false);
    return true;
  }
  output_.text(all);
  take(all.size());
  return false;
}

reading stream::next_tag(bool complete, tag& found) {
  const auto all = window_.view();
  for (auto at = all.find('<', scanned_); at != all.npos; at = all.find('<', scanned_)) {
    scanned_ = at;
    const auto rest = all.substr(at, cdata_open.size());
    if (has_cdata_ && cdata_open.starts_with(rest)) {
      if (rest.size() == cdata_open.size()) {
        met_cdata_ = true;
        const auto from = std::max(at, cdata_scan_);
        const auto end = all.find(cdata_close, from);
        if (end != all.npos) {
          scanned_ = end + cdata_close.size();
          continue;
        }
        cdata_scan_ = std::max(from, all.size() - std::min(all.size(), cdata_close.size()));
      }
      if (!complete)
        return reading::more;
      has_cdata_ = false;
    }
    const auto what = read_tag(all, at, found);
    if (what == reading::tag) {
      scanned_ = found.to;
      return what;
    }
    if (what == reading::more && !complete)
      return what;
    scanned_ = at + 1;
  }
  scanned_ = all.size();
  return reading::none;
}

void stream::begin_block(const tag& open, std::string name) {
  mode_ = mode::block;
  in_block_ = true;
  block_has_call_ = false;
  outer_name_ = std::move(name);
  scanned_ = open.to;
  if (open.self_closing)
    end_block(open.to);
}

bool stream::read_block(bool complete) {
  auto found = tag{};
  while (true) {
    const auto what = next_tag(complete, found);
    if (what == reading::more)
      return false;
    if (what == reading::none) {
      if (complete)
        end_block(window_.view().size());
      return false;
    }
    if (found.kind == tag_kind::block) {
      if (!found.closing)
        continue;
      end_block(found.to);
      return true;
    }
    if (found.closing)
      continue;
    if (found.kind == tag_kind::call) {
      auto name = decode_entities(found.value);
      take(found.from);
      found.to -= found.from;
      found.from = 0;
      begin_call(found, std::move(name), false);
      return true;
    }
    // Parameters without a call element: the block itself is the call.
    if (!block_has_call_) {
      begin_call(*tag_at(window_.view(), 0), {}, true);
      return true;
    }
  }
}

void stream::end_block(std::size_t end) {
  const auto span = window_.view().substr(0, end);
  if (!block_has_call_)
    output_.fail("unfinished-tool-call", cut_name(span), span);
  take(end);
  mode_ = mode::text;
  in_block_ = false;
  outer_name_.clear();
}

void stream::begin_call(const tag& open, std::string name, bool is_block) {
  mode_ = mode::call;
  block_has_call_ = true;
  is_block_ = is_block;
  open_ = open;
  ends_.emplace(open, in_block_);
  scanned_ = open.to;
  progress_.emplace(tools_, shapes_, output_);
  met_cdata_ = false;
  if (!name.empty())
    progress_->start(name);
  else if (!outer_name_.empty())
    progress_->start(outer_name_);
  if (open.self_closing)
    end_call(open.to, open.to, false);
}

bool stream::read_call(bool complete) {
  auto found = tag{};
  while (true) {
    const auto what = next_tag(complete, found);
    const auto all = window_.view();
    if (what != reading::tag) {
      progress_->advance(all, scanned_);
      if (what == reading::more || !complete)
        return false;
      if (!end_at_held(all.size()))
        end_call(all.size(), all.size(), true);
      return true;
    }
    const auto is_end = is_block_ ? found.kind == tag_kind::block && found.closing
                                  : ends_->add(found) || (reread_ > reread_max && ends_->held());
    if (is_end) {
      const auto is_close = !is_block_ && ends_->closes(found);
      progress_->end();
      if (end_at_held(found.from))
        return true;
      // Most calls have been parsed completely while they arrived. Other calls are parsed again as
      // a whole by end_call().
      auto whole = is_close && !met_cdata_ ? progress_->whole() : std::nullopt;
      if (whole) {
        output_.call(std::move(*whole));
        leave_call(found.to);
      } else {
        end_call(found.from, is_close || is_block_ ? found.to : found.from, false);
      }
      return true;
    }
    progress_->advance(all, found.from);
    if (!is_block_ && ends_->held())
      progress_->hold();
    else
      progress_->add(all, found);
  }
}

/// Ends the open call at the tag that is held, if there is one. That tag is read again then.
/// @param end position up to which the text was searched
bool stream::end_at_held(std::size_t end) {
  const auto held = is_block_ ? std::nullopt : ends_->held();
  if (!held)
    return false;
  reread_ += end - *held;
  end_call(*held, *held, false);
  return true;
}

/// Returns the name of the open call; empty if it is not known yet.
std::string stream::open_name() const {
  if (progress_ && !progress_->name().empty())
    return progress_->name();
  return outer_name_;
}

/// Parses the text of the open call as a whole and reports the result.
/// @param end position at which the content of the call ends
/// @param behind position after the call's close tag; equal to `end` if there is none
/// @param at_finish whether the call ends because the answer has ended
void stream::end_call(std::size_t end, std::size_t behind, bool at_finish) {
  const auto all = window_.view();
  const auto span = all.substr(0, behind);
  if (at_finish && refuses_unclosed_) {
    output_.fail("unfinished-tool-call", open_name(), span);
    return leave_call(behind);
  }
  auto calls = is_block_ ? calls_of_block(all.substr(open_.to, end - open_.to), outer_name_)
                         : calls_in(span, true);
  auto rest = std::string{};
  auto any = false;
  for (auto& call : calls) {
    if (call.name.empty())
      call.name = outer_name_;
    if (call.name.empty())
      continue;
    any = true;
    rest = std::move(call.rest);
    output_.call(finished(std::move(call), tools_));
  }
  if (!any)
    output_.fail("unresolved-tool-name", {}, span);
  else if (at_finish)
    output_.text(rest);
  leave_call(behind);
}

void stream::leave_call(std::size_t behind) {
  progress_.reset();
  const auto closes_block = is_block_;
  take(behind);
  mode_ = in_block_ && !closes_block ? mode::block : mode::text;
  in_block_ = mode_ == mode::block;
  if (!in_block_) {
    after_call_ = !closes_block;
    outer_name_.clear();
  }
}

} // namespace superstep::qwen3_coder
