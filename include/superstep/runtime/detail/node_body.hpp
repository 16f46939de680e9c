// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/base/detail/short_list.hpp>
#include <superstep/base/detail/thin_list.hpp>
#include <superstep/base/task.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/detail/fwd.hpp>
#include <superstep/runtime/detail/body_task.hpp>
#include <superstep/runtime/detail/task_place.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/runtime/runtime.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <typeinfo>
#include <vector>

namespace superstep {

namespace detail {
class program;
} // namespace detail

/// The output of one task. Not visible to other tasks before the barrier.
struct node_output {
  detail::short_list<write, 1> writes;
  /// Numbers of nodes to activate in addition to the targets of the node's edges.
  detail::short_list<std::uint32_t, 2> targets;
  detail::thin_list<send> sends;
  /// The state with the writes of this task applied, if it was computed for routers and no other
  /// task ran in the step. It becomes the new state, so that `writes` need not be applied a second
  /// time.
  state_ptr adopted;
  detail::thin_list<std::uint32_t>
      adopted_changes; ///< numbers of the channels that `adopted` changed
  /// Data that a body passes to the routers of the same node; used by json_graph. The engine does
  /// not read it.
  std::shared_ptr<const void> for_routers;
  /// A command to the parent graph; see parent_command. Null: none.
  std::shared_ptr<const value> to_parent;
  /// Whether the body has ended. A router of the node may have failed afterwards.
  bool has_ended = false;

  /// Whether the output is empty. It must be before it is reused for another task.
  [[nodiscard]] bool is_empty() const noexcept {
    return writes.empty() && targets.empty() && sends.empty() && !adopted &&
           adopted_changes.empty() && !for_routers && !to_parent && !has_ended;
  }
};

} // namespace superstep

namespace superstep::detail {

/// The result of a nested run.
struct nested_outcome {
  state_view state;               ///< the last state; null if the run changed no output channel
  std::optional<run_error> error; ///< why the run failed; not set if it did not fail
  /// The pending interrupts; not set if the run was not interrupted.
  std::optional<std::vector<interrupt>> interrupts;
  std::shared_ptr<const value> to_parent; ///< see node_output::to_parent
};

/// The services of the engine for one running body. Stop tokens and other objects are created when
/// they are first requested, because most bodies do not use them.
class call_services {
public:
  /// Returns the execution context of the body.
  [[nodiscard]] virtual execution_context& context() noexcept = 0;
  /// Returns a token that is set when the call is cancelled.
  [[nodiscard]] virtual std::stop_token stop_token() = 0;
  /// Returns the time at which the call is cancelled at the latest; see runtime::deadline().
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point>
  deadline() const noexcept = 0;
  /// Returns the function that sends custom events to the stream; empty if no reader wants them.
  [[nodiscard]] virtual std::function<void(json::value)> emitter() = 0;
  /// Returns the resume value of the body's next interrupt. If there is none, records the interrupt
  /// and returns nothing. The task then counts as interrupted when the body has returned or was
  /// destroyed.
  [[nodiscard]] virtual std::optional<json::value> ask(const json::value& question) = 0;
  /// Whether the body has asked a question that has no answer yet, so that its result is discarded.
  [[nodiscard]] virtual bool is_interrupted() = 0;
  /// Records the interrupts of a nested run as interrupts of the body.
  virtual void pass_on(std::vector<interrupt> questions) = 0;
  /// Reports progress of the body; see progress_kind. May be called from any thread.
  virtual void note_progress(progress_kind kind) noexcept = 0;
  /// Returns the function that receives the messages, and pieces of messages, that the body
  /// streams; empty if no reader wants them.
  [[nodiscard]] virtual std::function<void(value)> message_emitter() = 0;
  /// Returns the identity of the body's task; null without a checkpointer. May be called by the
  /// body only.
  [[nodiscard]] virtual task_place_ptr place() = 0;
  /// Starts a run of a graph as part of the body's task. `done` receives its outcome.
  virtual void start_nested(std::shared_ptr<const program>, write_list input,
                            completer<nested_outcome> done) = 0;

protected:
  ~call_services() = default;
};

} // namespace superstep::detail

