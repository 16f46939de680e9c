// SPDX-License-Identifier: Apache-2.0
#include "protocols/qwen3_coder_stream.hpp"

#include "protocols/coerce_text.hpp"
#include "protocols/parse_answer_tools.hpp"
#include "protocols/qwen3_coder_opening.hpp"
#include "protocols/xml_scanner.hpp"

#include <superstep/base/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep::qwen3_coder {

stream::stream(const std::vector<protocol_tool>& tools, stream_options options,
               protocol_event_handler on_event, protocol_error_handler on_error)
    : tools_{tools}, shapes_{tools}, output_{options, std::move(on_event), std::move(on_error)} {}

void stream::write(std::string_view piece) {
  SUPERSTEP_ASSERT(!finished_);
  // Most pieces are plain text and need not be copied together with anything.
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

/// False: what is there may still become a stray close tag.
bool stream::drop_stray_close(bool complete) {
  if (!after_call_)
    return true;
  const auto all = window_.view();
  const auto at = all.size() - text::trim_start(all).size();
  auto found = tag{};
  if (at == all.size() && at < stray_space_max && !complete)
    return false;
  const auto what = at < all.size() && all[at] == '<' ? read_tag(all, at, found) : reading::none;
  if (what == reading::more && !complete)
    return false;
  if (what == reading::tag && found.kind == tag_kind::block && found.closing)
    take(found.to);
  after_call_ = false;
  return true;
}

bool stream::read_text(bool complete) {
  if (!drop_stray_close(complete))
    return false;
  const auto all = window_.view();
  auto found = tag{};
  if (output_.calls() >= answer_calls_max)
    scanned_ = all.size();
  for (auto at = all.find('<', scanned_); at != all.npos; at = all.find('<', at + 1)) {
    const auto what = opening_at(all, at, complete, found);
    if (what == reading::none)
      continue;
    output_.text(all.substr(0, at));
    auto name = decode_entities(found.value);
    take(at);
    if (what == reading::more)
      return false;
    // The same tag, in the window that begins with it.
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
      end_call(all.size(), all.size(), true);
      return true;
    }
    const auto is_end = found.kind == tag_kind::block && (!is_block_ || found.closing);
    const auto is_close = !is_block_ && found.kind == tag_kind::call && found.closing &&
                          found.word_index == open_.word_index;
    if (is_close || is_end || (!is_block_ && names_call(found))) {
      progress_->end();
      // Most calls were understood on the way; the others are read as a whole.
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
    progress_->add(all, found);
  }
}

/// The name of the call that is being read, as far as it is known.
std::string stream::open_name() const {
  if (progress_ && !progress_->name().empty())
    return progress_->name();
  return outer_name_;
}

/// @param end of what is inside the call
/// @param behind its close tag, if it has one
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
