// SPDX-License-Identifier: Apache-2.0
// The parser for streamed answers of morph_xml and yaml_xml. It finds the tags of calls and passes
// the text between the tags to the protocol's own parser (call_body).
#include "protocols/elements/element_stream.hpp"

#include "protocols/answer_parts.hpp"
#include "protocols/elements/xml_scanner.hpp"

#include <superstep/base/detail/assert.hpp>

#include <utility>

namespace superstep {

namespace {

// Maximum white space inside a close tag. Bounds the text that must be held back.
constexpr auto close_space_max = std::size_t{64};

} // namespace

element_stream::element_stream(const call_body& body, const std::vector<protocol_tool>& tools,
                               stream_options options, protocol_event_handler on_event,
                               protocol_error_handler on_error)
    : body_{body}, names_{tools}, output_{options, std::move(on_event), std::move(on_error)} {}

void element_stream::write(std::string_view piece) {
  SUPERSTEP_ASSERT(!finished_);
  // Most pieces contain no tag of a tool. They are reported without being copied to the window.
  if (tool_ == nullptr && window_.empty() && is_plain(piece))
    return output_.text(piece);
  window_.append(piece);
  while (tool_ ? read_call(false) : read_text(false)) {
  }
  output_.flush();
}

/// Whether the piece is ordinary text: it contains no open tag of a tool and does not end inside
/// one.
bool element_stream::is_plain(std::string_view piece) const {
  const auto* tool = static_cast<const protocol_tool*>(nullptr);
  auto end = std::size_t{};
  for (auto at = piece.find('<'); at != piece.npos; at = piece.find('<', at + 1))
    if (read_tool_tag(piece, at, names_, tool, end) != tag_start::none)
      return false;
  return true;
}

void element_stream::finish() {
  SUPERSTEP_ASSERT(!finished_);
  finished_ = true;
  while (tool_ ? read_call(true) : read_text(true)) {
  }
}

void element_stream::take(std::size_t n) {
  window_.take(n);
  scanned_ = 0;
}

const call_facts* element_stream::facts_of(const protocol_tool& tool) {
  const auto [place, is_new] = facts_.try_emplace(&tool);
  if (is_new)
    place->second = body_.facts(tool);
  return place->second.get();
}

/// Reports the text before the next call and begins that call. Returns false if the window has been
/// read up to its end.
/// @param complete whether the answer has ended
bool element_stream::read_text(bool complete) {
  const auto all = window_.view();
  if (output_.calls() >= answer_calls_max)
    scanned_ = all.size();
  for (auto at = all.find('<', scanned_); at != all.npos; at = all.find('<', at + 1)) {
    const auto* tool = static_cast<const protocol_tool*>(nullptr);
    auto end = std::size_t{};
    const auto what = read_tool_tag(all, at, names_, tool, end);
    if (what == tag_start::none || (what == tag_start::more && complete))
      continue;
    output_.text(all.substr(0, at));
    take(at);
    if (what == tag_start::more)
      return false;
    tool_ = tool;
    body_begin_ = scanned_ = end - at;
    output_.start(tool->name);
    progress_ = body_.progress(*tool, facts_of(*tool), output_);
    if (what == tag_start::self_closing)
      end_call(body_begin_, body_begin_);
    return true;
  }
  output_.text(all);
  take(all.size());
  return false;
}

/// Reads the rest of the open call. Returns true if the call has ended, so that text may follow.
/// @param complete whether the answer has ended
bool element_stream::read_call(bool complete) {
  auto end = std::size_t{};
  const auto what = find_close(complete, end);
  progress_->advance(window_.view().substr(body_begin_, scanned_ - body_begin_));
  if (what == found::close) {
    progress_->end();
    end_call(scanned_, end);
    return true;
  }
  if (complete)
    end_unfinished();
  return false;
}

/// Searches for the close tag of the open call. Sets scanned_ to its position, or to the position
/// from which the next search must continue.
/// @param end set to the position after the close tag if it is found
element_stream::found element_stream::find_close(bool complete, std::size_t& end) {
  const auto all = window_.view();
  const auto name = std::string_view{tool_->name};
  const auto has_spaces = body_.close_has_spaces();
  const auto skip_space = [&](std::size_t& i) {
    const auto from = i;
    while (has_spaces && i < all.size() && is_xml_space(all[i]) && i - from < close_space_max)
      ++i;
  };
  for (auto at = all.find('<', scanned_); at != all.npos; at = all.find('<', at + 1)) {
    auto i = at + 1;
    if (i < all.size() && all[i] != '/')
      continue;
    ++i;
    skip_space(i);
    const auto there = all.substr(std::min(i, all.size()), name.size());
    if (!name.starts_with(there))
      continue;
    i += there.size();
    if (there.size() == name.size())
      skip_space(i);
    if (i < all.size() && all[i] != '>')
      continue;
    scanned_ = at;
    end = i + 1;
    if (i < all.size())
      return found::close;
    return complete ? found::none : found::more;
  }
  scanned_ = all.size();
  return found::none;
}

void element_stream::end_call(std::size_t body_end, std::size_t end) {
  const auto all = window_.view();
  const auto& tool = *std::exchange(tool_, nullptr);
  const auto reader = std::exchange(progress_, nullptr);
  if (auto read = reader->read(all.substr(body_begin_, body_end - body_begin_)))
    output_.call({tool.name, std::move(*read)});
  else
    output_.fail("malformed-tool-call-body", tool.name, all.substr(0, end));
  take(end);
}

void element_stream::end_unfinished() {
  const auto all = window_.view();
  const auto& tool = *std::exchange(tool_, nullptr);
  const auto reader = std::exchange(progress_, nullptr);
  // If the answer ends inside the close tag, scanned_ is the position of that incomplete tag.
  const auto text = all.substr(body_begin_);
  const auto tail = scanned_ - body_begin_;
  if (auto read = refuses_unclosed_ ? std::nullopt : reader->read_unfinished(text, tail))
    output_.call({tool.name, std::move(*read)});
  else
    output_.fail("unfinished-tool-call", tool.name, all);
  take(all.size());
}

} // namespace superstep