namespace superstep {

/// The arguments that only the bodies of error handlers and of nested runs have.
struct unusual_input {
  /// The failure that an error handler handles; null for other bodies.
  std::shared_ptr<const run_error> failure;
  /// The namespace of a nested run, which is part of the ids that it generates; null for other
  /// runs.
  const std::string* ns = nullptr;
};

/// The arguments of one call of a body. The pointers are valid until the body has ended, even if
/// the run has ended before.
struct body_input {
  const detail::program* table = nullptr; ///< the program of the graph
  const state_block* state = nullptr;     ///< the state before the super-step
  const value* payload = nullptr;         ///< the input of a Send; null if edges triggered the node
  const std::shared_ptr<const run_config>* config = nullptr; ///< the options of the run
  detail::call_services* services = nullptr; ///< null if the body is not run by an engine
  std::uint32_t node = 0;                    ///< number of the node in the program
  std::uint32_t task_index = 0;              ///< see runtime::task_index()
  std::int64_t step = 0;                     ///< number of the super-step
  std::uint32_t attempt = 1;                 ///< number of the attempt, from 1
  bool sole_task = false;                    ///< whether no other task runs in this step
  /// Whether the writes are read after the routers have run, so that they must not be moved from.
  bool keep_writes = false;
  /// Whether `state` contains the input already. True for the entry of a run without a
  /// checkpointer.
  bool is_applied = false;
  superstep::store* store = nullptr;      ///< long-term memory of the run
  std::int64_t steps_left = 0;            ///< see runtime::remaining_steps()
  const unusual_input* unusual = nullptr; ///< null for most bodies
  /// id_source::number() of the run: above 0 if it has no name.
  std::uint64_t id_number = 0;

  /// Returns the runtime object that is passed to the body.
  [[nodiscard]] runtime make_runtime() const;
};

} // namespace superstep

namespace superstep::detail {

/// Throws graph_error{invalid_update}: the input of a Send does not have the input type of its
/// node, or is missing.
[[noreturn]] void throw_wrong_input(const body_input&);

/// Throws graph_error{invalid_update}: a command to the parent graph is for another state type.
[[noreturn]] void throw_wrong_parent(const program& parent, const std::string& child);

/// The type-erased function of a node. Immutable. Many runs call it at the same time, on different
/// threads.
class node_body {
public:
  /// The result of one call of a body.
  struct outcome {
    node_output output;
    body_task rest; ///< set if the body is a coroutine; `output` is empty then
  };

  virtual ~node_body();
  /// Calls the function, or creates its coroutine. Throws what the function throws. The input stays
  /// valid until the body has ended.
  virtual void run(const body_input&, outcome&) const = 0;
  /// Converts the result of the coroutine that run() has created to the output of the task. Throws
  /// what the coroutine threw. By default, the result is a node_output.
  /// @pre the coroutine has ended
  virtual void finish(body_task&, const body_input&, node_output&) const;
  /// Makes the output of the task from a command to the parent, which a graph that the body ran has
  /// returned. Returns false if the body belongs to a graph that cannot take it.
  /// @param child the name of the graph that has returned the command
  virtual bool take_command(const value& command, const body_input&, const std::string& child,
                            node_output&) const;
  /// Returns the input as JSON, for streams and as the default key of a cache; null if it has no
  /// JSON form.
  [[nodiscard]] virtual json::value show_input(const body_input&) const { return {}; }
  /// Whether the function may return commands. If so, compile() assumes that it may activate any
  /// node, unless node_options::destinations lists the possible ones.
  [[nodiscard]] virtual bool gives_commands() const { return true; }
  /// Returns the checkpoint form of the inputs that Sends pass to this node. Null if they cannot be
  /// stored, or if no Send can activate the node.
  [[nodiscard]] virtual const value_form* input_form() const { return nullptr; }
  /// Returns the input type of this node: that of its Sends, or the state. `void` in front ends
  /// whose nodes have no types.
  [[nodiscard]] virtual const std::type_info& input_type() const { return typeid(void); }
  /// Returns the program of the subgraph if the node is a subgraph; else null.
  [[nodiscard]] virtual std::shared_ptr<const program> nested() const { return {}; }
};

/// The type-erased router of a branch. Immutable. Many runs call it at the same time, on different
/// threads.
class router {
public:
  virtual ~router();
  /// Adds the nodes and Sends that the router chooses to an output. Throws what the function
  /// throws.
  /// @param fresh the state with the node's own writes applied
  virtual void route(const body_input&, const state_block& fresh, node_output&) const = 0;
};

/// Runs the routers of a node on the state with the task's own writes applied. Throws what they
/// throw.
void run_routers(const body_input&, node_output&);

/// Runs a plain body to its end, or a coroutine in `at` until it ends or first suspends. Returns
/// false if it is suspended. Otherwise the outcome contains its output, including that of the
/// routers, or `failed` the exception of the body or of a router. Does not throw.
[[nodiscard]] bool start_body(const body_input&, node_body::outcome&, execution_context& at,
                              std::exception_ptr& failed);
/// Completes the call like start_body(), after the caller has resumed the coroutine's innermost
/// frame.
[[nodiscard]] bool continue_body(const body_input&, node_body::outcome&,
                                 std::exception_ptr& failed);

} // namespace superstep::detail
