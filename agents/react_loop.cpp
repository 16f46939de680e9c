// SPDX-License-Identifier: Apache-2.0
// The steps of an agent's loop that do not depend on the type of the state: model calls, structured
// responses, and checks of histories and options. Templates in agents/detail make nodes of them.
// early_tools.cpp starts tool calls during a model call.
#include "agents/chat_history.hpp"
#include "agents/early_tools.hpp"
#include "agents/run_of_request.hpp"
#include "base/awaited_ref.hpp"
#include "messages/message_memory.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

namespace superstep::react {

namespace {

bool has_tool(const std::vector<tool_definition>& tools, std::string_view name) {
  return std::ranges::any_of(tools, [&](const auto& tool) { return tool.name == name; });
}

/// Notifies the caller's observer when a model call starts, is retried and ends. Owns the context,
/// because the call may end after its run. If the object is destroyed before end(), the call was
/// cancelled.
class observed_model {
public:
  /// Starts the observation of a request. Returns null if the caller has no observer.
  /// @param is_separate whether the call only requests the structured response
  static std::unique_ptr<observed_model> of(const context_ptr& asked, model_request& request,
                                            bool is_separate = false) {
    if (!asked || !asked->observe)
      return nullptr;
    auto out = std::make_unique<observed_model>(asked, std::to_string(request.turn), is_separate);
    request.on_retry = [call = out->call_](const model_attempt& failed) { call->retried(failed); };
    return out;
  }
  observed_model(context_ptr asked, std::string number, bool is_separate)
      : call_{std::make_shared<observed>(std::move(asked), std::move(number), is_separate)} {
    auto event = call_event{"model_start", call_->number};
    event.is_separate = is_separate;
    call_->asked->observe(event);
  }
  observed_model(const observed_model&) = delete;
  observed_model& operator=(const observed_model&) = delete;
  ~observed_model() {
    if (call_)
      call_->ended("cancelled", nullptr, {});
  }
  /// Reports the end of the call.
  void end(const result<message>& answer) {
    const auto* usage = answer && answer->usage ? &*answer->usage : nullptr;
    std::exchange(call_, nullptr)
        ->ended(answer ? "ok" : "error", usage, answer ? std::string{} : answer.error().text);
  }

private:
  /// The call. The request shares it, because a model may keep a request longer than its caller.
  struct observed {
    observed(context_ptr a, std::string n, bool separate)
        : asked{std::move(a)}, number{std::move(n)}, is_separate{separate} {}
    void retried(const model_attempt& failed) {
      auto event = call_event{"model_retry", number};
      event.attempt = attempts.fetch_add(1);
      event.error = failed.why;
      asked->observe(event);
    }
    void ended(std::string_view status, const token_usage* usage, const std::string& why) const {
      auto event = call_event{"model_end", number, status, attempts.load()};
      event.took = std::chrono::steady_clock::now() - begin;
      event.usage = usage;
      event.error = why;
      event.is_separate = is_separate;
      asked->observe(event);
    }

    const context_ptr asked;
    const std::string number;
    const bool is_separate;
    const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
    std::atomic<std::uint32_t> attempts{1};
  };

  std::shared_ptr<observed> call_;
};

/// Forwards notifications of tool calls to the run's caller.
class context_observer final : public call_observer {
public:
  explicit context_observer(context_ptr asked) : asked_{std::move(asked)} {}

