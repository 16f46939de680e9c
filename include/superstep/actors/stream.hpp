// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/detail/run_event.hpp>
#include <superstep/actors/run.hpp>
#include <superstep/runtime/inputs.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

/// The origin of an event: the super-step, and the graph.
struct event_origin {
  std::int64_t step = 0; ///< number of the super-step in its graph
  /// Names of the nodes that lead from the outermost graph to the subgraph of the event. Null if
  /// the event is from the outermost graph.
  std::shared_ptr<const std::vector<std::string>> path{};
  /// The namespace of the subgraph's checkpoints, as task_snapshot::nested_ns. Null if the event is
  /// from the outermost graph. Each call of a subgraph has another one, for example the calls of
  /// parallel Sends. Only the calls of a subgraph with persistence::per_thread share it.
  std::shared_ptr<const std::string> ns{};
};

/// An event of stream_mode::values: the state after the input, and after each step that changed it.
template <class State>
struct values_event : event_origin {
  /// The state. It never changes and may outlive the event. Null in events of subgraphs with
  /// another state type; see as().
  std::shared_ptr<const State> state{};
  /// The pending interrupts of a task that was interrupted. Not set in other events.
  std::optional<std::vector<interrupt>> interrupts{};
  state_view snapshot{}; ///< the state without its type

  /// Returns the state of a subgraph over the struct Child; null if the state has another type.
  /// Valid as long as the event.
  template <class Child>
  [[nodiscard]] const Child* as() const& noexcept {
    return state_if<Child>(snapshot.get());
  }
  /// Deleted, because the pointer would dangle.
  template <class Child>
  const Child* as() const&& = delete;
};

/// The writes of a task, in an event.
struct task_writes {
  /// The writes of the task as JSON, in events of JSON graphs. Graphs over structs have wrote().
  json::value update{};
  detail::program_ptr program{}; ///< the graph of the task, for wrote()
  write_list writes{};           ///< the writes of the task, with the numbers of their channels

  /// Returns the value that the task wrote to a field: `wrote<&State::field>()`. Null if it did not
  /// write the field, or belongs to a graph with another state type. Valid as long as the event.
  template <auto Member, class State = typename detail::field<Member>::state>
  [[nodiscard]] const typename detail::field<Member>::type* wrote() const& noexcept {
    return program != nullptr && program->state_type() == typeid(struct_block<State>)
               ? written<Member>(writes)
               : nullptr;
  }
  /// Deleted, because the pointer would dangle.
  template <auto Member, class State = typename detail::field<Member>::state>
  const typename detail::field<Member>::type* wrote() const&& = delete;
};

/// An event of stream_mode::updates: a task has ended, with these writes.
struct update_event : event_origin, task_writes {
  std::string node{}; ///< name of the node; empty if `interrupts` is set
  /// Whether the task did not run, because its output was in the cache or stored by an earlier
  /// attempt of the step.
  bool is_cached = false;
  /// The pending interrupts of a task that was interrupted, or an empty list at a breakpoint. Not
  /// set in other events.
  std::optional<std::vector<interrupt>> interrupts{};
};

/// An event of stream_mode::messages: a message, or a piece of a message, that a body sent.
struct message_event : event_origin {
  std::string node{}; ///< name of the node
  /// The object that the body passed to runtime::emit_message(). Agents send `message_chunk` and
  /// `message`.
  value message{};
  std::uint32_t task_index = 0; ///< see task_event::task_index

  /// Returns the object that the body sent, or null if it has another type. Valid as long as the
  /// event.
  template <class T>
  [[nodiscard]] const T* get_if() const& noexcept {
    return message.get_if<T>();
  }
  /// Deleted, because the pointer would dangle.
  template <class T>
  const T* get_if() const&& = delete;
};

/// An event of stream_mode::custom: a value that a body sent with runtime::emit().
struct custom_event : event_origin {
  std::string node{};           ///< name of the node
  json::value data{};           ///< the value that the body sent
  std::uint32_t task_index = 0; ///< see task_event::task_index
};

