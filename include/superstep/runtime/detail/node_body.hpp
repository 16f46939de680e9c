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

#include <memory>
#include <optional>
#include <typeinfo>
#include <vector>

namespace superstep {

namespace detail {
class program;
} // namespace detail

/// What one activation gave: nothing of it is visible to anybody before the barrier.
struct node_output {
  boost::container::small_vector<write, 1> writes;
  boost::container::small_vector<std::uint32_t, 2> targets; ///< nodes to activate besides the edges
  std::vector<send> sends;
  /// The state with the writes of this task applied, when routers had to see it and no other task
  /// ran in the step: adopted as the new state instead of applying `writes` a second time.
  state_ptr adopted;
  std::vector<std::uint32_t> adopted_changes;
  /// What a front end's body tells the routers of its own node; nobody else reads it.
  std::shared_ptr<const void> for_routers;
  /// A Command to the parent graph: ends this graph at once and becomes the result of the parent's
  /// node, whose front end reads it.
  std::shared_ptr<const value> to_parent;
  bool has_ended = false; ///< the body itself has, whatever its branches did then

  /// Whether nothing is left of a task: required of a record before it serves another one.
  [[nodiscard]] bool is_empty() const noexcept {
    return writes.empty() && targets.empty() && sends.empty() && !adopted &&
           adopted_changes.empty() && !for_routers && !to_parent && !has_ended;
  }
};

} // namespace superstep

namespace superstep::detail {

/// How a run inside a node ended.
struct nested_outcome {
  state_view state; ///< null: it changed nothing that its caller sees
  std::optional<run_error> error;
  std::optional<std::vector<interrupt>> interrupts; ///< set: it stopped, for these questions
  std::shared_ptr<const value> to_parent;      ///< see node_output::to_parent
};

/// What the engine does for a running body; asked only by bodies that want it.
class call_services {
public:
  [[nodiscard]] virtual std::stop_token stop_token() = 0;
  [[nodiscard]] virtual std::function<void(json::value)> emitter() = 0;
  /// The answer to the body's next question. Nothing: the question was noted, and once the body has
  /// returned or given up, its task counts as interrupted.
  [[nodiscard]] virtual std::optional<json::value> ask(const json::value& question) = 0;
  /// Notes the questions of a run inside the body in the same way.
  virtual void pass_on(std::vector<interrupt> questions) = 0;
  /// The body is not stuck; see timeout_policy. Any thread.
  virtual void note_progress(bool is_heartbeat) noexcept = 0;
  /// Where messages and pieces of them go that the body streams; empty: nobody listens.
  [[nodiscard]] virtual std::function<void(value)> message_emitter() = 0;
  /// The task that the body serves; null in a run that is not kept. Asked by the body itself.
  [[nodiscard]] virtual task_place_ptr place() = 0;
  /// Runs a graph below the body's task.
  virtual void start_nested(std::shared_ptr<const program>, write_list input,
                            completer<nested_outcome> done) = 0;

protected:
  ~call_services() = default;
};

} // namespace superstep::detail

namespace superstep {

/// Everything a body reads. The pointed-to things live until the body has ended, also when its
/// call was given up.
struct body_input {
  const detail::program* table = nullptr;
  const state_block* state = nullptr;
  const value* payload = nullptr; ///< of the Send; null for a node triggered by edges
  const std::shared_ptr<const run_config>* config = nullptr;
  detail::call_services* services = nullptr;
  std::uint32_t node = 0;
  std::uint32_t task_index = 0;
  std::int64_t step = 0;
  std::uint32_t attempt = 1;
  bool sole_task = false;   ///< no other task runs in this step
  bool keep_writes = false; ///< somebody wants to see the writes after the routers have run
  bool is_applied = false;  ///< entry of a run that is not kept: `state` has its input already
  superstep::store* store = nullptr; ///< long-term memory of the run
  /// Of an error handler: why its node failed.
  const std::shared_ptr<const run_error>* failure = nullptr;
  std::int64_t steps_left = 0; ///< super-steps that the run may still take after this one
  /// Of a run inside another: its namespace, which makes its ids other than those around it.
  const std::string* ns = nullptr;

  [[nodiscard]] runtime make_runtime() const;
};

} // namespace superstep

namespace superstep::detail {

/// Throws graph_error{invalid_update}: the input of a Send is not of the type that its node takes.
[[noreturn]] void throw_wrong_input(const body_input&);

/// Throws graph_error{invalid_update}: a Command to the parent is of another state than the
/// parent's.
[[noreturn]] void throw_wrong_parent(const program& parent, const std::string& child);

/// A node's code, erased. Immutable; run by many runs at once.
class node_body {
public:
  /// The result of one call of a body.
  struct outcome {
    node_output output;
    task<node_output> rest; ///< set when the body is a coroutine; `output` is empty then
  };

  virtual ~node_body();
  virtual void run(const body_input&, outcome&) const = 0;
  /// What the body reads, for streams and as the default key of a cache; null: it cannot be shown.
  [[nodiscard]] virtual json::value show_input(const body_input&) const { return {}; }
  /// Whether it may say where to go next. Without declared destinations that is then anywhere.
  [[nodiscard]] virtual bool gives_commands() const { return true; }
  /// How the input of a Send to this node is kept; null: it cannot be, or there is none.
  [[nodiscard]] virtual const value_form* input_form() const { return nullptr; }
  /// The type of the input of a Send to this node, for the texts of errors.
  [[nodiscard]] virtual const std::type_info& input_type() const { return typeid(void); }
  /// The graph that this node is, if it is one.
  [[nodiscard]] virtual std::shared_ptr<const program> nested() const { return {}; }
};

/// Chooses where to go after a node, seeing the state with that node's own writes applied.
class router {
public:
  virtual ~router();
  virtual void route(const body_input&, const state_block& fresh, node_output&) const = 0;
};

/// Runs the routers of a node, on the state with the task's own writes applied. Throws what they
/// throw.
void run_routers(const body_input&, node_output&);

/// Runs a plain body, or begins a coroutine: resumes it in `at` until it first waits or ends.
/// The one place where exceptions of user code are caught: a failure goes to `failed`.
/// True when the body has ended (output, routers included, or failure stands), false when it waits.
[[nodiscard]] bool start_body(const body_input&, node_body::outcome&, execution_context& at,
                              std::exception_ptr& failed);
/// After a resume of the coroutine's innermost frame: the same for the rest.
[[nodiscard]] bool continue_body(const body_input&, node_body::outcome&,
                                 std::exception_ptr& failed);

} // namespace superstep::detail
