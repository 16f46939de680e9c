// SPDX-License-Identifier: Apache-2.0
// Parses calls in complete texts and complete blocks. The parser for streamed answers also uses
// these functions for calls that it cannot parse while they arrive.
#include "protocols/qwen3_coder/qwen3_coder_call.hpp"

#include "protocols/answer_parts.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/text.hpp"

#include <array>
#include <utility>

namespace superstep::qwen3_coder {

namespace {

constexpr auto no_match = static_cast<std::size_t>(-1);
constexpr auto tags_max = call_cursor::tags_max;

/// Returns for each open tag the index of its close tag, or no_match. Tags match only if they use
/// the same word, e.g. `param`.
std::vector<std::size_t> matches_of(const std::vector<tag>& tags) {
  auto match = std::vector<std::size_t>(tags.size(), no_match);
  auto open = std::array<std::vector<std::size_t>, word_count>{};
  for (auto i = std::size_t{0}; i < tags.size(); ++i) {
    const auto& t = tags[i];
    if (t.self_closing)
      continue;
    auto& stack = open[t.word_index];
    if (!t.closing) {
      stack.push_back(i);
    } else if (!stack.empty()) {
      match[stack.back()] = i;
      stack.pop_back();
    }
  }
  return match;
}

/// A parser for the name and the parameters inside one call.
class members_reader {
public:
  members_reader(std::string_view text, std::vector<tag> tags)
      : text_{text}, tags_{std::move(tags)}, match_{matches_of(tags_)} {}

  /// @return the position after the last parameter or name
  std::size_t read(found_call& call, std::size_t begin, std::size_t end) {
    auto gap = begin;
    for (at_ = 0; at_ < tags_.size(); ++at_) {
      const auto& t = tags_[at_];
      if (t.closing || (t.kind != tag_kind::parameter && t.kind != tag_kind::name))
        continue;
      if (t.kind == tag_kind::name && match_[at_] == no_match)
        continue;
      call.rest += text_.substr(gap, t.from - gap);
      gap = t.kind == tag_kind::parameter ? read_parameter(call, end) : read_name(call);
    }
    call.rest += text_.substr(gap, end - gap);
    return gap;
  }

private:
  std::size_t read_name(found_call& call) {
    const auto& open = tags_[at_];
    const auto& close = tags_[match_[at_]];
    if (call.name.empty())
      call.name = value_of(text_.substr(open.to, close.from - open.to));
    at_ = match_[at_];
    return close.to;
  }

  /// Parses the parameter at tag at_. Moves at_ to its last tag and returns the text position after
  /// the parameter.
  std::size_t read_parameter(found_call& call, std::size_t call_end) {
    const auto& open = tags_[at_];
    auto end = open.to;
    auto behind = open.to;
    if (const auto close = match_[at_]; close != no_match) {
      end = tags_[close].from;
      behind = tags_[close].to;
      at_ = close;
    } else if (!open.self_closing) {
      // The parameter has no close tag. Name tags belong to its value; any other open tag ends the
      // value.
      auto next = at_ + 1;
      while (next < tags_.size() && (tags_[next].kind == tag_kind::name || tags_[next].closing))
        ++next;
      end = behind = next < tags_.size() ? tags_[next].from : call_end;
      at_ = next - 1;
    }
    if (!open.value.empty())
      add_argument(call.arguments, decode_entities(open.value),
                   value_of(text_.substr(open.to, end - open.to)));
    return behind;
  }

