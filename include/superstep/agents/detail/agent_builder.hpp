// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/agent_core.hpp>
#include <superstep/agents/detail/agent_table.hpp>
#include <superstep/agents/detail/middleware_parts.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace superstep::detail {

/// Builds the graph of an agent, for described structs and for JSON states. Its nodes run in this
/// order; a hook that is not set has no node:
///
///     start > before_agent > [before_model > pre_model_hook] > model
///           > [post_model_hook > after_model] > tools, or leave
///     leave = generate_structured_response > after_agent > end
///
/// After the tools, the loop begins again with the first bracket.
template <class State>
class agent_builder {
public:
  /// Throws compile_error if the options are invalid or contradict each other.
  explicit agent_builder(agent_options<State> o)
      : options_{prepared(std::move(o))}, table_{options_} {
    auto core = std::make_shared<agent_core<State>>(options_);
    if (options_.response)
      set_reader(*core);
    core_ = std::move(core);
    collect_hooks();
  }

  /// Returns the compiled graph. Must be called once, because it moves the options into the graph.
  [[nodiscard]] typename agent_front<State>::graph build() {
    table_.add_model(model_name(), core_);
    if (has_tools())
      table_.add_tools(core_, options_.version == react_version::v2);
    if (asks_response_after())
      table_.add_response(core_);
    add_edges();
    return table_.compile(compile_options_of(options_));
  }

private:
  /// A hook, and the name of the node that runs it.
  struct station {
    std::string name;
    std::variant<middleware_hook<State>, agent_hook<State>> hook;
  };
  using stations = std::vector<station>; // hooks in the order in which they run

  /// Returns the options with a model object in place of a spec, and with the tools and tool
  /// interceptors of all middleware added to the agent's tools. Throws compile_error for options
  /// that contradict each other.
  static agent_options<State> prepared(agent_options<State> o) {
    if (!o.model.spec().empty())
      o.model = react::resolved_model(o.model.spec());
    if (!o.model.object() && !o.model.choose())
      react::refuse_options("agent_options::model is not set; an agent needs a model");
    if (!o.tools.fault().empty())
      react::refuse_options("agent_options::tools: " + o.tools.fault());
    auto names = std::vector<std::string>{};
    auto wraps = std::vector<tool_interceptor>{};
    auto more = tool_list{};
    auto has_late_hook = static_cast<bool>(o.post_model_hook);
    for (auto& m : o.middleware) {
      names.push_back(m.name);
      more.insert(more.end(), m.tools.begin(), m.tools.end());
      has_late_hook = has_late_hook || m.after_model;
      if (m.wrap_tool_call)
        wraps.push_back(std::move(m.wrap_tool_call));
    }
    react::check_names(names);
    if (!more.empty() || !wraps.empty())
      o.tools = react::with_middleware(o.tools, more, std::move(wraps));
    if (o.tool_calls_at_once)
      o.tools = react::with_limit(o.tools, *o.tool_calls_at_once);
    react::check_tools(o.model.object().get(), o.tools, o.return_direct,
                       has_late_hook && o.version == react_version::v1);
    react::check_timeouts(o.tool_timeouts, o.tools.node());
    if (!o.tool_timeouts.empty() && o.version == react_version::v1)
      react::refuse_options("tool_timeouts needs version v2: in v1 all calls are one task");
    return o;
  }

  [[nodiscard]] bool is_react() const noexcept {
    return options_.rules == agent_rules::create_react_agent;
  }
  [[nodiscard]] bool has_tools() const noexcept { return !options_.tools.empty(); }
  [[nodiscard]] bool asks_response_after() const noexcept {
    if (!options_.response)
      return false;
    const auto request = options_.response->request;
    return request == response_request::by_rules ? is_react()
                                                 : request == response_request::separate;
  }
  /// Makes the object that requests and reads the structured response.
  void set_reader(agent_core<State>& core) const {
    if (!asks_response_after())
      react::check_response_in_answer(*options_.response, options_.rules, has_tools());
    auto reader = std::make_shared<const react::response_reader>(
        *options_.response, asks_response_after(), options_.answer_invalid_calls);
    core.prompts_separate = options_.response->request == response_request::separate;
    (asks_response_after() ? core.separate : core.in_answer) = std::move(reader);
  }
  [[nodiscard]] const char* model_name() const noexcept {
    return is_react() ? react::agent_name : react::model_name;
  }

  /// Sorts the hooks by the place where they run. Hooks before the model run in the order of the
  /// middleware. Hooks after the model run in reverse order, so each is inserted at the front.
  void collect_hooks() {
    const auto first = [](stations& to, station s) { to.insert(to.begin(), std::move(s)); };
    for (auto& m : options_.middleware) {
      if (m.before_agent)
        before_agent_.push_back({m.name + ".before_agent", std::move(m.before_agent)});
      if (m.before_model)
        before_model_.push_back({m.name + ".before_model", std::move(m.before_model)});
      if (m.after_model)
        first(after_model_, {m.name + ".after_model", std::move(m.after_model)});
      if (m.after_agent)
        first(after_agent_, {m.name + ".after_agent", std::move(m.after_agent)});
    }
    if (options_.pre_model_hook)
      before_model_.push_back({react::pre_hook_name, std::move(options_.pre_model_hook)});
    if (options_.post_model_hook)
      first(after_model_, {react::post_hook_name, std::move(options_.post_model_hook)});
  }