  void on_start(std::string_view call_id, std::string_view tool) const override {
    if (!asked_->observe)
      return;
    auto event = call_event{"tool_start", call_id};
    event.tool = tool;
    asked_->observe(event);
  }
  void on_end(call_time ended) const override {
    if (asked_->observe) {
      auto event = call_event{"tool_end", ended.call_id, "ok", ended.attempt};
      event.took = ended.took;
      event.tool = ended.tool;
      if (ended.took.count() < 0) {
        event.status = "cancelled";
        event.took = {};
      } else if (ended.is_error) {
        event.status = "error";
      }
      asked_->observe(event);
    }
    if (asked_->tool_times && ended.took.count() >= 0)
      asked_->tool_times->add(std::move(ended));
  }

private:
  context_ptr asked_;
};

/// Adds the model parameters that the caller set for this run.
void follow(model_request& request, const context_ptr& asked) {
  if (asked)
    for (const auto& [name, set] : asked->parameters)
      request.parameters.insert_or_assign(name, set);
}

/// Returns the names in `wanted` that are missing in `held`, in quotes and separated by commas, for
/// error texts.
std::string missing(const std::vector<tool_definition>& wanted,
                    const std::vector<tool_definition>& held) {
  auto names = std::set<std::string>{};
  for (const auto& tool : wanted)
    if (!has_tool(held, tool.name))
      names.insert(tool.name);
  auto out = std::string{};
  for (const auto& name : names)
    out += (out.empty() ? "'" : ", '") + name + "'";
  return out;
}

/// Returns the request of a turn, whose parts it takes.
model_request request_of(model_turn&& turn, const runtime& rt, const context_ptr& asked) {
  auto request = model_request{};
  request.system = std::move(turn.system);
  request.messages = std::move(turn.messages);
  request.tools = std::move(turn.tools);
  detail::set_run(request, rt);
  request.turn = turn.turn;
  request.parameters = std::move(turn.parameters);
  request.format = std::move(turn.format);
  follow(request, asked);
  // An agent that is called as a tool ignores the other options of the context.
  if (const auto context = asked ? asked : context_of(rt.config())) {
    request.sample = context->sample;
    request.attempt = context->attempt;
  }
  return request;
}

/// The parts that a model call needs until its answer arrives.
struct pending_call {
  chat_model_ptr model; ///< outlives the call
  runtime rt;
  std::unique_ptr<observed_model> observed;
  std::shared_ptr<const bool> streamed; ///< whether pieces of the answer were streamed; may be null
};

/// Waits for the answer. The frame of this coroutine must stay below the 1,032 bytes that malloc
/// keeps in its fast cache, because every turn of every agent allocates one.
task<answer_ptr> answer_of(task<result<message>> asking, pending_call call) {
  auto ended = detail::awaited_ref{asking};
  auto& reply = co_await ended;
  if (call.observed)
    call.observed->end(reply);
  if (!reply && call.streamed && *call.streamed)
    throw broken_answer{reply.error()};
  if (!reply)
    throw model_error{reply.error()};
  if (call.rt.streams_messages() && !*call.streamed) // else the pieces were streamed already
    call.rt.emit_message(value{*reply});
  co_return as_answer(std::move(*reply));
}

/// Asks a model and starts the tool calls of its answer while the rest is still being streamed.
task<answer_ptr> ask_with_early_calls(chat_model_ptr model, model_request request, runtime rt,
                                      early_ptr early, context_ptr asked) {
  auto& at = co_await this_context{};
  const auto calls = early_tools::begin(early, rt, at, asked);
  const auto streamed = listen(request, rt, calls);
  auto observed = observed_model::of(asked, request);
  auto asking = await_with_stream(model->complete(std::move(request)), calls);
  auto answering = answer_of(std::move(asking), {model, rt, std::move(observed), streamed});
  auto answer = co_await answering;
  co_return answer;
}

} // namespace

std::uint32_t answers_in(const message_list& messages) {
  auto count = std::uint32_t{0};
  messages.for_each_type([&](message_type type) { count += type == message_type::ai ? 1U : 0U; });
  return count;
}

context_ptr context_of(const run_config& config) {
  return config.context.share_if<agent_context>();
}

bool is_repeated(const run_config& config, const run_error& why) {
  const auto context = context_of(config);
  return context && context->repeats_cancelled_step && why.code == graph_errc::cancelled;
}

std::shared_ptr<const call_observer> observer_of(const context_ptr& asked) {
  if (!asked || (!asked->observe && !asked->tool_times))
    return nullptr;
  return std::make_shared<const context_observer>(asked);
}

answer_ptr as_answer(message&& answer) {
  return detail::make_message(std::move(answer));
}

task<answer_ptr> ask_model(model_turn turn, runtime rt, early_ptr early, context_ptr asked) {
  auto model = std::move(turn.model);
  auto request = request_of(std::move(turn), rt, asked);
  if (early)
    return ask_with_early_calls(std::move(model), std::move(request), std::move(rt),
                                std::move(early), std::move(asked));
  const auto streamed = listen(request, rt, nullptr);
  auto observed = observed_model::of(asked, request);
  auto asking = model->complete(std::move(request));
  return answer_of(std::move(asking),
                   {std::move(model), std::move(rt), std::move(observed), streamed});
}

task<message> ask_model_later(model_turn turn, runtime rt, early_ptr early, context_ptr asked) {
  auto asking = ask_model(std::move(turn), std::move(rt), std::move(early), std::move(asked));
  const auto answer = co_await asking;
  co_return std::move(*answer);
}

task<message> ask_separately(model_turn turn, runtime rt, context_ptr asked) {
  const auto model = turn.model;
  auto request = request_of(std::move(turn), rt, asked);
  auto observed = observed_model::of(asked, request, true);
  auto asking = model->complete(std::move(request));
  auto answer = co_await asking;
  if (observed)
    observed->end(answer);
  if (!answer)
    throw model_error{answer.error()};
  co_return std::move(*answer);
}

task<response_answer> ask_response(response_reader_ptr reader, model_turn turn, model_ask ask,
                                   context_ptr asked) {
  if (const auto& prompt = reader->prompt(); !prompt.empty()) {
    auto text = turn.system ? text_of(*turn.system) + "\n\n" + prompt : prompt;
    turn.system = std::make_shared<const message>(system_message(std::move(text)));
  }
  turn.tools = std::make_shared<const std::vector<tool_definition>>();
  reader->prepare(turn);
  return ask_for_response(std::move(reader), std::move(turn), std::move(ask), std::move(asked));
}

void finish(message& answer, const std::string& agent, std::int64_t steps_left,
            const tool_names& return_direct, bool will_retry_answer) {
  const auto& calls = answer.tool_calls;
  const auto all_end_the_run = std::ranges::all_of(
      calls, [&](const auto& call) { return return_direct.contains(call.name); });
  const auto goes_on = !calls.empty() || will_retry_answer;
  if ((steps_left < 1 && all_end_the_run) || (steps_left < 2 && goes_on)) {
    auto apology = ai_message(no_more_steps);
    apology.id = std::move(answer.id);
    answer = std::move(apology);
  } else if (!agent.empty()) {
    answer.name = agent;
  }
}

bool ends_directly(const message_list& messages, const tool_names& return_direct) {
  auto i = messages.size();
  for (; i > 0 && messages[i - 1].type == message_type::tool; --i)
    if (return_direct.contains(messages[i - 1].name))
      return true;
  return i > 0 && messages[i - 1].type == message_type::ai &&
         std::ranges::any_of(messages[i - 1].tool_calls,
                             [&](const auto& call) { return return_direct.contains(call.name); });
}

void answer_invalid_calls(message_list& messages, const tool_node& tools) {
  auto has_invalid = false;
  auto at = std::size_t{0};
  messages.for_each_type([&](message_type type) {
    has_invalid |= type == message_type::ai && !messages[at].invalid_tool_calls.empty();
    ++at;
  });
  if (!has_invalid) // the usual history
    return;
  const auto is_answered = [&](std::size_t from, const invalid_tool_call& call) {
    for (auto i = from + 1; i < messages.size() && messages[i].type != message_type::ai; ++i)
      if (messages[i].tool_call_id == call.id)
        return true;
    return false;
  };
  auto out = message_list{};
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    out.push_back(messages.at_ptr(i));
    for (const auto& call : messages[i].invalid_tool_calls)
      if (!call.id.empty() && !is_answered(i, call))
        out.push_back(tools.answer_invalid(call));
  }
  messages = std::move(out);
}

