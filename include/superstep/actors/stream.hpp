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

/// The origin of an event: its super-step, and its graph.
struct event_origin {
  std::int64_t step = 0; ///< super-step
  /// The nodes that lead to the subgraph of the event; null for the outermost graph.
  std::shared_ptr<const std::vector<std::string>> path{};
};

/// stream_mode::values: the state after a step that changed it; the first follows the input.
template <class State>
struct values_event : event_origin {
  /// The state, shared and never changed. Null in events of subgraphs with another State: see as().
  std::shared_ptr<const State> state{};
  /// Set if the run stopped after the step: the pending interrupts, none at a breakpoint.
  std::optional<std::vector<interrupt>> interrupts{};
  state_view snapshot{}; ///< the state without its type

  /// The state of a subgraph over a described struct; null if it has another state. Valid as long
  /// as the event.
  template <class Child>
  [[nodiscard]] const Child* as() const& noexcept {
    return state_if<Child>(snapshot.get());
  }
  template <class Child>
  const Child* as() const&& = delete; // the pointer would dangle
};

/// stream_mode::updates: what a task wrote, when it ended.
struct update_event : event_origin {
  std::string node{};
  bool is_cached = false; ///< the task did not run: its output was in the cache
  /// The writes of the task, in JSON graphs; see wrote() for graphs over structs.
  json::value update{};
  /// Set if the run stopped: the pending interrupts, none at a breakpoint. `node` is empty then.
  std::optional<std::vector<interrupt>> interrupts{};
  detail::program_ptr program{}; ///< of the task, for wrote()
  write_list writes{};           ///< what the task wrote, by the numbers of the channels

  /// The value that the task wrote to a field, `wrote<&State::field>()`. Null if it did not write
  /// the field, or is of a graph with another state. Valid as long as the event.
  template <auto Member>
  [[nodiscard]] const typename detail::field<Member>::type* wrote() const& noexcept {
    using of = typename detail::field<Member>::state;
    return program != nullptr && program->state_type() == typeid(struct_block<of>)
               ? written<Member>(writes)
               : nullptr;
  }
  template <auto Member>
  const typename detail::field<Member>::type* wrote() const&& = delete;
};

/// stream_mode::messages: a message, or a piece of one, as a body sent it.
struct message_event : event_origin {
  std::string node{};
  /// The object that the body sent: `message_chunk` and `message` from agents, any type from
  /// runtime::emit_message().
  value message{};

  /// The object that the body sent, or null if it is of another type. Valid as long as the event.
  template <class T>
  [[nodiscard]] const T* get_if() const& noexcept {
    return message.get_if<T>();
  }
  template <class T>
  const T* get_if() const&& = delete; // the pointer would dangle
};

/// stream_mode::custom: what a body sent by runtime::emit().
struct custom_event : event_origin {
  std::string node{};
  json::value data{};
};

/// stream_mode::tasks: a task started or ended.
struct task_event : event_origin {
  std::string node{};
  std::uint32_t task_index = 0; ///< the position of the task's Send; 0 if it was triggered by edges
  bool has_ended = false;
  json::value input{};        ///< the input of a task that started, if it has a JSON form
  std::string error{};        ///< why a task failed; empty if it did not
  std::exception_ptr cause{}; ///< the exception of a task that failed
  std::optional<std::vector<interrupt>> interrupts{};
};

/// stream_mode::checkpoints: the thread has a new checkpoint.
struct checkpoint_event : event_origin {
  checkpoint_ptr checkpoint{};
  std::vector<std::string> next{}; ///< nodes that run next
};

/// stream_mode::debug: an activation, a vote to halt, a barrier.
struct debug_event : event_origin {
  json::value data{};
};

/// An event of a run of a graph over State: what engine::stream() returns, to be visited.
template <class State>
using event = std::variant<values_event<State>, update_event, message_event, custom_event,
                           task_event, checkpoint_event, debug_event>;