  std::string_view text_;
  std::vector<tag> tags_;
  std::vector<std::size_t> match_;
  std::size_t at_ = 0;
};

bool opens_call(const tag& t, bool nameless) noexcept {
  return t.kind == tag_kind::call && !t.closing && (nameless || !t.value.empty());
}

} // namespace

std::string cut_name(std::string_view s) {
  const auto cut = s.rfind('<');
  if (cut == s.npos || s.size() - cut > tag_max || s.find('>', cut) != s.npos)
    return {};
  const auto closed = std::string{s.substr(cut)} + '>';
  const auto half = tag_at(closed, 0);
  return half && half->kind == tag_kind::call ? decode_entities(half->value) : std::string{};
}

std::string value_of(std::string_view raw) {
  auto s = text::trim(raw);
  if (s.starts_with(cdata_open) && s.ends_with(cdata_close) &&
      s.size() >= cdata_open.size() + cdata_close.size())
    s = text::trim(s.substr(cdata_open.size(), s.size() - cdata_open.size() - cdata_close.size()));
  return decode_entities(s);
}

void add_argument(json::object& arguments, std::string_view key, std::string_view value) {
  const auto text = json::string_view{value.data(), value.size()};
  auto* old = arguments.if_contains(key);
  if (old == nullptr) {
    arguments.emplace(key, text);
    return;
  }
  if (!old->is_array()) {
    auto list = json::array(1, std::move(*old));
    *old = std::move(list);
  }
  old->get_array().emplace_back(text);
}

std::optional<tag> call_cursor::end_of(const tag& open, std::vector<tag>* inside) {
  auto finder = call_end_finder{open, false};
  const auto holds = reread_ <= reread_max;
  auto t = tags_.next();
  while (t && !finder.add(*t) && (holds || !finder.held())) {
    if (inside != nullptr && inside->size() < tags_max)
      inside->push_back(*t);
    t = tags_.next();
  }
  const auto held = finder.held();
  if (!held)
    return t;
  reread_ += (t ? t->from : text_.size()) - *held;
  while (inside != nullptr && !inside->empty() && inside->back().from >= *held)
    inside->pop_back();
  tags_.rewind(*held);
  return tags_.next();
}

std::vector<found_call> calls_in(std::string_view s, bool nameless) {
  auto out = std::vector<found_call>{};
  auto cursor = call_cursor{s};
  auto t = cursor.next();
  while (t && out.size() < answer_calls_max) {
    if (!opens_call(*t, nameless)) {
      t = cursor.next();
      continue;
    }
    const auto open = *t;
    auto call = found_call{};
    call.from = open.from;
    call.name = decode_entities(open.value);
    auto tags = std::vector<tag>{};
    auto end = open.to;
    call.closed = open.self_closing;
    call.to = open.to;
    t = open.self_closing ? cursor.next() : cursor.end_of(open, &tags);
    if (!open.self_closing) {
      end = call.to = t ? t->from : s.size();
      if (t && t->kind == tag_kind::call && t->closing) {
        call.closed = true;
        call.to = t->to;
        t = cursor.next();
      }
    }
    if (tags.size() < tags_max) {
      const auto behind = members_reader{s, std::move(tags)}.read(call, open.to, end);
      if (!call.closed)
        call.to = behind; // the rest is text after the call
    } else {
      call.name.clear();
    }
    out.push_back(std::move(call));
  }
  return out;
}

std::vector<found_call> calls_of_block(std::string_view body, std::string_view outer_name) {
  auto calls = calls_in(body, true);
  if (calls.empty()) {
    auto tags = std::vector<tag>{};
    auto cursor = tag_cursor{body};
    auto looks_like_call = !outer_name.empty();
    while (auto t = cursor.next()) {
      looks_like_call = looks_like_call || (!t->closing && t->kind != tag_kind::block);
      if (tags.size() < tags_max)
        tags.push_back(*t);
    }
    if (!looks_like_call || tags.size() == tags_max)
      return {};
    auto call = found_call{};
    call.to = body.size();
    members_reader{body, std::move(tags)}.read(call, 0, body.size());
    calls.push_back(std::move(call));
  }
  for (auto& call : calls)
    if (call.name.empty())
      call.name = decode_entities(outer_name);
  return calls;
}

parsed_call finished(found_call call, const std::vector<protocol_tool>& tools) {
  const auto* tool = find_tool(tools, call.name);
  if (tool == nullptr)
    return {std::move(call.name), to_text(call.arguments)};
  // Parentheses, because braces would create a list with one element.
  const auto arguments = coerce(json::value(std::move(call.arguments)), tool->schema);
  return {std::move(call.name), to_text(arguments)};
}

} // namespace superstep::qwen3_coder
