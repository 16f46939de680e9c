// SPDX-License-Identifier: Apache-2.0
#include "models/protocols/qwen3_coder_progress.hpp"

#include "models/protocols/coerce_schema.hpp"
#include "models/protocols/coerce_text.hpp"
#include "models/protocols/parse_answer_tools.hpp"
#include "models/protocols/qwen3_coder_call.hpp"
#include "models/protocols/string_progress.hpp"
#include "models/protocols/xml_scanner.hpp"

#include <superstep/models/protocols/coerce.hpp>

#include <utility>

namespace superstep::qwen3_coder {

void call_progress::start(std::string_view name) {
  tool_ = find_tool(tools_, name);
  output_.start(name);
}

void call_progress::add(std::string_view call, const tag& t) {
  if (t.kind == tag_kind::name && !inside_ && !output_.is_started() && !t.self_closing) {
    if (!t.closing) {
      name_begin_ = t.to;
    } else if (name_begin_ > 0) {
      if (const auto name = value_of(call.substr(name_begin_, t.from - name_begin_)); !name.empty())
        start(name);
      name_begin_ = 0;
    }
    return;
  }
  if (t.kind != tag_kind::parameter || is_settled_ || !output_.is_started()) {
    // A parameter before the name cannot be shown any more in its place.
    is_settled_ = is_settled_ || (t.kind == tag_kind::parameter && !output_.is_started());
    return;
  }
  if (inside_ && t.closing && t.word_index == word_) {
    close(call, t.from);
  } else if (inside_ && !t.closing) {
    // Part of the value, or the value has no end: that shows at the end of the call.
    is_settled_ = true;
  } else if (!inside_ && !t.closing && !t.value.empty()) {
    open(t);
    if (t.self_closing)
      close(call, t.to);
  } else if (!inside_ && !t.closing && !t.self_closing) {
    is_settled_ = true;
  }
}

void call_progress::open(const tag& t) {
  key_ = decode_entities(t.value);
  word_ = t.word_index;
  begin_ = shown_ = blank_ = t.to;
  inside_ = true;
  as_text_ = false;
  if (arguments_.contains(key_) || !is_text(key_) || !output_.progress().may_show())
    return;
  auto members = arguments_;
  members.emplace(key_, "");
  const auto value = tool_ ? coerce(json::value(std::move(members)), tool_->schema)
                           : json::value(std::move(members));
  as_text_ = output_.progress().show(value);
}

void call_progress::close(std::string_view call, std::size_t end) {
  inside_ = false;
  add_argument(arguments_, key_, value_of(call.substr(begin_, end - std::min(begin_, end))));
  show_members();
}

void call_progress::show_members() {
  if (!output_.progress().may_show())
    return;
  auto value = tool_ ? coerce(json::value(arguments_), tool_->schema) : json::value(arguments_);
  if (tool_ == nullptr || lists_are_lists(value, tool_->schema))
    output_.progress().show(value);
}

void call_progress::advance(std::string_view call, std::size_t end) {
  if (!inside_ || !as_text_ || is_settled_ || end <= blank_)
    return;
  const auto fresh = call.substr(blank_, end - blank_);
  const auto trimmed = text::trim(fresh);
  if (trimmed.empty()) {
    blank_ = end;
    return;
  }
  // White space before the value is no part of it, within it is.
  const auto offset = [&](const char* p) { return static_cast<std::size_t>(p - call.data()); };
  const auto from = shown_ == begin_ ? offset(trimmed.data()) : shown_;
  if (from == offset(trimmed.data()) && shown_ == begin_ && call[from] == '<') {
    as_text_ = false;
    return;
  }
  const auto last = offset(trimmed.data() + trimmed.size());
  const auto to = from + whole_text(call.substr(from, last - from));
  if (to == from)
    return;
  output_.progress().append_string(decode_entities(call.substr(from, to - from)));
  shown_ = blank_ = to;
}

bool call_progress::is_text(std::string_view key) const {
  return tool_ == nullptr || is_plain_string(tool_->schema, key);
}

} // namespace superstep::qwen3_coder
