// SPDX-License-Identifier: Apache-2.0
// Displays a conversation on a terminal or in a pipe.
#include "cli/chat_view.hpp"

#include "agents/chat_history.hpp"
#include "base/visible_text.hpp"
#include "cli/chat_words.hpp"

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/messages/messages.hpp>

namespace superstep::cli {

namespace {

constexpr auto line_bytes = std::size_t{100};

constexpr auto plain = std::string_view{};
constexpr auto bold = std::string_view{"\x1b[1m"};
constexpr auto dim = std::string_view{"\x1b[2m"};
constexpr auto red = std::string_view{"\x1b[31m"};
constexpr auto reset = std::string_view{"\x1b[0m"};

/// Returns the value of a write if it is a write to the field `Member`, else null.
template <auto Member>
const auto* written(const write& w) {
  using type = typename detail::field<Member>::type;
  const auto is_it = w.channel == detail::field_index<Member>() && w.content.holds<type>();
  return is_it ? &w.content.as<type>() : nullptr;
}

} // namespace

void chat_view::hear(const detail::run_event& event) {
  if (event.mode == stream_mode::messages && event.node == react::agent_name) {
    if (event.message.holds<message_chunk>())
      say(text_of(event.message.as<message_chunk>().part));
    else if (event.message.holds<message>())
      say(text_of(event.message.as<message>()));
  } else if (event.mode == stream_mode::updates) {
    for (const auto& w : event.writes)
      if (event.node == react::structured_name)
        show_response(w);
      else if (event.node != react::pre_hook_name) // this hook returns old messages
        show_messages(w);
  }
}

void chat_view::show_messages(const write& w) {
  if (const auto* messages = written<&chat_state::messages>(w))
    for (const auto& m : *messages)
      show(m);
}

void chat_view::show_response(const write& w) {
  const auto* response = written<&chat_state::structured_response>(w);
  if (response == nullptr)
    return;
  // The answer itself may be the response.
  if (const auto answer = parse_json(last_answer_); !answer || *answer != *response)
    line(plain, visible_text(to_text(*response)));
}

void chat_view::say(std::string_view piece) {
  said_ += piece;
  out_ << visible_text(piece) << std::flush;
}

void chat_view::end_answer() {
  if (!said_.empty())
    out_ << '\n' << std::flush;
  said_.clear();
}

void chat_view::show(const message& m) {
  if (m.type == message_type::tool)
    return show_result(m);
  if (m.type != message_type::ai)
    return;
  // Usually the streamed answer is the stored message, and nothing is left to display. But the
  // stored message may be longer, or differ: for example, if no steps are left for its tool calls.
  const auto text = text_of(m);
  if (text.starts_with(said_)) {
    say(std::string_view{text}.substr(said_.size()));
  } else {
    end_answer();
    say(text);
  }
  end_answer();
  show_calls(m);
  last_answer_ = text;
}

void chat_view::show_calls(const message& m) {
  auto count = std::size_t{0};
  if (!m.tool_calls.empty())
    answered_.clear();
  unasked_.clear();
  for (const auto& call : m.tool_calls) {
    auto number = std::string{};
    if (m.tool_calls.size() > 1) {
      numbers_[call.id] = ++count;
      unasked_.push_back({call.name, call.args, count});
      number = '[' + std::to_string(count) + "] ";
    }
    line(dim, one_line("  -> " + number + call.name + ' ' + to_text(call.args), line_bytes));
  }
  for (const auto& call : m.invalid_tool_calls)
    line(red, one_line("  -> " + call.name + ": cannot be read: " + call.error, line_bytes));
}

void chat_view::show_result(const message& m) {
  if (!answered_.insert(m.tool_call_id).second)
    return;
  const auto found = numbers_.find(m.tool_call_id);
  auto number = std::string{};
  if (found != numbers_.end()) {
    number = '[' + std::to_string(found->second) + "] ";
    numbers_.erase(found);
  }
  line(m.is_error ? red : dim, one_line("  <- " + number + m.name + ": " + text_of(m), line_bytes));
}

void chat_view::line(std::string_view code, std::string_view text) {
  if (has_colours_ && !code.empty())
    out_ << code << text << reset << '\n' << std::flush;
  else
    out_ << text << '\n' << std::flush;
}

void chat_view::show_reviewed_calls(const message_list& messages) {
  const auto* const answer = last_ai_message(messages);
  if (answer != nullptr && answer->tool_calls.size() > 1 &&
      !numbers_.contains(answer->tool_calls.front().id))
    show_calls(*answer);
}

void chat_view::history(const message_list& messages) {
  for (const auto& m : messages) {
    if (m.type == message_type::human)
      line(bold, "> " + visible_text(text_of(m)));
    else
      show(m);
  }
}

/// Returns the displayed number of the call that a review is about. A review does not contain the
/// id of its call. So the first call with the same tool and arguments is used; reviews come in the
/// order of the calls.
std::string chat_view::number_of(const action_request& asked) {
  for (auto& call : unasked_) {
    if (call.name != asked.action || call.args != asked.args)
      continue;
    auto out = " [" + std::to_string(call.number) + ']';
    unasked_.erase(unasked_.begin() + (&call - unasked_.data()));
    return out;
  }
  return {};
}

void chat_view::question(const human_interrupt& asked) {
  line(bold,
       "Review of " + one_line(asked.action.action, line_bytes) + number_of(asked.action) + ':');
  line(plain, "  " + visible_text(to_text(asked.action.args)));
  line(plain, "  " + choices_of(asked.config));
}

void chat_view::failed(std::string_view text) {
  line(red, "error: " + visible_text(text));
}

void chat_view::remark(std::string_view text) {
  line(dim, visible_text(text));
}

void chat_view::prompt(std::string_view text) {
  if (has_colours_)
    out_ << bold << text << reset << std::flush;
  else
    out_ << text << std::flush;
}

} // namespace superstep::cli