void check_history(const message_list& messages, bool whole) {
  if (auto fault = unanswered_call(messages, whole))
    refuse(*std::move(fault));
}

void refuse(std::string text) {
  throw graph_error{errc::invalid_argument, std::move(text)};
}

void refuse_options(std::string text) {
  throw compile_error{{{graph_errc::invalid_graph, {}, std::move(text)}}};
}

void check_tools(const chat_model* model, const agent_tools& tools,
                 const std::vector<std::string>& return_direct, bool has_late_hook) {
  if (model != nullptr && !tools.empty())
    if (auto fault = misfit_of_bound(*model, tools.node().definitions()))
      refuse_options(*std::move(fault));
  for (const auto& name : return_direct)
    if (tools.node().find(name) == nullptr)
      refuse_options("return_direct: '" + name + "' is not a tool of the agent");
  if (has_late_hook && !tools.empty())
    refuse_options(
        "post_model_hook requires version v2, and so does middleware::after_model: in v1 "
        "the tools run before the hook could see their calls");
}

std::optional<std::string> misfit_of_bound(const chat_model& model, const tool_definitions& tools) {
  const auto bound = bound_tools(model);
  if (bound == nullptr)
    return std::nullopt;
  if (bound->size() != tools->size())
    return "the model is bound to " + std::to_string(bound->size()) + " tools, but the agent has " +
           std::to_string(tools->size()) +
           "; bind exactly the agent's tools, or pass a model without tools";
  if (const auto names = missing(*tools, *bound); !names.empty())
    return "the model is not bound to the agent's tools " + names +
           "; bind exactly the agent's tools, or pass a model without tools";
  return std::nullopt;
}

std::optional<std::string> misfit_of_chosen(const chat_model& model,
                                            const tool_definitions& tools) {
  const auto bound = bound_tools(model);
  if (bound == nullptr)
    return std::nullopt;
  if (const auto names = missing(*bound, *tools); !names.empty())
    return "the chosen model has tools bound that the agent does not have: " + names +
           "; add these tools to the agent, or bind fewer";
  return std::nullopt;
}

} // namespace superstep::react
