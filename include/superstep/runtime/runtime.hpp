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
#include <optional>
#include <stop_token>
#include <string_view>
#include <type_traits>

namespace superstep {

namespace detail {
class call_services;
struct task_place;
struct runtime_access;
} // namespace detail
template <class State>
class compiled_graph;
struct run_error;
template <class T>
class task;

/// An awaitable for the resume value of one interrupt; see runtime::interrupt().
class [[nodiscard]] question {
public:
  [[nodiscard]] bool await_ready();
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) const noexcept {
    auto& at = *frame.promise().at;
    at.where->give_up(at);
  }
  json::value await_resume() { return std::move(*answer_); }

private:
  friend class runtime;
  question(detail::call_services* services, json::value asked)
      : services_{services}, asked_(std::move(asked)) {}

  detail::call_services* services_;
  json::value asked_;
  std::optional<json::value> answer_;
};

/// A node body's view of its run: step, configuration, stream, store, interrupts. The counterpart
/// of `Runtime` in langgraph/runtime.py. Copyable. Remains valid in a body that outlives its call.
class runtime {
public:
  /// The number of the super-step; the first nodes of a new run have 1.
  [[nodiscard]] std::int64_t step() const noexcept { return step_; }
  /// The number of super-steps left: the recursion limit minus the steps taken. It is 1 in the last
  /// step in which the run can still end without an error, as in LangGraph's `RemainingSteps`
  /// (langgraph/managed/is_last_step.py).
  [[nodiscard]] std::int64_t remaining_steps() const noexcept { return steps_left_; }
  /// Whether remaining_steps() is 1.
  [[nodiscard]] bool is_last_step() const noexcept { return remaining_steps() == 1; }
  /// The name of the node.
  [[nodiscard]] std::string_view node() const noexcept { return node_; }
  /// The position of the call's Send in its super-step; 0 for a node triggered by edges.
  [[nodiscard]] std::uint32_t task_index() const noexcept { return task_index_; }
  /// The number of this attempt, from 1; see retry_policy.
  [[nodiscard]] std::uint32_t attempt() const noexcept { return attempt_; }
  /// The options of the run.
  [[nodiscard]] const run_config& config() const noexcept { return *config_; }
  /// Set when the call is cancelled. A blocking body should poll it.
  [[nodiscard]] const std::stop_token& stop() const noexcept { return stop_; }
  /// The time at which the call is cancelled at the latest: the earliest of the deadline of the
  /// run, the step_timeout, the timeout of this attempt (timeout_policy::run), and those of the
  /// calls that a nested graph is part of. Unset: none of these is limited. The engine destroys a
  /// suspended body at that time; a blocking body should limit its own calls to it.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept {
    return deadline_;
  }
  /// The caller's context (run_config::context), or null if the run has none. Throws wrong_type if
  /// it is of another type.
  template <class T>
  [[nodiscard]] const T* context() const {
    return config_->context.get<T>();
  }
  /// Sends a custom event to the stream of the run, at once. Thread-safe.
  void emit(json::value event) const {
    heartbeat(false);
    if (emit_)
      emit_(std::move(event));
  }
  /// Sends a message, or a piece of one, to the stream of the run, at once. Its type is the node's
  /// own choice; the prebuilt agents send `message` and `message_chunk`. Thread-safe.
  void emit_message(value message) const {
    heartbeat(false);
    if (emit_message_)
      emit_message_(std::move(message));
  }
  /// Whether a reader of the run's stream gets messages.
  [[nodiscard]] bool streams_messages() const noexcept { return static_cast<bool>(emit_message_); }
  /// Reports that the body makes progress; see timeout_policy. Thread-safe.
  void heartbeat() const { heartbeat(true); }
  /// The reason why the node of an error handler failed; null in other bodies.
  [[nodiscard]] const run_error* failure() const noexcept { return failure_.get(); }

  /// The long-term memory, which outlives the thread; null if neither the graph nor the run has
  /// one.
  [[nodiscard]] superstep::store* store() const noexcept { return store_; }

  /// The task that the body serves, the same in every process that runs the super-step; null
  /// without a thread.
  [[nodiscard]] std::shared_ptr<const detail::task_place> place() const;

  /// Interrupts the run until its caller resumes it with a value:
  ///
  ///     auto question = rt.interrupt({{"question", "Approve?"}, {"amount", 250}});
  ///     auto answer = co_await question;
  ///
  /// In two statements, because g++ 12 refuses a braced list in an expression that contains
  /// co_await ("array used as initializer"); a text or a named value may be awaited at once.
  ///
  /// Without a resume value the body is destroyed at this point. The run stops when the other tasks
  /// of the step have ended. When the thread is resumed the body runs again from its beginning.
  /// Interrupts are identified by their order, which must be the same each time.
  [[nodiscard]] question interrupt(json::value asked) const;
  template <std::convertible_to<std::string_view> Text>
    requires(!std::is_null_pointer_v<Text>) // that is the JSON null
  [[nodiscard]] question interrupt(const Text& asked) const {
    return interrupt(json::value(json::string(std::string_view{asked})));
  }
  /// Interrupts the run from a plain function. Without a resume value it returns nothing, and the
  /// function must return at once; its result is dropped. Only inside the body.
  [[nodiscard]] std::optional<json::value> ask(const json::value& asked) const;
  template <std::convertible_to<std::string_view> Text>
    requires(!std::is_null_pointer_v<Text>) // that is the JSON null
  [[nodiscard]] std::optional<json::value> ask(const Text& asked) const {
    return ask(json::value(json::string(std::string_view{asked})));
  }

  /// Runs a graph inside the body, as a part of its task, and returns the graph's last state:
  ///
  ///     auto done = co_await rt.invoke(summary_graph, article{.text = text});
  ///
  /// The input is a state, an update, a projection, or text where the state has `messages`. The
  /// stream, the thread, the store, the resume values and the recursion limit are those of the
  /// body's run. Throws what the graph fails with. At an interrupt of the graph the body stops as
  /// well, and is run again from its beginning when the thread is resumed.
  template <class State, class Input = State>
  [[nodiscard]] task<State> invoke(compiled_graph<State> graph, Input input) const;

private:
  friend struct detail::runtime_access;
  runtime(std::shared_ptr<const run_config> config, std::string_view node, std::int64_t step,
          std::uint32_t task_index)
      : config_{std::move(config)}, node_{node}, step_{step}, task_index_{task_index} {}
  void heartbeat(bool is_told) const;

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
  std::function<void(json::value)> emit_;
  std::function<void(value)> emit_message_;
  std::shared_ptr<const run_error> failure_;
};

} // namespace superstep
