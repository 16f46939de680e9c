// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/clock.hpp>
#include <superstep/base/optional_box.hpp>
#include <superstep/base/task.hpp>
#include <superstep/messages/message.hpp>
#include <superstep/messages/tool_definition.hpp>
#include <superstep/runtime/task_place.hpp>
#include <superstep/tools/injection.hpp>
#include <superstep/tools/tool_command.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace superstep {

class call_observer;

/// What a tool hands back. `content` is the text the model reads.
struct tool_output {
  std::string content;
  bool is_error = false;
  json::value artifact;
  optional_box<json::array> blocks{}; ///< of content, instead of a text; `content` is empty then
  optional_box<tool_reply> reply{};   ///< instead of all that
};

/// A value as the content of a result: text as it is, a list of content blocks (also the empty one)
/// as blocks, everything else as JSON text.
[[nodiscard]] tool_output output_of(json::value result);

/// What a tool may know about the call it serves. Owned by the call; copied freely.
struct tool_context {
  std::string run_key; ///< key of the row or run, for logs and effects
  std::string tool_call_id;
  std::string node;
  std::uint32_t attempt = 1;
  std::uint32_t step = 0;
  std::uint32_t task_index = 0; ///< see runtime::task_index()
  std::uint32_t repeat = 0;     ///< how many calls of the same task with the same id are before it
  /// Of the task that makes the call; null when its run is not kept.
  task_place_ptr place{};
  std::stop_token stop; ///< set when the call is cancelled; a blocking tool may look at it
  std::chrono::milliseconds spent{0}; ///< of the tool's time_limit(), by the check of the arguments
  const superstep::clock* time = &system_clock();
  /// State, store and run around the call, when the node has been given any; null otherwise.
  std::shared_ptr<const tool_environment> environment{};
  tool_definitions tools{}; ///< all tools of the node; set for tools with injected arguments
  /// Notified when the call's body starts and ends; null: nothing observes the call.
  std::shared_ptr<const call_observer> observer{};

  /// Names the call to the world outside, as 32 hexadecimal digits: the same whenever its
  /// super-step is run again, in this process or another, and of no other call. Made of thread,
  /// super-step, path of the task and id of the call.
  [[nodiscard]] std::string idempotency_key() const;
  /// What the task is that makes the call.
  void come_from(const runtime& task);
};

/// What it means to run a call again that a process did not live to see the end of.
enum class tool_effects : std::uint8_t {
  repeatable, ///< no harm: it changes nothing outside, or may change it twice
  idempotent, ///< whoever is told the idempotency key again does nothing twice
  journaled,  ///< it must not be: that it begins is noted before it does
};

/// A tool: a definition for the model and a body. Immutable and shared by all runs.
///
/// run() may be called by any number of actors at once. It may block (the engine moves its siblings
/// out of the way) or suspend; it may throw: the exception becomes that call's error.
class tool {
public:
  virtual ~tool() = default;
  [[nodiscard]] virtual const tool_definition& definition() const noexcept = 0;
  /// Arguments that the node fills in; they may stand in the definition, the model never sees them.
  [[nodiscard]] virtual std::vector<injection> injections() const { return {}; }
  /// See effects.hpp, which makes tools of the other kinds.
  [[nodiscard]] virtual tool_effects effects() const noexcept { return tool_effects::repeatable; }
  /// The limit of one call's time, the check of its arguments included; 0 if the tool sets none.
  [[nodiscard]] virtual std::chrono::milliseconds time_limit() const noexcept {
    return std::chrono::milliseconds{0};
  }
  /// Whether its results are commands to the graph around the agent, as those of a handoff are. An
  /// agent that cannot pass them on refuses the tool when it is compiled.
  [[nodiscard]] virtual bool commands_parent() const noexcept { return false; }
  /// Whether run() may look at tool_context::environment. A tool that returns false is called
  /// without it, which is cheaper. A tool with injections gets it in any case.
  [[nodiscard]] virtual bool reads_surroundings() const noexcept { return true; }
  [[nodiscard]] virtual task<tool_output> run(tool_call call, tool_context context) const = 0;
};

using tool_ptr = std::shared_ptr<const tool>;
using tool_list = std::vector<tool_ptr>;

/// For each call how many of those before it have its id; models number their calls, or fail to.
[[nodiscard]] std::vector<std::uint32_t> repeats_of(std::span<const tool_call> calls);

} // namespace superstep