/// An event of stream_mode::tasks: a task has started, or has ended with these writes.
struct task_event : event_origin, task_writes {
  std::string node{};           ///< name of the node
  std::uint32_t task_index = 0; ///< the position of the task's Send; 0 if it was triggered by edges
  bool has_ended = false;       ///< false: the task has started
  json::value input{};          ///< the input of a task that has started; null outside JSON graphs
  std::string error{};          ///< why the task failed; empty if it did not fail
  std::exception_ptr cause{};   ///< the exception of a task that failed
  /// The pending interrupts of a task that was interrupted; not set in other events.
  std::optional<std::vector<interrupt>> interrupts{};
};

/// An event of stream_mode::checkpoints: the thread has a new checkpoint. It may not be durable
/// yet; see durability.
struct checkpoint_event : event_origin {
  checkpoint_ptr checkpoint{};     ///< the checkpoint; never null
  std::vector<std::string> next{}; ///< nodes of the next super-step, one entry per task
};

/// An event of stream_mode::debug: the start of a super-step, its barrier, or the end of the run.
struct debug_event : event_origin {
  /// An object with the member `event`: `step` or `end` (with `activated`, `halted` and
  /// `in_flight`), or `barrier` (with `answered` and `in_flight`).
  json::value data{};
};

/// An event of a run of a graph over State, as engine::stream() returns it. Use std::visit or
/// std::get_if to access it.
template <class State>
using event = std::variant<values_event<State>, update_event, message_event, custom_event,
                           task_event, checkpoint_event, debug_event>;

namespace detail {

/// Returns a state that shares the memory of a state block. For states without a struct, returns a
/// new object.
template <class State>
[[nodiscard]] std::shared_ptr<const State> shared_state(const state_adapter<State>& adapter,
                                                        const state_view& from) {
  if constexpr (std::is_reference_v<decltype(adapter.read(*from))>) {
    const auto* state = state_if<State>(from.get());
    return state == nullptr ? nullptr
                            : std::shared_ptr<const State>{state, [from](const State*) {}};
  } else {
    return std::make_shared<const State>(adapter.read(*from));
  }
}

/// Returns the state of an event; null if it has another type than State.
template <class State>
[[nodiscard]] std::shared_ptr<const State> state_of(const run_event& e,
                                                    const state_adapter<State>& adapter) {
  const auto is_ours = e.table == nullptr;
  if constexpr (requires { adapter.nested(*e.table); }) {
    // As in LangGraph, events of the outermost graph show all channels.
    if (is_ours)
      return std::make_shared<const State>(adapter.state(*e.state));
    const auto nested = adapter.nested(*e.table);
    return nested ? shared_state(*nested, e.state) : nullptr;
  } else {
    constexpr auto is_struct =
        std::is_same_v<typename state_adapter<State>::block, struct_block<State>>;
    return is_ours || is_struct ? shared_state(adapter, e.state) : nullptr;
  }
}

/// Moves the writes of a task out of its event.
template <class State>
[[nodiscard]] task_writes writes_from(run_event& e, const state_adapter<State>& adapter,
                                      const program_ptr& program) {
  const auto is_ours = e.table == nullptr;
  auto shown = json::value{};
  if constexpr (requires { adapter.update(e.writes); })
    if (const auto of = is_ours ? std::optional{adapter} : adapter.nested(*e.table);
        of && !e.interrupts && e.error.empty())
      shown = of->update(e.writes);
  return {std::move(shown), is_ours ? program : program_ptr{std::move(e.table)},
          std::move(e.writes)};
}

/// Converts an event to the type that callers of a graph over State receive.
/// @param program the program of the outermost graph
template <class State>
[[nodiscard]] event<State> event_from(run_event&& e, const state_adapter<State>& adapter,
                                      const program_ptr& program) {
  auto origin = event_origin{e.step, std::move(e.path), std::move(e.ns)};
  switch (e.mode) {
  case stream_mode::values: {
    auto state = state_of(e, adapter);
    return values_event<State>{std::move(origin), std::move(state), std::move(e.interrupts),
                               std::move(e.state)};
  }
  case stream_mode::updates: {
    auto writes = writes_from(e, adapter, program);
    return update_event{std::move(origin), std::move(writes), std::move(e.node), e.is_cached,
                        std::move(e.interrupts)};
  }
  case stream_mode::messages:
    return message_event{std::move(origin), std::move(e.node), std::move(e.message), e.task_index};
  case stream_mode::custom:
    return custom_event{std::move(origin), std::move(e.node), std::move(e.data), e.task_index};
  case stream_mode::tasks: {
    const auto has_ended = e.at == run_event::phase::ended;
    auto writes = has_ended ? writes_from(e, adapter, program) : task_writes{};
    return task_event{std::move(origin),  std::move(writes),  std::move(e.node),
                      e.task_index,       has_ended,          std::move(e.data),
                      std::move(e.error), std::move(e.cause), std::move(e.interrupts)};
  }
  case stream_mode::checkpoints:
    return checkpoint_event{std::move(origin), std::move(e.checkpoint), std::move(e.next)};
  default:
    return debug_event{std::move(origin), std::move(e.data)};
  }
}

} // namespace detail

