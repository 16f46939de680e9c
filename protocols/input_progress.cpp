// SPDX-License-Identifier: Apache-2.0
#include "protocols/input_progress.hpp"

#include <algorithm>

namespace superstep {
namespace {

constexpr std::size_t delta_bytes_max = 512;

bool continues_character(char c) noexcept {
  return (c & '\xc0') == '\x80';
}

/// The end of the last whole UTF-8 character.
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
    // A piece never ends inside a character: it would be no text on its own.
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
  // The ends may still move: brackets get more members, a string gets longer.
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
  members_.erase(from, 1); // its quotes stand elsewhere
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
  // What stands before the rest keeps its own piece.
  flush();
  shown_ += arguments.substr(shown_.size());
  send(shown_.size());
  return true;
}

} // namespace superstep
