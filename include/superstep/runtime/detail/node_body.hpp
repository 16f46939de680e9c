// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/base/task.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>
#include <superstep/runtime/detail/task_place.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/runtime/runtime.hpp>

#include <boost/container/small_vector.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <typeinfo>
#include <vector>

namespace superstep {

namespace detail {
class program;
} // namespace detail

/// The output of one activation. Not visible to other tasks before the barrier.
struct node_output {
  boost::container::small_vector<write, 1> writes;
  /// nodes to activate in addition to those of the edges
  boost::container::small_vector<std::uint32_t, 2> targets;
  std::vector<send> sends;
  /// The state with the writes of this task applied, if routers had to see it and no other task ran
  /// in the step. It is adopted as the new state instead of applying `writes` a second time.
  state_ptr adopted;
  std::vector<std::uint32_t> adopted_changes;
  /// Data that a front end's body passes to the routers of the same node. Not read by the engine.
  std::shared_ptr<const void> for_routers;
  /// A Command to the parent graph. It ends this graph at once and becomes the result of the node
  /// that this graph is in its parent.
  std::shared_ptr<const value> to_parent;
  /// the body itself has ended, even if one of its branches failed afterwards
  bool has_ended = false;

  /// Whether the output is empty, as it must be before the record is reused for another task.
  [[nodiscard]] bool is_empty() const noexcept {
    return writes.empty() && targets.empty() && sends.empty() && !adopted &&
           adopted_changes.empty() && !for_routers && !to_parent && !has_ended;
  }
};

} // namespace superstep

namespace superstep::detail {

/// The result of a run inside a node.
struct nested_outcome {
  state_view state; ///< null: the run changed no output channel
  std::optional<run_error> error;
  /// set: the run was interrupted; its pending interrupts
  std::optional<std::vector<interrupt>> interrupts;
  std::shared_ptr<const value> to_parent; ///< see node_output::to_parent
};

/// The services of the engine for one running body. The engine creates what a member returns only
/// when the body first calls it.
class call_services {
public:
  /// Returns a token that is set when the call is cancelled.
  [[nodiscard]] virtual std::stop_token stop_token() = 0;
  /// Returns the time at which the call is cancelled at the latest; see runtime::deadline().
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point>
  deadline() const noexcept = 0;
  /// Returns the function that sends custom events to the stream; empty if no reader wants them.
  [[nodiscard]] virtual std::function<void(json::value)> emitter() = 0;
  /// Returns the resume value of the body's next interrupt. Without one it records the interrupt
  /// and returns nothing; when the body has returned or been destroyed, its task counts as
  /// interrupted.
  [[nodiscard]] virtual std::optional<json::value> ask(const json::value& question) = 0;
  /// Records the interrupts of a nested run as interrupts of the body.
  virtual void pass_on(std::vector<interrupt> questions) = 0;
  /// Reports progress of the body; see timeout_policy. Thread-safe.
  virtual void note_progress(bool is_heartbeat) noexcept = 0;
  /// Returns the function that receives the messages, and pieces of messages, that the body
  /// streams; empty if no reader wants them.
  [[nodiscard]] virtual std::function<void(value)> message_emitter() = 0;
  /// Returns the task that the body serves; null in a run without a checkpointer. Called by the
  /// body itself.
  [[nodiscard]] virtual task_place_ptr place() = 0;
  /// Starts a run of a graph as part of the body's task. `done` receives its outcome.
  virtual void start_nested(std::shared_ptr<const program>, write_list input,
                            completer<nested_outcome> done) = 0;

protected:
  ~call_services() = default;
};

} // namespace superstep::detail

namespace superstep {

/// The arguments of one call of a body. The objects that it points to live until the body has
/// ended, even if the run has discarded the call.
struct body_input {
  const detail::program* table = nullptr;
  const state_block* state = nullptr;
  const value* payload = nullptr; ///< the input of a Send; null for a node triggered by edges
  const std::shared_ptr<const run_config>* config = nullptr;
  detail::call_services* services = nullptr;
  std::uint32_t node = 0;
  std::uint32_t task_index = 0;
  std::int64_t step = 0;
  std::uint32_t attempt = 1;
  bool sole_task = false; ///< no other task runs in this step
  /// the writes are read after the routers have run, so they must not be moved from
  bool keep_writes = false;
  /// entry of a run without a checkpointer: `state` already contains the input
  bool is_applied = false;
  superstep::store* store = nullptr; ///< long-term memory of the run
  /// For error handlers: the reason why the node failed.
  const std::shared_ptr<const run_error>* failure = nullptr;
  std::int64_t steps_left = 0; ///< super-steps that the run may still take after this one
  /// For nested runs: the namespace, which makes ids differ from those of other runs.
  const std::string* ns = nullptr;

  /// Returns the runtime object that is passed to the body.
  [[nodiscard]] runtime make_runtime() const;
};

} // namespace superstep

namespace superstep::detail {

/// Throws graph_error{invalid_update}: the payload of a Send does not have the type that its node
/// takes.
[[noreturn]] void throw_wrong_input(const body_input&);

/// Throws graph_error{invalid_update}: a Command to the parent is for another state type than the
/// parent's.
[[noreturn]] void throw_wrong_parent(const program& parent, const std::string& child);

/// The type-erased function of a node. Immutable; called by many runs at once.
class node_body {
public:
  /// The result of one call of a body.
  struct outcome {
    node_output output;
    task<node_output> rest; ///< set if the body is a coroutine; `output` is empty then
  };

  virtual ~node_body();
  /// Calls the function, or creates its coroutine. Throws what the function throws.
  virtual void run(const body_input&, outcome&) const = 0;
  /// Returns the input as JSON, for streams and as the default key of a cache; null if it has no
  /// JSON form.
  [[nodiscard]] virtual json::value show_input(const body_input&) const { return {}; }
  /// Whether the function may return Commands. Without declared destinations these may name any
  /// node.
  [[nodiscard]] virtual bool gives_commands() const { return true; }
  /// The checkpoint form of a Send's payload for this node; null if it cannot be stored, or the
  /// node takes no payload.
  [[nodiscard]] virtual const value_form* input_form() const { return nullptr; }
  /// The type of a Send's payload for this node, for error texts.
  [[nodiscard]] virtual const std::type_info& input_type() const { return typeid(void); }
  /// The nested graph, if the node is one; else null.
  [[nodiscard]] virtual std::shared_ptr<const program> nested() const { return {}; }
};

/// The type-erased router of a branch. It chooses the next nodes from the state with the node's own
/// writes applied.
class router {
public:
  virtual ~router();
  virtual void route(const body_input&, const state_block& fresh, node_output&) const = 0;
};

/// Runs the routers of a node on the state with the task's own writes applied. Throws what they
/// throw.
void run_routers(const body_input&, node_output&);

/// Runs a plain body, or starts a coroutine in `at` and runs it until it first suspends or ends.
/// Returns true if the body has ended (then its output, including that of the routers, or the
/// failure is set) and false if it is suspended. An exception of the body or of a router is stored
/// in `failed`. User code is called under a catch-all here and in continue_body() only.
[[nodiscard]] bool start_body(const body_input&, node_body::outcome&, execution_context& at,
                              std::exception_ptr& failed);
/// Completes the call as start_body() does, after the coroutine's innermost frame was resumed.
[[nodiscard]] bool continue_body(const body_input&, node_body::outcome&,
                                 std::exception_ptr& failed);

} // namespace superstep::detail
