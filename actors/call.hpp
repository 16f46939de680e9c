// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lane_message.hpp"
#include "pooled_actor.hpp"
#include "runtime/step.hpp"
#include "runtime/thread_run.hpp"

#include <superstep/actors/debug.hpp>
#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/runtime/detail/node_body.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

namespace superstep {

struct run;
struct nested_in;

/// What one task has asked and been told; kept over its attempts.
struct conversation {
  detail::task_place place;
  std::shared_ptr<given_answers> given;
  std::mutex mutex; ///< forked calls of one task may ask at once
  std::vector<json::value> answers;
  std::size_t next = 0; ///< the answer for the next question
  std::vector<interrupt> interrupts;
  bool was_answered = false;
  bool stopped = false; ///< for the questions in `interrupts`, or for a breakpoint below

  [[nodiscard]] std::optional<json::value> ask(const json::value& question);
};

/// One body on its way: an activation of a node, a Send, or a call forked by another body.
///
/// A lane has one call record for bodies that it runs in place. When a body turns out to wait or to
/// block, the record goes with it (it is detached) and the lane takes another. Everything that
/// a body may still touch after its call was given up hangs on the record: state, input, config,
/// table.
///
/// @par Threads
/// While a body runs, its thread alone touches the group "the body's" below; everything else is the
/// lane's. Records are never freed before their lane, so a stale pointer with a stale generation
/// can be told apart.
struct alignas(64) call final : lane_message, detail::call_services {
  explicit call(superstep::lane& l) : owner_lane{l} { at.owner = this; }

  // The body's, while it runs.
  body_input input;
  detail::node_body::outcome out;
  std::exception_ptr failed;
  bool ended = false;      ///< the body has ended; otherwise it waits
  bool was_short = false;  ///< it was a job, and not worth a thread
  bool gave_up = false;    ///< it will not go on: it has asked and got no answer
  bool has_observers = false; ///< has a sink, a conversation or a run above it
  bool has_nested = false; ///< it has asked for a run below it
  bool is_timed = false;   ///< it has a time limit; set before the body starts, like the next
  bool heartbeats_only = false;
  bool streams_messages = false; ///< `sink` wants them
  bool streams_custom = false;   ///< `sink` wants what the body emits
  std::uint32_t nested = 0;      ///< runs started below it
  std::shared_ptr<conversation> talk;
  task<void> forked; ///< set: a forked call; `out` is unused

  // The lane's.
  execution_context at;
  run* owner = nullptr; ///< null: free, or given up
  call* parent = nullptr;
  call* first_fork = nullptr; ///< calls that its body has forked and that have not ended
  call* next_fork = nullptr;
  call* prev_fork = nullptr;
  boost::intrusive_ptr<fork_join> join;
  pooled_actor_ptr actor;
  std::uint32_t generation = 0;
  std::uint32_t parent_generation = 0;
  std::uint32_t task_number = 0;
  std::uint32_t open_index = 0; ///< place in run::open
  call_state state = call_state::idle;
  bool begun = false;      ///< the body was started; a queued one was not
  bool is_offloaded = false; ///< its body is on, or queued for, a thread that is not the lane's
  wait_ptr stashed;        ///< ended while the body was still on its way to suspend
  bool is_detached = false; ///< counted in run::detached_calls and listed in run::open

  // What keeps the body's world alive when the run goes on without it.
  std::shared_ptr<const run_config> config;
  detail::program_ptr table;
  state_view state_hold;
  std::shared_ptr<std::vector<send>> inputs_hold;
  std::shared_ptr<detail::event_sink> sink;
  std::shared_ptr<const nested_in> below;
  std::shared_ptr<const run_error> failure; ///< of an error handler

  std::chrono::steady_clock::time_point started; ///< of a call with a time-out
  /// Nanoseconds of the same clock; written by the body's threads.
  std::atomic<std::int64_t> progressed{0};

  /// Of a queued call: who gets it first, the thread that runs it or the lane that drops it.
  std::atomic<bool> claimed{false};
  [[nodiscard]] bool claim() noexcept { return !claimed.exchange(true, std::memory_order_acq_rel); }

  superstep::lane& owner_lane;

  /// Starts the body or resumes its coroutine. The only function that runs user code of nodes.
  void advance(std::coroutine_handle<> frame) noexcept;
  /// A thread that is not (or no longer) its lane's has run the body: tells the lane.
  void return_to_lane() noexcept;
  void arrive(superstep::lane&) override;
  /// The lane destroys what the body has left (lane::let_go()).
  void refuse(superstep::lane&) noexcept override {}

  // What bodies ask for.
  std::stop_token stop_token() override;
  std::function<void(json::value)> emitter() override;
  std::optional<json::value> ask(const json::value& question) override;
  void pass_on(std::vector<interrupt> questions) override;
  void note_progress(bool is_heartbeat) noexcept override;
  [[nodiscard]] std::function<void(value)> message_emitter() override;
  [[nodiscard]] detail::task_place_ptr place() override;
  void start_nested(detail::program_ptr table, write_list input,
                    completer<detail::nested_outcome> done) override;
  /// The lane asks a body that it cannot end to stop.
  void request_stop();

private:
  [[nodiscard]] conversation& conversing();

  std::mutex stop_mutex_; // a body may ask for its token while its call is given up
  std::optional<std::stop_source> stopper_;
  bool stop_requested_ = false;

public:
  /// Destroys the body's frame, output and exception. A frame that waits holds the lane, so a lane
  /// drops what its calls have left before it is let go.
  void drop_body() noexcept {
    out.rest = {};
    out.output = {};
    forked = {};
    failed = nullptr;
    stashed.reset();
    join.reset();
  }
  void detach_observers() noexcept {
    sink.reset();
    below.reset();
    talk.reset();
    failure.reset();
    has_observers = false;
  }
  void forget_stop() noexcept {
    stopper_.reset();
    stop_requested_ = false;
  }
};

} // namespace superstep
