// SPDX-License-Identifier: Apache-2.0
#include "protocols/qwen3_coder_progress.hpp"

#include "protocols/coerce_text.hpp"
#include "protocols/parse_answer_tools.hpp"
#include "protocols/qwen3_coder_call.hpp"
#include "protocols/string_progress.hpp"
#include "protocols/xml_scanner.hpp"

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

void call_progress::add(std::string_view call, const tag& t) {
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
  } else if (inside_ && !t.closing) {
    // Part of the value, or the value has no end: that shows at the end of the call.
    arguments_->settle();
  } else if (!inside_ && !t.closing && !t.value.empty()) {
    open(t);
    if (t.self_closing)
      close(call, t.to);
  } else if (!inside_ && !t.closing && !t.self_closing) {
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

/// A text that was shown while it grew: what has been held back of it follows.
void call_progress::close_shown(std::string_view call, std::size_t end) {
  const auto raw = text::trim(call.substr(begin_, end - begin_));
  const auto last = static_cast<std::size_t>(raw.data() - call.data()) + raw.size();
  if (shown_ < last)
    arguments_->append_string(decode_entities(call.substr(shown_, last - shown_)));
  first_ = decode_entities(raw); // its key may stand again
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
  if (arguments_ && !inside_)
    arguments_->release();
}

void call_progress::advance(std::string_view call, std::size_t end) {
  if (!inside_ || !as_text_ || arguments_->is_settled() || end <= blank_)
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
  arguments_->append_string(decode_entities(call.substr(from, to - from)));
  shown_ = blank_ = to;
}

} // namespace superstep::qwen3_coder
