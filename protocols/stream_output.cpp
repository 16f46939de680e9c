// SPDX-License-Identifier: Apache-2.0
// Sends the events of a stream. input_progress buffers the arguments of one call and splits them
// into events. stream_output ensures the order of all events.
#include "protocols/stream_output.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <utility>

namespace superstep {
namespace {

constexpr std::size_t delta_bytes_max = 512;

bool continues_character(char c) noexcept {
  return (c & '\xc0') == '\x80';
}

/// Returns the length of `s` without an incomplete UTF-8 character at its end.
std::size_t whole_characters(std::string_view s) noexcept {
  auto begin = s.size();
  while (begin > 0 && s.size() - begin < 3 && continues_character(s[begin - 1]))
    --begin;
  if (begin == 0)
    return s.size();
  const auto lead = static_cast<unsigned char>(s[begin - 1]);
  const auto length = std::size_t{lead < 0xc0 ? 1U : lead < 0xe0 ? 2U : lead < 0xf0 ? 3U : 4U};
  return begin - 1 + length > s.size() ? begin - 1 : s.size();
}

} // namespace

void input_progress::restart(std::size_t call) {
  call_ = call;
  shown_.clear();
  members_.clear();
  last_key_.clear();
  last_from_ = sent_ = written_ = 0;
}

void input_progress::send(std::size_t end) {
  while (sent_ < end) {
    auto length = std::min(delta_bytes_max, end - sent_);
    // A delta must not end inside a UTF-8 character, because every event must be valid text.
    while (sent_ + length < shown_.size() && length > 1 &&
           continues_character(shown_[sent_ + length]))
      --length;
    (*on_event_)(tool_input_delta{call_, shown_.substr(sent_, length)});
    sent_ += length;
  }
}

bool input_progress::show(const json::value& so_far) {
  return show_text(to_text(so_far));
}

void input_progress::begin_member(std::string_view key) {
  if (key == last_key_ && !members_.empty())
    members_.resize(last_from_);
  last_key_ = key;
  last_from_ = members_.size();
  members_ += members_.empty() ? '{' : ',';
  append_quoted(members_, key);
  members_ += ':';
}

bool input_progress::show_member(std::string_view key, const json::value& value) {
  begin_member(key);
  append_text(members_, value);
  return show_text(members_);
}

bool input_progress::begin_string(std::string_view key) {
  begin_member(key);
  members_ += '"';
  written_ += members_.size();
  if (!members_.starts_with(shown_))
    return false;
  shown_ += std::string_view{members_}.substr(shown_.size());
  return true;
}

bool input_progress::show_text(std::string_view text) {
  written_ += text.size();
  auto open = text;
  // More members may follow before a closing bracket, and a string at the end may grow.
  while (!open.empty() && (open.back() == '}' || open.back() == ']'))
    open.remove_suffix(1);
  if (open.size() < 2)
    return false;
  if (open.back() == '"')
    open.remove_suffix(1);
  if (!open.starts_with(shown_))
    return false;
  shown_ += open.substr(shown_.size());
  return true;
}

void input_progress::append_string(std::string_view text) {
  const auto from = members_.size();
  append_quoted(members_, text);
  members_.pop_back();
  members_.erase(from, 1); // begin_string() and end_string() write its quotes
  shown_ += std::string_view{members_}.substr(from);
}

std::string input_progress::whole() const {
  auto out = std::string{};
  out.reserve(members_.size() + 2);
  out += members_.empty() ? std::string_view{"{"} : std::string_view{members_};
  out += '}';
  return out;
}

void input_progress::flush() {
  if (sent_ < shown_.size())
    send(sent_ + whole_characters(std::string_view{shown_}.substr(sent_)));
}

bool input_progress::complete(std::string_view arguments) {
  if (!arguments.starts_with(shown_))
    return false;
  // Text that was buffered earlier is sent as its own delta, not joined with the rest.
  flush();
  shown_ += arguments.substr(shown_.size());
  send(shown_.size());
  return true;
}

stream_output::stream_output(stream_options options, protocol_event_handler on_event,
                             protocol_error_handler on_error)
    : options_{options}, on_event_{std::move(on_event)}, on_error_{std::move(on_error)},
      progress_{0, on_event_} {
  SUPERSTEP_ASSERT(on_event_ != nullptr);
}

void stream_output::text(std::string_view text) {
  if (!text.empty())
    on_event_(stream_text{std::string{text}});
}

void stream_output::start(std::string_view name) {
  SUPERSTEP_ASSERT(!is_open_);
  name_ = name;
  progress_.restart(calls_);
  is_open_ = true;
  on_event_(tool_input_start{calls_++, name_});
}

void stream_output::call(parsed_call parsed) {
  if (is_open_ && name_ != parsed.name)
    drop();
  if (!is_open_)
    start(parsed.name);
  if (!progress_.complete(parsed.arguments)) {
    drop();
    start(parsed.name);
    const auto begins = progress_.complete(parsed.arguments);
    SUPERSTEP_ASSERT(begins);
  }
  is_open_ = false;
  const auto number = calls_ - 1;
  on_event_(tool_input_end{number});
  on_event_(stream_call{number, std::move(parsed)});
}

void stream_output::drop() {
  if (!is_open_)
    return;
  progress_.flush();
  is_open_ = false;
  on_event_(tool_input_end{calls_ - 1});
}

void stream_output::fail(const char* code, std::string tool, std::string_view span) {
  drop();
  if (on_error_)
    on_error_({code, std::move(tool), std::string{span}});
  if (options_.emit_raw_on_error)
    text(span);
}

void stream_output::flush() {
  if (is_open_)
    progress_.flush();
}

void report_call(std::size_t number, parsed_call call, const protocol_event_handler& on_event) {
  on_event(tool_input_start{number, call.name});
  on_event(tool_input_delta{number, call.arguments});
  on_event(tool_input_end{number});
  on_event(stream_call{number, std::move(call)});
}

void report_answer(const message& answer, const protocol_event_handler& on_event) {
  if (auto text = text_of(answer); !text.empty())
    on_event(stream_text{std::move(text)});
  auto number = std::size_t{0};
  for (const auto& call : answer.tool_calls)
    report_call(number++, {call.name, to_text(call.args)}, on_event);
}

} // namespace superstep
