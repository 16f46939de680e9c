// SPDX-License-Identifier: Apache-2.0
#include "agents/chat_history.hpp"
#include "agents/early_tools.hpp"

#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/react_agent.hpp>
#include <superstep/base/assert.hpp>
#include <superstep/tools/failed_call.hpp>
#include <superstep/tools/tool_errors.hpp>
#include <superstep/tools/tool_node.hpp>

#include <optional>
#include <string>
#include <utility>

namespace superstep {

namespace {

/// What the bodies share; they outlive the graph's construction and one another.
struct react_parts {
  std::string name;
  chat_model_ptr model;
  model_chooser choose_model; // empty: `model` it is
  tool_node tools;
  limiter tool_limit;
  react::early_ptr early; // null: no call starts early
  message_ptr prompt;     // null: none

  explicit react_parts(react_agent_options&& o)
      : name{std::move(o.name)}, model{std::move(o.model)}, choose_model{std::move(o.choose_model)},
        tools{std::move(o.tools)}, tool_limit{std::move(o.tool_limit)} {
    if (!o.early_tools.empty())
      early = std::make_shared<const early_tools>(tools, std::move(o.early_tools));
    if (!o.prompt.empty())
      prompt = std::make_shared<const message>(system_message(std::move(o.prompt)));
  }
};
using parts_ptr = std::shared_ptr<const react_parts>;

model_request make_request(const react_parts& parts, const chat_state& state, const runtime& rt) {
  auto out = model_request{};
  out.system = parts.prompt;
  out.messages = state.messages;
  out.tools = parts.tools.definitions();
  out.run_key = rt.config().run_id;
  out.turn = state.model_calls;
  if (const auto* context = rt.config().context.get_if<agent_context>())
    out.parameters = context->parameters;
  return out;
}

/// The writes of one model call. Calls that cannot be parsed are answered at once, with what is
/// wrong with them: every call in a history must have its answer.
update<chat_state> after_model(const react_parts& parts, message reply, const runtime& rt) {
  auto usage = reply.usage.value_or(token_usage{});
  if (!parts.name.empty())
    reply.name = parts.name;
  const auto has_calls = !reply.tool_calls.empty() || !reply.invalid_tool_calls.empty();
  if (has_calls && rt.remaining_steps() < 2) {
    auto id = std::move(reply.id);
    reply = ai_message(react::no_more_steps);
    reply.id = std::move(id);
  }
  auto added = message_list{};
  auto answers = std::vector<message>{};
  for (const auto& call : reply.invalid_tool_calls)
    answers.push_back(parts.tools.answer_invalid(call));
  const auto answered = static_cast<std::uint32_t>(answers.size());
  added.push_back(std::move(reply));
  for (auto& answer : answers)
    added.push_back(std::move(answer));
  auto out = update{set<&chat_state::messages>(std::move(added)), set<&chat_state::model_calls>(1),
                    set<&chat_state::usage>(std::move(usage))};
  if (answered > 0)
    out.add(set<&chat_state::tool_calls>(answered));
  return out;
}

/// Tells the observer of a run that a call has begun and, whatever becomes of it, that it is over:
/// a call that is given up ends when its frame does. Holds the context: a call may outlast its run.
class told_call {
public:
  /// Null when nobody observes: frames of calls are many, and hold no more than they must.
  /// @param start, end literals
  static std::unique_ptr<told_call> make(const std::shared_ptr<const agent_context>& asked,
                                         std::string_view start, std::string_view end,
                                         std::string id) {
    if (!asked || !asked->observe)
      return nullptr;
    return std::make_unique<told_call>(asked, start, end, std::move(id));
  }
  told_call(std::shared_ptr<const agent_context> asked, std::string_view start,
            std::string_view end, std::string id)
      : asked_{std::move(asked)}, start_{start}, end_{end}, id_{std::move(id)} {}
  told_call(const told_call&) = delete;
  told_call& operator=(const told_call&) = delete;
  ~told_call() {
    if (has_begun_)
      asked_->observe(end_, id_);
  }

