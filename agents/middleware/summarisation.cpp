// SPDX-License-Identifier: Apache-2.0
// Middleware that replaces older messages of a long conversation by a summary. history_hooks.cpp
// has the simpler form that agent files use.
#include "agents/history_hooks.hpp"
#include "agents/run_of_request.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/messages/history.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace superstep {

namespace {

using summarisation_options_ptr = std::shared_ptr<const summarisation_options>;

constexpr auto our_prompt =
    "The conversation below has grown too long and is about to be replaced by what you write now. "
    "Write down everything from it that is needed to go on: what was asked for, what has been done "
    "and with which results, what is decided, and what is still open. Answer with that text alone.";

bool is_too_long(const message_list& messages, const summarisation_options& options) {
  if (options.messages_max && messages.size() >= *options.messages_max)
    return true;
  if (!options.tokens_max)
    return false;
  auto tokens = std::int64_t{0};
  for (const auto& m : messages)
    tokens += options.count(m);
  return tokens >= *options.tokens_max;
}

/// The indices of a tool message and of the message with its call.
struct tool_answer_at {
  std::size_t answer = 0;
  std::size_t call = 0;
};

/// Returns all tool messages whose calls are known, in order.
std::vector<tool_answer_at> tool_answers(const message_list& messages) {
  auto out = std::vector<tool_answer_at>{};
  auto callers = std::unordered_map<std::string_view, std::size_t>{}; // ids may be used again later
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    const auto& m = messages[i];
    for (const auto& call : m.tool_calls)
      callers.insert_or_assign(call.id, i);
    if (m.type != message_type::tool)
      continue;
    if (const auto by = callers.find(m.tool_call_id); by != callers.end())
      out.push_back({i, by->second});
  }
  return out;
}

/// Returns the number of messages to remove from the front. Moves the cut so that tool messages
/// stay together with the message that called the tools. Other messages may be between them.
std::size_t find_cut(const message_list& messages, std::size_t keep) {
  if (messages.size() <= keep)
    return 0;
  auto cut = messages.size() - keep;
  const auto answers = tool_answers(messages);
  for (auto next = answers.size(); next > 0 && answers[next - 1].answer >= cut; --next)
    cut = std::min(cut, answers[next - 1].call);
  return cut;
}

/// Returns the longest end of the text within the token limit.
std::string_view fitting_end(std::string_view text, const summarisation_options& options) {
  const auto fits = [&](std::size_t from) {
    return options.count(human_message(std::string{text.substr(from)})) <=
           options.summary_tokens_max;
  };
  auto begin = std::size_t{0};
  auto end = text.size();
  while (begin < end) { // looks for the first offset from which the text fits
    const auto middle = begin + (end - begin) / 2;
    if (fits(middle))
      end = middle;
    else
      begin = middle + 1;
  }
  const auto is_inside_character = [&] {
    return begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xC0U) == 0x80U;
  };
  while (is_inside_character())
    ++begin;
  return text.substr(begin);
}

/// Returns the newest part of the old messages as text; an empty text if the token limit is too
/// small for any of it.
std::string text_to_sum_up(const message_list& old, const summarisation_options& options) {
  auto trim = trim_options{};
  trim.tokens_max = options.summary_tokens_max;
  trim.count = options.count;
  trim.allow_partial = true;
  trim.include_system = true;
  const auto newest = trim_messages(old, trim);
  const auto is_content = [](const message& m) { return m.type != message_type::system; };
  if (newest && std::any_of(newest->begin(), newest->end(), is_content))
    return buffer_string(*newest);
  // No line of the newest message fits. Trimming leaves at most the system message.
  auto last = message_list{};
  last.push_back(old.at_ptr(old.size() - 1));
  return std::string{fitting_end(buffer_string(last), options)};
}

model_request request_for(std::string text, const summarisation_options& options,
                          const runtime& rt) {
  auto request = model_request{};
  request.system = std::make_shared<const message>(
      system_message(options.prompt.empty() ? our_prompt : options.prompt));
  request.messages.push_back(human_message(std::move(text)));
  request.tools = std::make_shared<const std::vector<tool_definition>>();
  detail::set_run(request, rt);
  return request;
}

/// Returns the summary; nullopt if the model fails or its answer is not usable.
task<std::optional<std::string>> fetch_summary(chat_model_ptr model, model_request request) {
  try {
    auto asking = model->complete(std::move(request));
    const auto answer = co_await asking;
    if (answer)
      co_return detail::summary_in(*answer);
  } catch (...) {
    if (is_unavailable(std::current_exception()))
      throw;
  }
  co_return std::nullopt;
}

message_step shortened(const message_list& messages, std::size_t cut, const std::string& summary) {
  auto out = message_step{};
  out.messages.push_back(remove_message(std::string{remove_all_messages}));
  auto told = human_message("Here is a summary of the conversation to date:\n\n" + summary);
  told.additional_kwargs["lc_source"] = "summarization";
  out.messages.push_back(std::move(told));
  for (auto i = cut; i < messages.size(); ++i)
    out.messages.push_back(messages.at_ptr(i));
  return out;
}

task<message_step> summarise(summarisation_options_ptr options, const message_list& messages,
                             runtime rt) {
  if (!is_too_long(messages, *options))
    co_return message_step{};
  const auto cut = find_cut(messages, options->messages_to_keep);
  if (cut == 0)
    co_return message_step{};
  auto old = message_list{};
  for (auto i = std::size_t{0}; i < cut; ++i)
    old.push_back(messages.at_ptr(i));
  auto text = text_to_sum_up(old, *options);
  if (text.empty())
    co_return message_step{};
  auto asking = fetch_summary(options->model, request_for(std::move(text), *options, rt));
  const auto summary = co_await asking;
  if (!summary) // the state is unchanged, and the next model call tries again
    co_return message_step{};
  co_return shortened(messages, cut, *summary);
}

} // namespace

message_middleware summarisation(summarisation_options options) {
  if (!options.model || (!options.tokens_max && !options.messages_max))
    throw std::invalid_argument{"summarisation requires a model, and tokens_max or messages_max"};
  auto out = message_middleware{};
  out.name = "SummarizationMiddleware";
  out.before_model.run = [options = std::make_shared<const summarisation_options>(
                              std::move(options))](const message_list& messages, runtime rt) {
    return summarise(options, messages, std::move(rt));
  };
  return out;
}

} // namespace superstep
