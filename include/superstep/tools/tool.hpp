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

/// The result of a tool.
struct tool_output {
  std::string content;                ///< the text that the model reads
  bool is_error = false;              ///< whether `content` is an error
  json::value artifact;               ///< data for the program, not sent to the model
  optional_box<json::array> blocks{}; ///< content blocks; if set, `content` is empty
  optional_box<tool_reply> reply{};   ///< messages or commands; if set, replaces all other members
};

/// Converts a value to the content of a result: text unchanged, a list of content blocks (also an
/// empty one) as blocks, everything else as JSON text.
[[nodiscard]] tool_output output_of(json::value result);

/// Information about a tool call for the tool. A copy belongs to each call.
struct tool_context {
  std::string run_key;          ///< key of the row or run, for logs and side effects
  std::string tool_call_id;     ///< id of the call; assigned by the model
  std::string node;             ///< name of the node that runs the call
  std::uint32_t attempt = 1;    ///< attempt of the node, from 1
  std::uint32_t step = 0;       ///< number of the super-step
  std::uint32_t task_index = 0; ///< see runtime::task_index()
  std::uint32_t repeat = 0;     ///< number of earlier calls of the same task with the same id
  /// The place of the calling task in its thread; null if the run is not saved.
  task_place_ptr place{};
  std::stop_token stop; ///< set when the call is cancelled; blocking tools should check it
  std::chrono::milliseconds spent{0}; ///< part of time_limit() already used to check the arguments
  const superstep::clock* time = &system_clock(); ///< the clock to use
  /// State, store and runtime around the call; null if the node has none. See reads_surroundings().
  std::shared_ptr<const tool_environment> environment{};
  tool_definitions tools{}; ///< all tools of the node; set for tools with injected arguments
  /// Notified when the call's body starts and ends; null: no observer.
  std::shared_ptr<const call_observer> observer{};

  /// Returns a key for the call that external services can use to detect repetitions: 32
  /// hexadecimal digits, derived from thread, super-step, path of the task and id of the call. It
  /// is the same whenever the super-step is run again, in this process or another, and unique to
  /// the call.
  [[nodiscard]] std::string idempotency_key() const;
  /// Copies the members that describe the calling task from its runtime.
  void come_from(const runtime& task);
};

/// Whether a call may be repeated if the process died while it ran.
enum class tool_effects : std::uint8_t {
  repeatable, ///< may be repeated: no effects outside, or effects that may happen twice
  idempotent, ///< may be repeated with the same idempotency key, which the service recognises
  journaled,  ///< never repeated; its start is recorded first
};

/// A tool: a definition for the model and a function to run. The interface of all tools; most are
/// made with make_tool().
///
/// Immutable after construction and shared by all runs.
/// @par Threads
/// All members may be called by any number of threads at once.
class tool {
public:
  virtual ~tool() = default;
  /// Returns name, description and JSON Schema of the arguments, as the model reads them. Valid as
  /// long as the tool.
  [[nodiscard]] virtual const tool_definition& definition() const noexcept = 0;
  /// Returns the arguments that the node fills in. They may be part of the definition; the node
  /// removes them from what the model reads. Default: none.
  [[nodiscard]] virtual std::vector<injection> injections() const { return {}; }
  /// Whether calls may be repeated after a crash. effects.hpp makes tools of the other kinds.
  [[nodiscard]] virtual tool_effects effects() const noexcept { return tool_effects::repeatable; }
  /// Returns the timeout of one call, including the check of its arguments; 0 for none.
  [[nodiscard]] virtual std::chrono::milliseconds time_limit() const noexcept {
    return std::chrono::milliseconds{0};
  }
  /// Whether its results are commands to the parent graph, like those of a handoff. An agent that
  /// cannot pass them on rejects the tool when it is compiled.
  [[nodiscard]] virtual bool commands_parent() const noexcept { return false; }
  /// Whether run() uses tool_context::environment. If not, the call is cheaper. A tool with
  /// injections gets it in any case.
  [[nodiscard]] virtual bool reads_surroundings() const noexcept { return true; }
  /// Runs one call.
  ///
  /// It may suspend, or block: the engine then moves the actor's siblings to another thread. It may
  /// throw: the node's tool_errors decide whether the exception becomes an error that the model
  /// reads or fails the run. tool_unavailable always fails the run.
  ///
  /// @param call the call with parsed and checked arguments, including the injected ones
  /// @param context information about the call; copied into the task
  /// @return the result; is_error for a failure that the model should read
  /// @par Cancellation
  /// Destroying the task cancels the call. A blocking body is notified by tool_context::stop.
  /// @par Lifetime
  /// The tool must outlive the task.
  [[nodiscard]] virtual task<tool_output> run(tool_call call, tool_context context) const = 0;
};

/// A shared, immutable tool.
using tool_ptr = std::shared_ptr<const tool>;
/// A list of tools; names must be unique.
using tool_list = std::vector<tool_ptr>;

/// Returns for each call the number of earlier calls with the same id. Ids come from models, which
/// do not guarantee that they are unique.
[[nodiscard]] std::vector<std::uint32_t> repeats_of(std::span<const tool_call> calls);

} // namespace superstep
