// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/detail/executor.hpp>
#include <superstep/base/json.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/runtime/run_config.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>

namespace superstep {

namespace detail {
class call_services;
struct task_place;
struct runtime_access;

/// The kinds of progress, which restart the limit timeout_policy::idle: an event of the body or of
/// a run that it has started, and a call of runtime::heartbeat().
enum class progress_kind : std::uint8_t { event, heartbeat };

/// The functions that send events of a body to the stream; empty if no reader wants them.
struct emitters {
  std::function<void(json::value)> custom; ///< for runtime::emit()
  std::function<void(value)> message;      ///< for runtime::emit_message()
};
} // namespace detail
template <class State>
class compiled_graph;
struct run_error;
template <class T>
class task;

/// The awaitable that runtime::interrupt() returns. Awaiting it returns the resume value of one
/// interrupt. Await it once, in the coroutine of the body or in a coroutine that the body awaits.
class [[nodiscard]] interrupt_awaiter {
public:
  /// Takes the resume value from the run; returns whether there is one. If not, records the
  /// interrupt. Throws std::logic_error outside a body that an engine runs.
  [[nodiscard]] bool await_ready();
  /// Ends the body's call without resuming it, because there is no resume value. The engine then
  /// destroys the frames of the body.
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
    auto& at = *frame.promise().at;
    at.where->give_up(at);
  }
  /// Returns the resume value.
  json::value await_resume() { return std::move(*resume_value_); }

private:
  friend class runtime;
  interrupt_awaiter(detail::call_services* services, json::value value)
      : services_{services}, value_(std::move(value)) {}

  detail::call_services* services_;
  json::value value_; // the value of the interrupt, for the caller of the run
  std::optional<json::value> resume_value_;
};