  void begin() {
    asked_->observe(start_, id_);
    has_begun_ = true;
  }

private:
  std::shared_ptr<const agent_context> asked_;
  std::string_view start_;
  std::string_view end_;
  std::string id_;
  bool has_begun_ = false;
};

std::shared_ptr<const agent_context> context_of(const runtime& rt) {
  return rt.config().context.share_if<agent_context>();
}

/// `asked` is held: a call may outlast its run.
task<message_ptr> run_tool(parts_ptr parts, task<tool_answer> running,
                           std::unique_ptr<told_call> told,
                           std::shared_ptr<const agent_context> asked) {
  auto permit = co_await parts->tool_limit.acquire();
  auto& at = co_await this_home{};
  const auto begin = at.where->now();
  if (told)
    told->begin();
  auto answer = co_await running;
  told.reset();
  if (asked && asked->tool_times)
    asked->tool_times->add(at.where->now() - begin);
  co_return answer;
}

task<message_ptr> begin_tool(const parts_ptr& parts, tool_call call, const runtime& rt,
                             std::uint32_t repeat = 0) {
  auto context = tool_context{};
  context.come_from(rt);
  if (parts->tools.needs_surroundings()) // agents as tools run below this task
    context.around = std::make_shared<const tool_surroundings>(
        tool_surroundings{tool_input_form::calls, nullptr, rt.store(), rt});
  context.tool_call_id = call.id;
  context.node = std::string{react_tools_node.name};
  context.repeat = repeat;
  auto asked = context_of(rt);
  auto told = told_call::make(asked, "tool_start", "tool_end", call.id);
  auto running = parts->tools.run(std::move(call), std::move(context));
  return run_tool(parts, std::move(running), std::move(told), std::move(asked));
}

/// The answer of a call that was started early, or else the call.
task<message_ptr> begin_or_take(const parts_ptr& parts, const tool_call& call, const runtime& rt,
                                std::uint32_t repeat = 0) {
  if (parts->early)
    if (auto answer = parts->early->take(rt, call))
      return ready(std::move(answer));
  return begin_tool(parts, call, rt, repeat);
}

/// Null: nothing is started early.
std::shared_ptr<early_calls> early_calls_of(const parts_ptr& parts, const runtime& rt, home& at) {
  auto discard = early_tools::call_discarder{};
  if (auto asked = context_of(rt); asked && asked->observe)
    discard = [asked](const tool_call& call) { asked->observe("tool_discarded", call.id); };
  return early_tools::begin(
      parts->early, rt, at,
      [parts, rt](const tool_call& call) { return begin_tool(parts, call, rt); },
      std::move(discard));
}

/// Lets go of what tells the observer as soon as the model has answered.
task<result<message>> told_until_answered(task<result<message>> asking,
                                          std::unique_ptr<told_call> told) {
  auto reply = co_await asking;
  told.reset();
  co_return reply;
}

task<update<chat_state>> call_model(parts_ptr parts, const chat_state& state, runtime rt) {
  // Later messages were checked when they were added.
  if (const auto fault = unanswered_call(state.messages, state.model_calls == 0))
    throw std::system_error{make_error_code(errc::invalid_argument), *fault};
  auto request = make_request(*parts, state, rt);
  auto told =
      told_call::make(context_of(rt), "model_start", "model_end", std::to_string(request.turn));
  if (told)
    told->begin();
  auto model = parts->model;
  if (parts->choose_model) {
    auto choosing = parts->choose_model(state, rt);
    model = co_await choosing;
    if (!model)
      throw std::system_error{make_error_code(errc::invalid_argument),
                              "choose_model returned no model"};
  }
  auto early = std::shared_ptr<early_calls>{};
  if (parts->early) {
    auto& at = co_await this_home{};
    early = early_calls_of(parts, rt, at);
  }
  const auto told_pieces = listen(request, rt, early);
  auto asking = model->complete(std::move(request));
  if (told)
    asking = told_until_answered(std::move(asking), std::move(told));
  if (early)
    asking = hear_out(std::move(asking), early);
  auto reply = co_await asking;
  if (!reply)
    throw std::system_error{reply.error().code, reply.error().text};
  if (rt.streams_messages() && !*told_pieces) // else the pieces have said it all
    rt.emit_message(value{*reply});
  co_return after_model(*parts, std::move(reply).value(), rt);
}

update<chat_state> after_tools(message_list answers) {
  const auto count = static_cast<std::uint32_t>(answers.size());
  return update{set<&chat_state::messages>(std::move(answers)),
                set<&chat_state::tool_calls>(count)};
}

void stream(const message_list& answers, const runtime& rt) {
  if (rt.streams_messages())
    for (const auto& m : answers)
      rt.emit_message(value{m});
}

/// The call is the payload of the Send, which outlives the body.
task<update<chat_state>> call_tool(parts_ptr parts, const tool_call& call, runtime rt) {
  auto running = begin_or_take(parts, call, rt);
  auto answers = message_list{};
  answers.push_back(co_await running);
  stream(answers, rt);
  co_return after_tools(std::move(answers));
}

task<update<chat_state>> call_all_tools(parts_ptr parts, std::vector<tool_call> calls, runtime rt) {
  auto bodies = std::vector<task<message_ptr>>{};
  const auto repeats = repeats_of(calls);
  for (auto i = std::size_t{0}; i < calls.size(); ++i)
    bodies.push_back(begin_or_take(parts, calls[i], rt, repeats[i]));
  auto all = when_all(std::move(bodies));
  auto ended = co_await all;
  auto answers = message_list{};
  for (auto i = std::size_t{0}; i < ended.size(); ++i) {
    if (ended[i].value)
      answers.push_back(std::move(*ended[i].value));
    else
      answers.push_back(stopped_call(calls[i], ended[i].failure ? describe(ended[i].failure)
                                                                : "its actor was told to exit"));
  }
  stream(answers, rt);
  co_return after_tools(std::move(answers));
}

const std::vector<tool_call>& pending_calls(const chat_state& state) {
  const auto* last = last_ai_message(state.messages);
  SUPERSTEP_ASSERT(last != nullptr);
  return last->tool_calls;
}

/// After the model without any call that can be run: again, when it only made unusable calls.
destination without_calls(const chat_state& state) {
  return state.messages.back().type == message_type::tool ? destination{react_agent_node}
                                                          : destination{end};
}

node_output output_of(message_list answers) {
  auto out = node_output{};
  out.writes = std::move(after_tools(std::move(answers)).writes());
  return out;
}

/// A killed call is that call's failure: the model reads about it. A tool that could not be run at
/// all fails the run.
std::optional<node_output> answer_stopped_call(const body_input& given, const run_error& e) {
  if (is_unavailable(e.cause))
    return std::nullopt;
  auto answers = message_list{};
  answers.push_back(
      stopped_call(given.payload->as<tool_call>(), e.text + " (task " + e.task + ")"));
  return output_of(std::move(answers));
}

/// Calls that run together are answered together, and only when nobody will run them any more.
std::optional<node_output> answer_cancelled_calls(const body_input& given, const run_error& e) {
  if (is_unavailable(e.cause))
    return std::nullopt;
  const auto& state = static_cast<const struct_block<chat_state>&>(*given.state).state;
  auto answers = react::answer_stopped(pending_calls(state), false, e);
  if (answers.empty())
    return std::nullopt;
  return output_of(std::move(answers));
}

void add_tools_v1(graph<chat_state>& g, const parts_ptr& parts) {
  auto options = node_options{};
  options.on_failure = answer_cancelled_calls;
  g.add(
      react_all_tools_node,
      [parts](const chat_state& state, runtime rt) {
        return call_all_tools(parts, pending_calls(state), std::move(rt));
      },
      std::move(options));
  g.branch(react_agent_node,
           [](const chat_state& state) {
             return pending_calls(state).empty() ? without_calls(state)
                                                 : destination{react_all_tools_node};
           },
           {react_all_tools_node, end});
}

void add_tools_v2(graph<chat_state>& g, const parts_ptr& parts) {
  auto options = node_options{};
  options.on_failure = answer_stopped_call;
  g.add(
      react_tools_node,
      [parts](const tool_call& call, runtime rt) { return call_tool(parts, call, std::move(rt)); },
      std::move(options));
  g.branch(react_agent_node,
           [](const chat_state& state) {
             auto out = destinations{};
             for (const auto& call : pending_calls(state))
               out.emplace_back(react_tools_node, call);
             if (out.empty())
               out.push_back(without_calls(state));
             return out;
           },
           {destination{react_tools_node}, destination{end}});
}

} // namespace

void add_usage::operator()(token_usage& into, token_usage&& more) const {
  into.input_tokens += more.input_tokens;
  into.output_tokens += more.output_tokens;
  into.total_tokens += more.total_tokens;
  const auto add = [](json::object& sums, const json::object& counts) {
    for (const auto& [name, count] : counts) {
      auto& sum = sums[name];
      if (count.is_int64())
        sum = (sum.is_int64() ? sum.get_int64() : 0) + count.get_int64();
    }
  };
  add(into.input_details, more.input_details);
  add(into.output_details, more.output_details);
}

void call_times::add(std::chrono::nanoseconds one) const {
  const auto lock = std::scoped_lock{mutex_};
  times_.push_back(one);
}

std::vector<std::chrono::nanoseconds> call_times::take() const {
  const auto lock = std::scoped_lock{mutex_};
  return std::exchange(times_, {});
}

compiled_graph<chat_state> make_react_agent(react_agent_options options) {
  SUPERSTEP_ASSERT(options.model != nullptr || options.choose_model);
  const auto version = options.version;
  const auto has_tools = !options.tools.empty();
  auto compile = compile_options{};
  if (!options.name.empty())
    compile.name = options.name;
  const auto parts = std::make_shared<const react_parts>(std::move(options));
  react::check_no_handoffs(parts->tools);

  auto g = graph<chat_state>{};
  g.add(react_agent_node, [parts](const chat_state& state, runtime rt) {
    return call_model(parts, state, std::move(rt));
  });
  g.edge(start, react_agent_node);
  if (!has_tools) {
    g.edge(react_agent_node, end);
  } else {
    version == react_version::v1 ? add_tools_v1(g, parts) : add_tools_v2(g, parts);
    g.edge(react_all_tools_node, react_agent_node);
  }
  return g.compile(std::move(compile));
}

} // namespace superstep
