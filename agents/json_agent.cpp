// SPDX-License-Identifier: Apache-2.0
#include <superstep/agents/detail/agent_core.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/agents/json_messages.hpp>
#include <superstep/agents/json_tools.hpp>
#include <superstep/base/assert.hpp>
#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

constexpr auto model_input_key = "llm_input_messages";
constexpr auto response_key = "structured_response";

using core = detail::agent_core<json::value>;
using core_ptr = core::ptr;

/// The messages that the model reads in this call.
message_list chosen_messages(const json::value& state) {
  auto chosen = messages_of(state, model_input_key);
  return chosen.empty() ? messages_of(state) : chosen;
}

/// How often the model has answered: whatever a hook lets it read, each call has its number.
std::uint32_t answers_in(const json::value& state) {
  const auto& messages = state.at("messages").as_array();
  return static_cast<std::uint32_t>(
      std::ranges::count_if(messages, [](const auto& m) { return m.at("type") == "ai"; }));
}

/// The state as a prompt function sees it.
json::value seen_by_prompt(const json::value& state, const message_list& chosen) {
  auto seen = state;
  seen.as_object()["messages"] = to_json_list(chosen);
  seen.as_object().erase(model_input_key);
  return seen;
}

task<json_command> call_agent(core_ptr agent, const json::value& state, runtime rt) {
  auto turn = react::model_turn{};
  turn.messages = chosen_messages(state);
  react::check_history(turn.messages);
  turn.turn = answers_in(state);
  auto choosing = core::choose(agent, state, rt);
  turn.model = co_await choosing;
  if (agent->binds_tools)
    turn.tools = agent->tools;
  turn.system = agent->prompt.system();
  auto seen = json::value{}; // as long as the prompt is made
  if (agent->prompt.make()) {
    seen = seen_by_prompt(state, turn.messages);
    auto making = agent->prompt.make()(seen, rt);
    turn.messages = co_await making;
  }
  auto asking = react::ask_model(std::move(turn), rt, agent->early);
  auto answer = co_await asking;
  answer =
      react::finished(std::move(answer), agent->name, rt.remaining_steps(), agent->return_direct);
  auto update = json::object{};
  update["messages"] = json::array(1, to_json(answer));
  auto out = json_command{};
  out.update = std::move(update);
  co_return out;
}

task<json::object> call_for_response(core_ptr agent, const json::value& state, runtime rt) {
  auto choosing = core::choose(agent, state, rt);
  auto model = co_await choosing;
  auto asking = react::ask_response(std::move(model), *agent->response, messages_of(state), rt);
  auto update = json::object{};
  update[response_key] = co_await asking;
  co_return update;
}

/// Puts the nodes together. The compiled graph has what it captures by value.
class builder {
public:
  explicit builder(json_agent_options&& o)
      : options_{std::move(o)}, graph_{json_graph_options{.ignore_unknown_channels = true}} {
    check();
    agent_ = std::make_shared<const core>(options_);
  }

  compiled_json_graph build() {
    add_state();
    add_nodes();
    add_edges();
    auto compile = detail::compile_options_of(options_);
    compile.ignore_unknown_targets = true;
    return graph_.compile(std::move(compile));
  }

private:
  [[nodiscard]] bool has_tools() const noexcept { return !options_.tools.empty(); }
  [[nodiscard]] const tool_node& tools() const noexcept { return options_.tools.node(); }
  [[nodiscard]] const char* entry() const noexcept {
    return options_.pre_model_hook ? react::pre_hook_name : react::agent_name;
  }
  /// Where an agent goes whose model calls nothing (more).
  [[nodiscard]] const char* exit() const noexcept {
    return options_.response ? react::structured_name : "__end__";
  }

  void check() const;
  void add_state();
  void add_nodes();
  void add_edges();
  void add_tool_edges();

  json_agent_options options_;
  json_graph graph_;
  core_ptr agent_;
  std::vector<std::string> seen_by_hooks_;
};

void builder::check() const {
  const auto& model = options_.model.object();
  SUPERSTEP_ASSERT(model != nullptr || options_.model.choose());
  const auto is_late = options_.post_model_hook && options_.version == react_version::v1;
  react::check_tools(model.get(), options_.tools, options_.return_direct, is_late);
}