/// Gives the body of a node (its function) access to the run: step, configuration, stream, store
/// and interrupts. The counterpart of `Runtime` in langgraph/runtime.py (LangGraph 1.2.22). The
/// engine creates it; a body receives it as a parameter.
///
/// @par Threads
/// A runtime and its copies may be used on several threads until the body has ended. interrupt(),
/// ask() and invoke() are for the body itself and the coroutines that it awaits.
/// @par Lifetime
/// References and pointers that the members return are valid as long as a copy of the runtime
/// exists, unless stated. A runtime stays valid in a body that is still running when its run has
/// ended.
class runtime {
public:
  /// Returns the number of the current super-step. The first nodes of a new run see 1. On a thread
  /// with checkpoints, later runs continue the count.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// Returns the recursion limit minus the number of super-steps that the run has begun, this one
  /// included. It is 1 in the last step in which the run can still end without an error, as in
  /// LangGraph's `RemainingSteps` (langgraph/managed/is_last_step.py).
  [[nodiscard]] std::int64_t remaining_steps() const noexcept { return steps_left_; }
  /// Whether remaining_steps() is 1, as LangGraph's `IsLastStep`.
  [[nodiscard]] bool is_last_step() const noexcept { return remaining_steps() == 1; }
  /// Returns the name of the node. Valid as long as the compiled graph.
  [[nodiscard]] std::string_view node() const noexcept { return node_; }
  /// Returns the position of the task's Send among the Sends of the super-step, from 0. Also 0 for
  /// a node that edges triggered.
  [[nodiscard]] std::uint32_t task_index() const noexcept { return task_index_; }
  /// Returns the number of the current attempt, from 1; see retry_policy.
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_; }
  /// Returns the options that the caller passed to the run.
  [[nodiscard]] const run_config& config() const noexcept { return *config_; }
  /// Returns a token that is set when the engine no longer needs the result, for example after a
  /// cancellation or a timeout. A body that blocks should poll it.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  /// Returns the time at which the call is cancelled at the latest: the earliest of the deadline of
  /// the run, the step_timeout and the timeout of this attempt (timeout_policy::run). In a nested
  /// graph, the limits of the calls that it is part of count as well. nullopt if there is no limit.
  /// The engine destroys a suspended body at that time. A blocking body should limit its own calls
  /// to it.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept {
    return deadline_;
  }
  /// Returns the caller's context (run_config::context), or null if the run has none. Check the
  /// pointer before use, unless every caller of the graph sets a context:
  ///
  ///     const auto* who = rt.context<traveller>();
  ///     auto name = who != nullptr ? who->name : "a guest";
  ///
  /// Throws wrong_type if the context is not a T; base classes of its type do not match.
  template <class T>
  [[nodiscard]] const T* context() const {
    return config_->context.get<T>();
  }
  /// Sends a custom event to the reader of the run's stream, without waiting for the barrier. If no
  /// reader requested stream_mode::custom, the event is discarded. In both cases the call counts as
  /// progress, unless timeout_policy::heartbeats_only is set. May be called from any thread.
  void emit(json::value event) const {
    report_progress(detail::progress_kind::event);
    if (emitters_ && emitters_->custom)
      emitters_->custom(std::move(event));
  }
  /// Sends a text as a custom event; see the overload above.
  template <std::convertible_to<std::string_view> Text>
    requires(!std::is_null_pointer_v<Text>) // nullptr is the JSON null
  void emit(const Text& event) const {
    emit(json::value(json::string(std::string_view{event})));
  }
  /// Sends a message, or a piece of a message, to the reader of the run's stream, without waiting
  /// for the barrier. If streams_messages() is false, the message is discarded. In both cases the
  /// call counts as progress, unless timeout_policy::heartbeats_only is set. May be called from any
  /// thread.
  /// @param message an object of any type; the prebuilt agents send `message` and `message_chunk`
  void emit_message(value message) const {
    report_progress(detail::progress_kind::event);
    if (streams_messages())
      emitters_->message(std::move(message));
  }
  /// Whether the run's stream has a reader that requested stream_mode::messages, and the node does
  /// not have the tag `nostream`.
  [[nodiscard]] bool streams_messages() const noexcept { return emitters_ && emitters_->message; }
  /// Reports that the body makes progress, which restarts timeout_policy::idle. May be called from
  /// any thread.
  void heartbeat() const { report_progress(detail::progress_kind::heartbeat); }
  /// Returns the failure that an error handler handles; null in bodies that are not error handlers.
  /// See graph::on_error().
  [[nodiscard]] const run_error* failure() const noexcept { return failure_.get(); }

  /// Returns the long-term memory: the store of the run (thread_options::store), or else of the
  /// graph (compile_options::store). Returns null if neither is set, so check the pointer before
  /// use in a body of graphs that may be compiled without a store. Valid until the run has ended.
  [[nodiscard]] superstep::store* store() const noexcept { return store_; }

  /// Interrupts the run until its caller resumes it with a value, as `interrupt()` in
  /// langgraph/types.py:
  ///
  ///     auto question = rt.interrupt({{"question", "Approve?"}, {"amount", 250}});
  ///     auto answer = co_await question;
  ///
  /// The example has two statements, because g++ 12 rejects a braced list in an expression that
  /// contains co_await ("array used as initializer"). A text or a named value may be awaited in the
  /// same statement.
  ///
  /// Without a resume value the co_await does not return: the engine destroys the body. The run
  /// stops when the other tasks of the step have ended. When the thread is resumed, the body runs
  /// again from its beginning. Its interrupts are matched with their resume values by their order,
  /// so that order must be the same each time. Only a run with a checkpointer can be resumed.
  ///
  /// @param asked the question; the caller receives it in run_result::interrupts
  /// @returns an awaitable. Awaiting it throws std::logic_error outside a body that an engine runs.
  [[nodiscard]] interrupt_awaiter interrupt(json::value asked) const;
  /// Interrupts the run with a text as the question; see the overload above.
  template <std::convertible_to<std::string_view> Text>
    requires(!std::is_null_pointer_v<Text>) // nullptr is the JSON null
  [[nodiscard]] interrupt_awaiter interrupt(const Text& asked) const {
    return interrupt(json::value(json::string(std::string_view{asked})));
  }
  /// Interrupts the run from a body that is a plain function, not a coroutine. Otherwise as
  /// interrupt(). Throws std::logic_error outside a body that an engine runs.
  /// @returns the resume value. If there is none yet, nothing: the body must then return, and its
  /// result is discarded.
  [[nodiscard]] std::optional<json::value> ask(const json::value& asked) const;
  /// Interrupts the run with a text as the question; see the overload above.
  template <std::convertible_to<std::string_view> Text>
    requires(!std::is_null_pointer_v<Text>) // nullptr is the JSON null
  [[nodiscard]] std::optional<json::value> ask(const Text& asked) const {
    return ask(json::value(json::string(std::string_view{asked})));
  }

  /// Runs a graph as part of the body's task and returns the last state of that graph:
  ///
  ///     auto running = rt.invoke(summary_graph, article{.text = text});
  ///     auto done = co_await running;
  ///
  /// Do not write both in one expression: g++ 12 destroys a temporary of an aggregate type, such as
  /// article{}, twice if it is part of a `co_await` expression.
  ///
  /// The nested run uses the stream, thread, store, cache and resume values of the body's run. It
  /// counts its own super-steps; the recursion limit has the same value. If it is interrupted, the
  /// body is interrupted as well, and runs again from its beginning when the thread is resumed. If
  /// it changed no output channel, the result is a default-constructed State.
  ///
  /// The call throws graph_error{invalid_graph} if `input` is a whole state and `graph` keeps its
  /// state between calls (persistence::per_thread). Awaiting the task throws the exception of the
  /// nested body that failed, unchanged, or graph_error for any other failure. It throws
  /// std::logic_error outside a body that an engine runs.
  ///
  /// @param input a state, an update or a projection; a text, a message or a list of messages if
  /// the state has the field `messages`
  /// @returns a task that must be awaited in the body; it owns the graph and the input
  template <class State, class Input = State>
  [[nodiscard]] task<State> invoke(compiled_graph<State> graph, Input input) const;

private:
  friend struct detail::runtime_access;
  runtime(std::shared_ptr<const run_config> config, std::string_view node, std::int64_t step,
          std::uint32_t task_index)
      : config_{std::move(config)}, node_{node}, step_{step}, task_index_{task_index} {}
  void report_progress(detail::progress_kind kind) const;

  std::shared_ptr<const run_config> config_;
  std::string_view node_; // belongs to the program, which outlives every call
  std::int64_t step_;
  std::uint32_t task_index_;
  std::uint32_t attempt_ = 1;
  std::int64_t steps_left_ = 0;
  detail::call_services* services_ = nullptr;
  superstep::store* store_ = nullptr;
  std::stop_token stop_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::shared_ptr<const detail::emitters> emitters_; // null if the stream has no reader for them
  std::shared_ptr<const run_error> failure_;
};

} // namespace superstep