  /// Returns the name of the first hook's node, or the default if there are no hooks.
  static std::string first_of(const stations& all, std::string default_value) {
    return all.empty() ? std::move(default_value) : all.front().name;
  }

  [[nodiscard]] std::shared_ptr<const react::tool_timeouts> timeouts() const {
    return options_.tool_timeouts.empty()
               ? nullptr
               : std::make_shared<const react::tool_timeouts>(options_.tool_timeouts);
  }

  void add_edges() {
    const auto after_loop = first_of(after_agent_, std::string{end_node});
    auto exits = react::exits{};
    exits.model = first_of(before_model_, model_name());
    exits.end = asks_response_after() ? react::structured_name : after_loop;
    exits.timeouts = timeouts();
    exits.version = options_.version;
    exits.rules = options_.rules;
    if (options_.version == react_version::v2) // in v1, all calls of an answer are one task
      exits.handoffs = react::handoffs_of(options_.tools);
    exits.is_looped = !after_model_.empty() || options_.answer_invalid_calls;
    table_.edge(std::string{start_node}, first_of(before_agent_, exits.model));
    link(before_agent_, leading_to(exits, exits.model));
    link(before_model_, leading_to(exits, model_name()));
    const auto leaving = leading_to(exits, has_tools() ? std::string{} : exits.end);
    if (!after_model_.empty())
      table_.edge(model_name(), after_model_.front().name);
    else
      leave(model_name(), leaving);
    link(after_model_, leaving);
    if (asks_response_after())
      table_.edge(react::structured_name, after_loop);
    exits.end = std::string{end_node};
    link(after_agent_, leading_to(exits, exits.end));
    if (has_tools())
      add_return(leaving);
  }

  /// Returns the exits with another node that follows without a jump.
  static react::exits leading_to(react::exits exits, std::string next) {
    exits.next = std::move(next);
    return exits;
  }

  /// Adds the edges out of a node: one edge to `exits.next` if it is set. Otherwise the model's
  /// latest answer decides between the tools, the model again, and the end.
  void leave(std::string from, const react::exits& exits) {
    if (!exits.next.empty())
      return table_.edge(std::move(from), exits.next);
    auto to = std::vector<std::string>{react::tools_name};
    if (exits.is_looped)
      to.push_back(exits.model);
    to.push_back(exits.end);
    table_.route(std::move(from), exits, to);
  }

  /// Adds the edge from the tools back to the model, or a router if a return_direct tool may end
  /// the loop or a handoff may wait for other calls. Under create_react_agent()'s rules, the end by
  /// a return_direct tool skips the structured response.
  void add_return(const react::exits& exits) {
    if (core_->return_direct.empty() && !exits.handoffs)
      return table_.edge(react::tools_name, exits.model);
    auto to = std::vector<std::string>{exits.model};
    if (!core_->return_direct.empty())
      to.push_back(is_react() ? std::string{end_node} : exits.end);
    if (exits.handoffs)
      to.emplace_back(react::tools_name);
    table_.route_tools(exits, core_->return_direct, to);
  }

  /// Adds a node for each hook, with an edge to the next hook.
  /// @param last the exits of the last hook
  void link(stations& all, const react::exits& last) {
    for (auto i = std::size_t{0}; i < all.size(); ++i)
      add_hook(std::move(all[i]), i + 1 < all.size() ? leading_to(last, all[i + 1].name) : last);
  }

  /// Adds the node of one hook. A hook that declares jumps gets a router to all their targets.
  void add_hook(station at, const react::exits& exits) {
    auto jumps = std::vector<jump>{};
    if (const auto* hook = std::get_if<middleware_hook<State>>(&at.hook))
      jumps = hook->jumps();
    react::check_jumps(at.name, jumps, has_tools());
    std::visit([&](auto& hook) { table_.add_hook(at.name, std::move(hook)); }, at.hook);
    if (jumps.empty())
      return leave(std::move(at.name), exits);
    auto to = exits.next.empty()
                  ? std::vector<std::string>{react::tools_name, exits.model, exits.end}
                  : std::vector<std::string>{exits.next};
    for (const auto one : jumps)
      if (const auto name = std::string{react::target_of(exits, one)};
          std::ranges::find(to, name) == to.end())
        to.push_back(name);
    table_.route(std::move(at.name), exits, to);
  }

  agent_options<State> options_;
  agent_table<State> table_;
  std::shared_ptr<const agent_core<State>> core_;
  stations before_agent_;
  stations before_model_;
  stations after_model_;
  stations after_agent_;
};

/// Builds the graph of an agent. Not an inline function, and its return type is not deduced, so
/// that an `extern template` declaration prevents the compilation of the builder.
template <class State>
typename agent_front<State>::graph build_agent(agent_options<State> options) {
  return agent_builder<State>{std::move(options)}.build();
}

} // namespace superstep::detail
