// SPDX-License-Identifier: Apache-2.0
// Middleware that replaces older messages of a long conversation by a summary. history_hooks.cpp
// has the simpler form that agent files use.
#include "agents/run_of_request.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/messages/history.hpp>

#include <memory>
#include <stdexcept>
#include <utility>

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

/// Returns the number of messages to remove from the front. Moves the cut so that tool messages
/// stay together with the message that called the tools.
std::size_t find_cut(const message_list& messages, std::size_t keep) {
  if (messages.size() <= keep)
    return 0;
  auto cut = messages.size() - keep;
  while (cut > 0 && cut < messages.size() && messages[cut].type == message_type::tool)
    --cut;
  return cut;
}

model_request request_for(const message_list& messages, std::size_t cut,
                          const summarisation_options& options, const runtime& rt) {
  auto old = message_list{};
  for (auto i = std::size_t{0}; i < cut; ++i)
    old.push_back(messages.at_ptr(i));
  auto trim = trim_options{};
  trim.tokens_max = options.summary_tokens_max;
  trim.count = options.count;
  trim.include_system = true;
  if (auto newest = trim_messages(old, trim); newest && !newest->empty())
    old = *std::move(newest);
  auto request = model_request{};
  request.system = std::make_shared<const message>(
      system_message(options.prompt.empty() ? our_prompt : options.prompt));
  request.messages.push_back(human_message(buffer_string(old)));
  request.tools = std::make_shared<const std::vector<tool_definition>>();
  detail::set_run(request, rt);
  return request;
}

message_step shortened(const message_list& messages, std::size_t cut, const message& summary) {
  auto out = message_step{};
  out.messages.push_back(remove_message(std::string{remove_all_messages}));
  auto told =
      human_message("Here is a summary of the conversation to date:\n\n" + text_of(summary));
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
  auto asking = options->model->complete(request_for(messages, cut, *options, rt));
  const auto answer = co_await asking;
  if (!answer) // without a summary, the state is unchanged and the next model call tries again
    co_return message_step{};
  co_return shortened(messages, cut, *answer);
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
