// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/detail/agent_table.hpp>
#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/base/assert.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {
template <agent_state State>
struct create_agent_options;
} // namespace superstep

namespace superstep::detail {

/// A hook as a node. Where it jumps to is told to the router of the node, which is all that looks
/// at it: no field of the state has to hold it.
template <class State>
class hook_body final : public node_body {
public:
  hook_body(std::string name, middleware_hook<State> hook)
      : name_{std::move(name)}, hook_{std::move(hook)} {}

  void run(const body_input& given, outcome& out) const override {
    const auto& state = static_cast<const struct_block<State>*>(given.state)->state;
    out.rest = finish(hook_(state, given.make_runtime()), *this);
  }
  bool gives_commands() const override { return false; }

private:
  static task<node_output> finish(task<hook_step<State>> hook, const hook_body& node) {
    auto step = co_await hook;
    react::check_jump(node.name_, node.hook_.jumps(), step.to);
    auto out = node_output{};
    out.writes = std::move(step.update.writes());
    if (step.to != jump::none)
      out.for_routers = std::make_shared<const jump>(step.to);
    co_return out;
  }

  std::string name_;
  middleware_hook<State> hook_;
};

/// Goes on from a hook, or from the model.
template <class State>
class loop_router final : public router {
public:
  explicit loop_router(react::exits exits) : exits_{std::move(exits)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    const auto said = std::static_pointer_cast<const jump>(out.for_routers);
    react::go_on(exits_, said ? *said : jump::none,
                 static_cast<const struct_block<State>&>(fresh).state.messages, *given.table, out);
  }

private:
  react::exits exits_;
};

/// Goes on from the tools.
template <class State>
class tools_router final : public router {
public:
  tools_router(react::exits exits, react::tool_names return_direct)
      : exits_{std::move(exits)}, return_direct_{std::move(return_direct)} {}

  void route(const body_input& given, const state_block& fresh, node_output& out) const override {
    react::go_on_after_tools(exits_, static_cast<const struct_block<State>&>(fresh).state.messages,
                             return_direct_, *given.table, out);
  }

private:
  react::exits exits_;
  react::tool_names return_direct_;
};

template <class State>
class middleware_builder {
public:
  explicit middleware_builder(create_agent_options<State>& o) : options_{o} {
    add_tools();
    const auto& model = o.model.object();
    SUPERSTEP_ASSERT(model != nullptr || o.model.choose());
    react::check_tools(model.get(), o.tools, o.return_direct, false);
    react::check_no_handoffs(o.tools.node());
    auto core = std::make_shared<agent_core<State>>(o);
    core->ends_politely = false;
    if (o.response) {
      if constexpr (requires(State& s) { s.structured_response; })
        core->format = react::format_of(*o.response);
      else
        react::refuse_options("Missing required key(s) {'structured_response'} in state_schema");
    }
    for (auto& m : o.middleware)
      if (m.wrap_model_call)
        core->around.push_back(std::move(m.wrap_model_call));
    core_ = std::move(core);
    collect_hooks();
  }

  compiled_graph<State> build() {
    table_.add(react::model_name, [core = core_](const State& state, runtime rt) {
      return agent_turns<State>::ask(core, state, std::move(rt));
    });
    if (has_tools())
      table_.add_body(react::tools_name,
                      std::make_unique<agent_tools_body<State>>(options_.tools.node()), true,
                      answering_options<State>());
    add_edges();
    return table_.compile(compile_options_of(options_));
  }

private:
  /// A hook and the name of its node.
  struct station {
    std::string name;
    middleware_hook<State> hook;
  };
  using stations = std::vector<station>; // in the order in which they run

  [[nodiscard]] bool has_tools() const noexcept { return !options_.tools.empty(); }

  void add_tools() {
    auto names = std::vector<std::string>{};
    auto around = std::vector<tool_interceptor>{};
    auto more = tool_list{};
    for (auto& m : options_.middleware) {
      names.push_back(m.name);
      more.insert(more.end(), m.tools.begin(), m.tools.end());
      if (m.wrap_tool_call)
        around.push_back(std::move(m.wrap_tool_call));
    }
    react::check_names(names);
    if (!more.empty() || !around.empty())
      options_.tools = react::with_middleware(options_.tools, more, std::move(around));
  }

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
  }

  static std::string first_of(const stations& all, std::string otherwise) {
    return all.empty() ? std::move(otherwise) : all.front().name;
  }

  void add_edges() {
    const auto model = first_of(before_model_, react::model_name);
    const auto end = first_of(after_agent_, std::string{end_node});
    table_.edge(std::string{start_node}, first_of(before_agent_, model));
    const auto limits = timeouts();
    link(before_agent_, {model, model, end, limits});
    link(before_model_, {react::model_name, model, end, limits});
    auto leaving = react::exits{has_tools() ? std::string{} : end, model, end, limits};
    if (!after_model_.empty())
      table_.edge(react::model_name, after_model_.front().name);
    else if (has_tools())
      table_.branch_by(react::model_name, std::make_unique<loop_router<State>>(leaving),
                       {react::tools_name, end});
    else
      table_.edge(react::model_name, end);
    link(after_model_, leaving);
    link(after_agent_, {std::string{end_node}, model, std::string{end_node}, limits});
    if (has_tools())
      add_return(std::move(leaving));
  }

  [[nodiscard]] std::shared_ptr<const react::tool_timeouts> timeouts() const {
    react::check_timeouts(options_.tool_timeouts, options_.tools.node());
    return options_.tool_timeouts.empty()
               ? nullptr
               : std::make_shared<const react::tool_timeouts>(options_.tool_timeouts);
  }

  void add_return(react::exits leaving) {
    if (core_->return_direct.empty())
      return table_.edge(react::tools_name, leaving.model);
    const auto to = std::vector<std::string>{leaving.model, leaving.end};
    table_.branch_by(
        react::tools_name,
        std::make_unique<tools_router<State>>(std::move(leaving), core_->return_direct), to);
  }

  /// Adds the nodes of these hooks, each leading to the next; the exits are those of the last.
  void link(stations& all, const react::exits& last) {
    for (auto i = std::size_t{0}; i < all.size(); ++i) {
      auto exits = last;
      if (i + 1 < all.size())
        exits.next = all[i + 1].name;
      add_hook(std::move(all[i]), std::move(exits));
    }
  }

  void add_hook(station at, react::exits exits) {
    const auto jumps = at.hook.jumps();
    react::check_jumps(at.name, jumps, has_tools());
    table_.add_body(at.name, std::make_unique<hook_body<State>>(at.name, std::move(at.hook)));
    if (jumps.empty() && !exits.next.empty())
      return table_.edge(std::move(at.name), std::move(exits.next));
    auto to = exits.next.empty()
                  ? std::vector<std::string>{react::tools_name, exits.model, exits.end}
                  : std::vector<std::string>{exits.next};
    for (const auto one : jumps)
      if (const auto name = std::string{react::target_of(exits, one)};
          std::ranges::find(to, name) == to.end())
        to.push_back(name);
    table_.branch_by(std::move(at.name), std::make_unique<loop_router<State>>(std::move(exits)),
                     to);
  }

  create_agent_options<State>& options_;
  agent_table<State> table_;
  std::shared_ptr<const agent_core<State>> core_;
  stations before_agent_;
  stations before_model_;
  stations after_model_;
  stations after_agent_;
};

} // namespace superstep::detail
