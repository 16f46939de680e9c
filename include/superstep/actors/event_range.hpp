// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/event.hpp>
#include <superstep/actors/event_stream.hpp>
#include <superstep/actors/run_result.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace superstep {

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
  event_range(detail::state_adapter<State> adapter, program_ptr program, event_stream events)
      : adapter_{std::move(adapter)}, program_{std::move(program)}, events_{std::move(events)} {}

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
    auto raw = raw_result{};
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
  std::optional<event<State>> typed(std::optional<run_event> raw) {
    if (!raw)
      return std::nullopt;
    return detail::event_from(std::move(*raw), adapter_, program_);
  }

  [[no_unique_address]] detail::state_adapter<State> adapter_;
  program_ptr program_;
  event_stream events_;
  std::optional<event<State>> at_; // what the iterators point to
};

} // namespace superstep
