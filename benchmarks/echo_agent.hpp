// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/create_agent.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace superstep::bench {

/// The scripted model of the workloads: a pure function of the messages it reads, so that one
/// object serves any number of runs.
struct script {
  std::int64_t rounds = 1; ///< T: rounds of tools per human message
  std::int64_t calls = 1;  ///< C: calls of a round
  bool large = false;      ///< queries of 3,600 characters, results ten times as long
  /// When set, gets the CPU time of the model's passes over its messages, which grow with them
  /// whatever the engine does.
  std::atomic<std::int64_t>* reading_ns = nullptr;
};
[[nodiscard]] chat_model_ptr make_scripted(script s);

/// The tool `echo`, which answers `result for <query>`, `latency` later.
[[nodiscard]] tool_ptr make_echo(std::chrono::milliseconds latency, bool large);

/// The ReAct agent of both, without a limit on tool calls in flight.
[[nodiscard]] compiled_graph<chat_state> make_echo_agent(script s, react_version version,
                                                         tool_ptr echo);

/// One human message "hi".
[[nodiscard]] chat_state hi();
[[nodiscard]] inline std::int64_t messages_of(const script& s) {
  return 2 + s.rounds * (1 + s.calls);
}
/// Contents of all messages joined by `|`.
[[nodiscard]] std::string joined_contents(const message_list& messages);

} // namespace superstep::bench