void builder::add_state() {
  const auto keys = options_.state.value_or(std::vector<json_state_key>{
      {"messages", "messages"}, {"remaining_steps", "remaining_steps"}});
  auto missing = std::string{};
  auto wanted = std::vector<std::string>{"messages", "remaining_steps"};
  if (options_.response && options_.state)
    wanted.emplace_back(response_key);
  std::ranges::sort(wanted);
  for (const auto& name : wanted)
    if (std::ranges::find(keys, name, &json_state_key::name) == keys.end())
      missing += (missing.empty() ? "'" : ", '") + name + "'";
  if (!missing.empty())
    react::refuse_options("Missing required key(s) {" + missing + "} in state_schema");
  auto output = std::vector<std::string>{};
  for (const auto& key : keys) {
    if (key.reduce)
      graph_.channel(key.name, key.reduce, key.initial);
    else if (key.rule == "messages")
      graph_.channel(key.name, add_json_messages, json::array{}, failed_fold::leaves_value);
    else
      graph_.channel(key.name, key.rule);
    seen_by_hooks_.push_back(key.name);
    if (key.rule != "remaining_steps" && key.rule != "is_last_step")
      output.push_back(key.name);
  }
  if (options_.response &&
      std::ranges::find(seen_by_hooks_, response_key) == seen_by_hooks_.end()) {
    graph_.channel(response_key);
    seen_by_hooks_.emplace_back(response_key);
    output.emplace_back(response_key);
  }
  graph_.input(output);
  graph_.output(output);
  if (options_.pre_model_hook)
    graph_.channel(model_input_key);
}

void builder::add_nodes() {
  auto reads = json_node_options{};
  reads.reads = seen_by_hooks_;
  const auto hook = [&](const char* name, json_step step) {
    graph_.add(
        name,
        [step = std::move(step)](const json::value& state, runtime rt) {
          return step(state, std::move(rt));
        },
        reads);
  };
  if (options_.pre_model_hook)
    hook(react::pre_hook_name, options_.pre_model_hook);
  if (options_.post_model_hook)
    hook(react::post_hook_name, options_.post_model_hook);
  graph_.add(react::agent_name, [agent = agent_](const json::value& state, runtime rt) {
    return call_agent(agent, state, std::move(rt));
  });
  if (options_.response)
    graph_.add(
        react::structured_name,
        [agent = agent_](const json::value& state, runtime rt) {
          return call_for_response(agent, state, std::move(rt));
        },
        reads);
  if (!has_tools())
    return;
  reads.on_failure = [kept = std::make_shared<const tool_node>(tools())](const json::value& given,
                                                                         const run_error& why) {
    return answer_stopped_tools(*kept, given, why);
  };
  graph_.add(react::tools_name, json_tools_step(tools()), std::move(reads));
}

void builder::add_edges() {
  graph_.edge("__start__", entry());
  if (std::string_view{entry()} != react::agent_name)
    graph_.edge(entry(), react::agent_name);
  if (options_.response)
    graph_.edge(react::structured_name, "__end__");
  if (has_tools()) {
    add_tool_edges();
    return;
  }
  auto last = std::string{react::agent_name};
  if (options_.post_model_hook) {
    graph_.edge(last, react::post_hook_name);
    last = react::post_hook_name;
  }
  graph_.edge(last, exit());
}

/// Each of these calls as a Send to the tools, with the state as it is now.
std::vector<json_target> sends_of(const std::vector<tool_call>& calls, const json::value& state) {
  auto out = std::vector<json_target>{};
  for (const auto& call : calls)
    out.emplace_back(react::tools_name, json_tool_call(call, state));
  return out;
}

void builder::add_tool_edges() {
  const auto leave = std::string{exit()};
  const auto again = std::string{entry()};
  if (options_.return_direct.empty())
    graph_.edge(react::tools_name, again);
  else
    graph_.branch(react::tools_name,
                  [agent = agent_, again](const json::value& state) -> std::string {
                    return react::ends_directly(messages_of(state), agent->return_direct)
                               ? "__end__"
                               : again;
                  },
                  {{again, again}, {"__end__", "__end__"}});
  const auto version = options_.version;
  const auto route = [leave, version](const json::value& state) -> std::vector<json_target> {
    const auto calls = calls_of_last(state);
    if (calls.empty())
      return {leave};
    if (version == react_version::v1)
      return {react::tools_name};
    return sends_of(calls, state);
  };
  if (!options_.post_model_hook) {
    graph_.branch(react::agent_name, route,
                  {{react::tools_name, react::tools_name}, {leave, leave}});
    return;
  }
  graph_.edge(react::agent_name, react::post_hook_name);
  graph_.branch(react::post_hook_name,
                [leave, again](const json::value& state) -> std::vector<json_target> {
                  const auto messages = messages_of(state);
                  if (const auto calls = react::pending_calls(messages); !calls.empty())
                    return sends_of(calls, state);
                  const auto is_answered =
                      !messages.empty() && messages.back().type == message_type::tool;
                  return {is_answered ? again : leave};
                },
                {{react::tools_name, react::tools_name}, {again, again}, {leave, leave}});
}

} // namespace

result<react_version> react_version_from(std::string_view text) {
  if (text == "v1")
    return react_version::v1;
  if (text == "v2")
    return react_version::v2;
  return error{errc::invalid_argument,
               "Invalid version " + std::string{text} + ". Supported versions are 'v1' and 'v2'."};
}

compiled_json_graph create_react_agent(json_agent_options options) {
  return builder{std::move(options)}.build();
}

} // namespace superstep
