// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/base/limiter.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/tools/tool.hpp>

#include <boost/describe/class.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace superstep {

/// Reducer: sums the counts of two model answers, finer ones by name.
struct add_usage {
  void operator()(token_usage& into, token_usage&& more) const;
};

/// The state of a ReAct agent. The counters are part of it, so they survive whatever the messages
/// survive, and a model is asked for its answer number `model_calls`.
struct chat_state {
  message_list messages;
  std::uint32_t model_calls = 0;
  std::uint32_t tool_calls = 0; ///< answered, with an error or without
  token_usage usage;            ///< summed over the model calls of the run

  using reducers = superstep::reducers<
      by<&chat_state::messages, add_messages>, by<&chat_state::model_calls, std::plus<>>,
      by<&chat_state::tool_calls, std::plus<>>, by<&chat_state::usage, add_usage>>;
};
BOOST_DESCRIBE_STRUCT(chat_state, (), (messages, model_calls, tool_calls, usage))

/// How long the calls of one run took. Kept beside the state, which no clock may reach.
/// @par Threads
/// Both members from any thread.
class call_times {
public:
  void add(std::chrono::nanoseconds one) const;
  [[nodiscard]] std::vector<std::chrono::nanoseconds> take() const;

private:
  mutable std::mutex mutex_;
  mutable std::vector<std::chrono::nanoseconds> times_;
};

/// What the caller of a run may tell the agent, as run_config::context. Optional.
struct agent_context {
  json::object parameters;                      ///< overrides of the model's parameters
  std::shared_ptr<const call_times> tool_times; ///< filled while the run goes on, when set
  /// Told of `tool_start` and `tool_end` with the id of the call, and of `model_start` and
  /// `model_end` with its number in the run, when set, by the call's own actor: thread-safe, short.
  /// A call that was given up has an end too. `tool_discarded`: a call that was started early
  /// (react_agent_options::early_tools) has come to nothing, because the answer did not hold it.
  std::function<void(std::string_view event, std::string_view call_id)> observe;
};

/// The two shapes of a ReAct agent; they say the same things in the same order.
enum class react_version : std::uint8_t {
  v1, ///< one activation of `tools` runs all calls of a message
  v2, ///< one Send per call: each is a task of its own, in an actor of its own
};

/// Chooses the model of one call, by the state and what the run was told (rt.context()). A plain
/// function will do as well as a coroutine. The state lives until the task has ended.
class model_chooser {
public:
  model_chooser() = default;
  /// @param choose chat_model_ptr(const chat_state&, const runtime&), or a task of it
  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, model_chooser> &&
             std::invocable<const F&, const chat_state&, const runtime&>)
  model_chooser(F choose) {
    using made = std::invoke_result_t<const F&, const chat_state&, const runtime&>;
    if constexpr (is_task_v<made>)
      choose_ = std::move(choose);
    else
      choose_ = [choose = std::move(choose)](const chat_state& state, const runtime& rt) {
        return ready<chat_model_ptr>(choose(state, rt));
      };
  }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(choose_); }
  [[nodiscard]] task<chat_model_ptr> operator()(const chat_state& state, const runtime& rt) const {
    return choose_(state, rt);
  }

private:
  std::function<task<chat_model_ptr>(const chat_state&, const runtime&)> choose_;
};

/// Everything a ReAct agent is made of.
struct react_agent_options {
  std::string name; ///< of the graph and of the AI messages; empty: the messages have none
  chat_model_ptr model;
  model_chooser choose_model; ///< asked before each call of the model; instead of `model`
  tool_list tools;
  std::string prompt; ///< put before the messages as a system message; never part of the state
  react_version version = react_version::v2;
  limiter tool_limit{256}; ///< tool calls in flight, over all runs of this agent; 0 = no limit
  /// Names of tools whose calls may start while the model still speaks, as soon as their arguments
  /// are complete. For tools that may run without being asked in the end, or twice: what the model
  /// breaks off is thrown away, and a run that is resumed runs its calls again. Answers wait for
  /// the step of the tools: states, their order and checkpoints are the same as without. The model
  /// is asked for a stream. None by default.
  std::vector<std::string> early_tools{};
};

/// Names of the nodes; the reference's.
inline constexpr auto react_agent_node = node<chat_state>{"agent"};
inline constexpr auto react_tools_node = node<tool_call>{"tools"};      // v2
inline constexpr auto react_all_tools_node = node<chat_state>{"tools"}; // v1

/// Builds the agent: `agent` asks the model; while its answer has tool calls, `tools` runs them and
/// `agent` is asked again. The run's key (run_config::run_id) and the number of the model's call
/// are what the model is told about the run.
///
/// A tool's failure, whatever it is, becomes an error message to the model. A failing model ends
/// the run; the error it gave is nested.
/// @pre options.model or choose_model is set; throws compile_error when two tools have one name
[[nodiscard]] compiled_graph<chat_state> make_react_agent(react_agent_options options);

} // namespace superstep