namespace detail {

/// Returns a state that shares the snapshot's memory, or a new one if the snapshot holds channels.
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

/// Converts an erased event to the type that callers of a graph over State receive.
/// @param program the program of the outermost graph
template <class State>
[[nodiscard]] event<State> event_from(run_event&& e, const state_adapter<State>& adapter,
                                      const program_ptr& program) {
  auto origin = event_origin{e.step, std::move(e.path)};
  const auto is_ours = e.table == nullptr;
  switch (e.mode) {
  case stream_mode::values: {
    auto state = std::shared_ptr<const State>{};
    if (is_ours || std::is_same_v<typename state_adapter<State>::block, struct_block<State>>)
      state = shared_state(adapter, e.state);
    return values_event<State>{std::move(origin), std::move(state), std::move(e.interrupts),
                               std::move(e.state)};
  }
  case stream_mode::updates: {
    auto shown = json::value{};
    if constexpr (requires { adapter.update(e.writes); })
      if (is_ours && !e.interrupts)
        shown = adapter.update(e.writes);
    return update_event{
        std::move(origin),  std::move(e.node),       e.is_cached,
        std::move(shown),   std::move(e.interrupts), is_ours ? program : std::move(e.table),
        std::move(e.writes)};
  }
  case stream_mode::messages:
    return message_event{std::move(origin), std::move(e.node), std::move(e.message)};
  case stream_mode::custom:
    return custom_event{std::move(origin), std::move(e.node), std::move(e.data)};
  case stream_mode::tasks:
    return task_event{
        std::move(origin), std::move(e.node),  e.task_index,       e.at == run_event::phase::ended,
        std::move(e.data), std::move(e.error), std::move(e.cause), std::move(e.interrupts)};
  case stream_mode::checkpoints:
    return checkpoint_event{std::move(origin), std::move(e.checkpoint), std::move(e.next)};
  default:
    return debug_event{std::move(origin), std::move(e.data)};
  }
}

} // namespace detail

/// The events of one run as an input range, read once by one reader:
///
///     for (const auto& event : engine.stream(graph, input, stream_mode::updates))
///       std::visit(printer, event);
///
/// The loop blocks until there is an event. After the last event it throws the run's graph_error if
/// the run failed. Destroying the range early cancels the run.
template <class State>
class event_range {
public:
  /// The next event; empty when the run has ended. Blocks. Throws the run's graph_error after the
  /// last event.
  [[nodiscard]] std::optional<event<State>> next() { return typed(events_.next()); }
  /// Awaits the next event without blocking a thread; see next(). The range must outlive the task.
  [[nodiscard]] task<std::optional<event<State>>> receive() {
    auto waiting = events_.receive();
    auto raw = co_await waiting;
    co_return typed(std::move(raw));
  }
  /// A handle to the run, for draining or cancelling it from another thread.
  [[nodiscard]] const run_handle& handle() const noexcept { return events_.handle(); }
  /// The result of the run. @pre next() returned nothing, or a loop over the range has ended
  [[nodiscard]] run_result<State> result() const {
    auto raw = detail::raw_result{};
    const auto& ended = events_.result();
    raw.state = ended.state;
    raw.error = ended.error;
    raw.stats = ended.stats;
    raw.interrupts = ended.interrupts;
    return detail::typed_result(adapter_, std::move(raw));
  }

  /// An input iterator. All iterators of a range share its position.
  class iterator {
  public:
    using iterator_concept = std::input_iterator_tag;
    using value_type = event<State>;
    using difference_type = std::ptrdiff_t;

    iterator() = default;
    explicit iterator(event_range& of) : of_{&of} { ++*this; }
    [[nodiscard]] const event<State>& operator*() const noexcept { return *of_->at_; }
    [[nodiscard]] const event<State>* operator->() const noexcept { return &*of_->at_; }
    iterator& operator++() {
      of_->at_ = of_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    [[nodiscard]] bool operator==(std::default_sentinel_t) const noexcept { return !of_->at_; }

  private:
    event_range* of_ = nullptr;
  };
  /// Waits for the first event.
  [[nodiscard]] iterator begin() { return iterator{*this}; }
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
  std::optional<event<State>> at_; // what the iterators point to
};

} // namespace superstep