/// The events of one run as an input range, which can be read once:
///
///     for (const auto& event : engine.stream(graph, input, stream_mode::updates))
///       std::visit(printer, event);
///
/// The loop blocks until there is an event. If the run failed, it throws the run's graph_error
/// after the last event. Destroying the range before the run has ended cancels the run, and does
/// not wait.
///
/// @par Threads
/// One thread may read the range at a time. A loop blocks its thread; a body awaits receive()
/// instead.
template <class State>
class event_range {
public:
  /// Waits for the next event and returns it; returns nothing when the run has ended. Blocks. If
  /// the run failed, throws its graph_error after the last event; graph_error::details() has the
  /// exception of the body.
  [[nodiscard]] std::optional<event<State>> next() { return typed(events_.next()); }
  /// Returns a task that returns the same as next() but does not block a thread. The range must
  /// outlive the task.
  [[nodiscard]] task<std::optional<event<State>>> receive() {
    auto waiting = events_.receive();
    auto raw = co_await waiting;
    co_return typed(std::move(raw));
  }
  /// Returns a handle to the run, for draining or cancelling it from any thread.
  [[nodiscard]] const run_handle& handle() const noexcept { return events_.handle(); }
  /// Returns the result of the run, with a copy of its last state; run_result::error is set if the
  /// run failed.
  /// @pre next() has returned nothing or thrown, or a loop over the range has ended
  [[nodiscard]] run_result<State> result() const {
    auto raw = detail::raw_result{};
    const auto& ended = events_.result();
    raw.state = ended.state;
    raw.error = ended.error;
    raw.stats = ended.stats;
    raw.interrupts = ended.interrupts;
    return detail::typed_result(adapter_, std::move(raw));
  }

  /// An input iterator. All iterators of a range share one position. Incrementing an iterator waits
  /// for the next event and throws as next() does.
  class iterator {
  public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = event<State>;
    using difference_type = std::ptrdiff_t;

    /// Creates an iterator that must not be used.
    iterator() = default;
    /// Reads the first event of a range. The range must outlive the iterator.
    explicit iterator(event_range& of) : of_{&of} { ++*this; }
    /// Returns the current event. Valid until the iterator is incremented.
    [[nodiscard]] const event<State>& operator*() const noexcept { return *of_->at_; }
    /// Returns the current event. Valid until the iterator is incremented.
    [[nodiscard]] const event<State>* operator->() const noexcept { return &*of_->at_; }
    /// Waits for the next event; see event_range::next().
    iterator& operator++() {
      of_->at_ = of_->next();
      return *this;
    }
    /// Waits for the next event; see event_range::next().
    void operator++(int) { ++*this; }
    /// Whether the run has ended and all events were read.
    [[nodiscard]] bool operator==(std::default_sentinel_t) const noexcept { return !of_->at_; }

  private:
    event_range* of_ = nullptr;
  };
  /// Waits for the first event; see next(). Call it once.
  [[nodiscard]] iterator begin() { return iterator{*this}; }
  /// Returns the sentinel that an iterator equals when all events were read.
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }

private:
  friend class engine;
  event_range(detail::state_adapter<State> adapter, detail::program_ptr program,
              detail::event_stream events)
      : adapter_{std::move(adapter)}, program_{std::move(program)}, events_{std::move(events)} {}

  std::optional<event<State>> typed(std::optional<detail::run_event> raw) {
    if (!raw)
      return std::nullopt;
    return detail::event_from(std::move(*raw), adapter_, program_);
  }

  [[no_unique_address]] detail::state_adapter<State> adapter_;
  detail::program_ptr program_;
  detail::event_stream events_;
  std::optional<event<State>> at_; // the current event of the iterators
};

} // namespace superstep
