// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/create_agent.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace superstep::bench {

/// The scripted model of the workloads: a pure function of its input messages, so one object serves
/// any number of runs.
struct script {
  std::int64_t rounds = 1; ///< T: rounds of tools per human message
  std::int64_t calls = 1;  ///< C: calls per round
  bool large = false;      ///< queries of 3,600 characters, results ten times as long
  /// If set, accumulates the CPU time of the model's passes over its messages, which grow with the
  /// history independently of the engine.
  std::atomic<std::int64_t>* reading_ns = nullptr;
};
[[nodiscard]] chat_model_ptr make_scripted(script s);

/// A tool `echo` that answers `result for <query>` after `latency`.
[[nodiscard]] tool_ptr make_echo(std::chrono::milliseconds latency, bool large);

/// Builds the ReAct agent of the model and the tool, without a limit on concurrent tool calls.
[[nodiscard]] compiled_graph<chat_state> make_echo_agent(script s, react_version version,
                                                         tool_ptr echo);

/// Returns a state with the human message "hi".
[[nodiscard]] chat_state hi();
[[nodiscard]] inline std::int64_t messages_of(const script& s) {
  return 2 + s.rounds * (1 + s.calls);
}
/// Returns the contents of all messages joined by `|`.
[[nodiscard]] std::string joined_contents(const message_list& messages);

} // namespace superstep::bench
