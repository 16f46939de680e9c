// SPDX-License-Identifier: Apache-2.0
// Early start of tool calls: decides which tools may start early, runs their calls, and passes the
// results to the tool node. react_loop.cpp calls begin(), listen() and await_with_stream() around
// each model call.
#include "agents/early_tools.hpp"

#include "tools/call_task.hpp"

#include <superstep/base/detail/limiter.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

namespace superstep {

namespace {

/// Runs one call early. Returns null if the tool node must run the call again. This applies to
/// tools that return a command, because only the tool node applies commands. It also applies to
/// errors: an early call has no state, and that may be the cause.
task<message_ptr> run_early(tool_node tools, limiter limit, tool_call call, tool_context context) {
  auto entering = limit.acquire();
  auto permit = co_await entering;
  auto running = tools.run(std::move(call), std::move(context));
  auto came_of_it = co_await running;
  auto answer = std::move(came_of_it.answer);
  if (answer && answer->is_error)
    answer = nullptr;
  co_return answer;
}

/// Returns the environment of early calls. It has no state. Its runtime has no services: an
/// interrupt would stop the model's node, so it fails the early call. The tool node then runs the
/// call again.
std::shared_ptr<const tool_environment> environment_of(const runtime& rt, const tool_node& tools) {
  auto out = std::make_shared<tool_environment>();
  out->tools = tools.definitions();
  out->store = rt.store();
  detail::runtime_access::set_services(out->run.emplace(rt), nullptr);
  return out;
}

/// Whether the tool has arguments that come from the state, the store or the runtime. An early call
/// cannot fill them in.
bool needs_its_turn(const tool& one) {
  return std::ranges::any_of(
      one.injections(), [](const auto& i) { return i.from != injection::source::tool_call_id; });
}

} // namespace

early_tools::early_tools(tool_node tools, std::vector<std::string> names)
    : tools_{std::move(tools)}, names_{std::move(names)} {}

std::shared_ptr<early_calls> early_tools::begin(const react::early_ptr& tools, const runtime& rt,
                                                execution_context& at,
                                                const react::context_ptr& asked) {
  tools->results_.drop(rt);
  if (rt.remaining_steps() < 2) // in a run's last step, the calls of this answer will not run
    return nullptr;
  auto ways = early_calls::ways{};
  ways.is_safe = [tools](const std::string& tool) {
    // The tool node records side effects, and early calls do not. So only repeatable tools may
    // start early.
    const auto* found = tools->tools_.find(tool);
    return std::ranges::find(tools->names_, tool) != tools->names_.end() && found != nullptr &&
           found->effects() == tool_effects::repeatable;
  };
  auto context = tool_context{};
  set_task(context, rt);
  context.node = react::tools_name;
  context.observer = react::observer_of(asked);
  context.environment = environment_of(rt, tools->tools_);
  const auto limit = limiter{rt.config().max_concurrency.value_or(0)};
  ways.run = [tools, limit, context](const tool_call& call) {
    return run_early(tools->tools_, limit, call, context);
  };
  ways.keep = [tools, rt](const tool_call& call, message_ptr answer) {
    tools->results_.keep(rt, call, std::move(answer));
  };
  if (asked && asked->observe)
    ways.discard = [asked](const tool_call& call) { asked->observe({"tool_discarded", call.id}); };
  return std::make_shared<early_calls>(std::move(ways), at);
}

std::shared_ptr<const bool> listen(model_request& request, const runtime& rt,
                                   const std::shared_ptr<early_calls>& early) {
  if (!rt.streams_messages() && !early)
    return nullptr;
  auto told = std::make_shared<bool>(false);
  request.on_chunk = [rt, told, early](const message_chunk& piece) {
    if (early)
      early->add(piece);
    if (!rt.streams_messages())
      return;
    *told = true;
    rt.emit_message(value{piece});
  };
  return told;
}

task<result<message>> await_with_stream(task<result<message>> asking,
                                        std::shared_ptr<early_calls> early) {
  auto reply = std::optional<result<message>>{};
  auto thrown = std::exception_ptr{};
  try {
    // An exception must not leave before the early calls have ended, because they refer to this
    // run.
    reply.emplace(co_await asking);
  } catch (...) {
    thrown = std::current_exception();
  }
  auto ending = early->end(reply && *reply ? (*reply)->tool_calls : std::vector<tool_call>{});
  co_await ending;
  if (thrown)
    std::rethrow_exception(thrown);
  co_return std::move(*reply);
}

namespace react {

early_ptr make_early(agent_tools& tools, const std::vector<std::string>& names,
                     bool has_late_hook) {
  if (names.empty())
    return nullptr;
  if (has_late_hook)
    refuse_options("early_tools: cannot be combined with post_model_hook or "
                   "middleware::after_model, such as that of human_in_the_loop or a limit of tool "
                   "calls, because calls that start early run before the hook could refuse them");
  const auto& node = tools.node();
  if (node.options().wrap_call)
    refuse_options(
        "early_tools: cannot be combined with tool_node_options::wrap_call or "
        "middleware::wrap_tool_call, because an interceptor needs the state, which early "
        "calls do not have");
  for (const auto& name : names) {
    const auto* tool = node.find(name);
    if (tool == nullptr)
      refuse_options("early_tools: '" + name + "' is not a tool of the agent");
    if (needs_its_turn(*tool))
      refuse_options("early_tools: '" + name +
                     "' has injected arguments, which are not known when a call starts early");
  }
  auto early = std::make_shared<const early_tools>(node, names);
  auto options = node.options();
  options.precomputed_result = [early, before = std::move(options.precomputed_result)](
                                   const runtime& rt, const tool_call& call) {
    auto answer = early->take(rt, call);
    return answer || !before ? answer : before(rt, call);
  };
  tools = agent_tools{node.with_options(std::move(options))};
  return early;
}

} // namespace react

} // namespace superstep
