// SPDX-License-Identifier: Apache-2.0
// The hooks `trim` and `summarise` of agent files, which shorten a long conversation before the
// model reads it.
#include "agents/history_hooks.hpp"

#include "agents/run_of_request.hpp"
#include "base/ascii_text.hpp"
#include "models/providers/answer_end.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/messages/history.hpp>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

namespace superstep::detail {

namespace {

/// Returns the index of the last human message at `from` or before it, where a turn begins; 0 if
/// there is no such message.
std::size_t turn_before(const message_list& messages, std::size_t from) {
  while (from > 0 && (from >= messages.size() || messages[from].type != message_type::human))
    --from;
  return from;
}

void append_part(message_list& out, const message_list& messages, std::size_t from,
                 std::size_t to) {
  for (auto i = from; i < to; ++i)
    out.push_back(messages.at_ptr(i));
}

message_list part_of(const message_list& messages, std::size_t from, std::size_t to) {
  auto out = message_list{};
  append_part(out, messages, from, to);
  return out;
}

/// Returns the number of system messages at the start. They are instructions, not part of a turn.
std::size_t instructions_in(const message_list& messages) {
  auto out = std::size_t{0};
  while (out < messages.size() && messages[out].type == message_type::system)
    ++out;
  return out;
}

/// Returns the instructions and the longest sequence of latest turns with which they have at most
/// `tokens_max` tokens. The last turn is included even if it alone is larger.
message_list fitting_part(const message_list& messages, std::int64_t tokens_max) {
  const auto count = approximate_tokens{};
  const auto first = instructions_in(messages);
  auto out = part_of(messages, 0, first);
  auto tokens = count_tokens_approximately(out);
  auto begin = std::max(first, turn_before(messages, messages.size()));
  for (auto i = messages.size(); i > first; --i) {
    const auto& m = messages[i - 1];
    tokens += count(m);
    if (tokens > tokens_max)
      break;
    if (m.type == message_type::human || i - 1 == first)
      begin = i - 1;
  }
  append_part(out, messages, begin, messages.size());
  return out;
}

/// Asks the model for a summary of the messages.
task<message> ask_for_summary(chat_model_ptr model, std::string prompt, message_list messages,
                              runtime rt) {
  auto request = model_request{};
  request.system = std::make_shared<const message>(system_message(std::move(prompt)));
  request.messages.push_back(human_message(buffer_string(messages)));
  // An empty list: the model must not call tools here.
  request.tools = std::make_shared<const std::vector<tool_definition>>();
  detail::set_run(request, rt);
  request.turn = react::answers_in(messages);
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  if (!answer)
    throw model_error{answer.error()};
  co_return *std::move(answer);
}

/// Returns the list that replaces all messages before `kept_from` by a summary.
message_list replaced(const message_list& messages, std::size_t kept_from,
                      const std::string& summary) {
  auto out = message_list{};
  out.push_back(remove_message(std::string{remove_all_messages}));
  out.push_back(human_message("A summary of the conversation so far:\n" + summary));
  append_part(out, messages, kept_from, messages.size());
  return out;
}

task<update<chat_state>> summarise(std::shared_ptr<const summary_spec> options,
                                   chat_model_ptr model, const chat_state& state, runtime rt) {
  const auto messages = state.messages;
  auto written = update<chat_state>{};
  if (count_tokens_approximately(messages) <= options->tokens_max)
    co_return written;
  const auto wanted = messages.size() - std::min(messages.size(), options->messages_kept);
  const auto kept_from = turn_before(messages, wanted);
  if (kept_from < 2) // at most an earlier summary would be replaced
    co_return written;
  auto asking =
      ask_for_summary(std::move(model), options->prompt, part_of(messages, 0, kept_from), rt);
  const auto answer = co_await asking;
  if (answer.usage)
    written.add(set<&chat_state::usage>(token_usage{*answer.usage}));
  if (const auto summary = summary_in(answer))
    written.add(set<&chat_state::messages>(replaced(messages, kept_from, *summary)));
  co_return written;
}

} // namespace

std::optional<std::string> summary_in(const message& answer) {
  auto text = text_of(answer);
  if (is_blank(text) || !providers::why_cut(answer.response_metadata).empty())
    return std::nullopt;
  return text;
}

agent_hook<chat_state> make_trim_hook(const trim_spec& options) {
  return [tokens = options.tokens_max](const chat_state& state, runtime) {
    return update{set<&chat_state::llm_input_messages>(fitting_part(state.messages, tokens))};
  };
}

agent_hook<chat_state> make_summary_hook(const summary_spec& options, chat_model_ptr model) {
  const auto kept = std::make_shared<const summary_spec>(options);
  return [kept, model = std::move(model)](const chat_state& state, runtime rt) {
    return summarise(kept, model, state, std::move(rt));
  };
}

} // namespace superstep::detail
