// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/create_agent.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace superstep::bench {

/// Options of the scripted model. Its answer depends only on the messages, so concurrent runs can
/// share a model.
struct script {
  std::int64_t rounds = 1; ///< tool rounds per human message (parameter T)
  std::int64_t calls = 1;  ///< calls per round (parameter C)
  bool large = false;      ///< 3,600 characters per query, ten times as many per result
  /// If not null: sums the CPU time in which the model reads its messages. This time grows with the
  /// history and is not a cost of the engine.
  std::atomic<std::int64_t>* reading_ns = nullptr;
};
[[nodiscard]] chat_model_ptr make_scripted(script s);

/// Returns the tool `echo`, which answers "result for QUERY" after `latency`.
[[nodiscard]] tool_ptr make_echo(std::chrono::milliseconds latency, bool large);

/// Builds a ReAct agent of the scripted model and `echo`, without a limit on concurrent tool calls.
[[nodiscard]] compiled_graph<chat_state> make_echo_agent(script s, react_version version,
                                                         tool_ptr echo);

/// Returns a state with the human message "hi".
[[nodiscard]] chat_state hi();
/// Returns the number of messages at the end of a run.
[[nodiscard]] inline std::int64_t messages_of(const script& s) {
  return 2 + s.rounds * (1 + s.calls);
}
/// Returns the contents of all messages joined by `|`.
[[nodiscard]] std::string joined_contents(const message_list& messages);

} // namespace superstep::bench
