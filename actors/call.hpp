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

/// The interrupts and resume values of one task. Kept across its attempts.
struct conversation {
  detail::task_place place;
  std::shared_ptr<given_answers> given;
  std::mutex mutex; ///< forked calls of one task may call ask() at the same time
  std::vector<json::value> answers;
  std::size_t next = 0; ///< index of the resume value for the next interrupt
  std::vector<interrupt> interrupts;
  bool was_answered = false;
  bool stopped = false; ///< by the interrupts in `interrupts`, or by a breakpoint in a nested graph

  [[nodiscard]] std::optional<json::value> ask(const json::value& question);
};

/// The record of one call of a body: an activation of a node, a Send, or a call forked by another
/// body.
///
/// A lane has one record for bodies that it runs in place. If a body suspends or blocks, the record
/// stays with it (the call is detached), and the lane takes another. The record holds everything
/// that a body may still use after its call was abandoned: state, input, configuration, program.
///
/// @par Threads
/// While a body runs, only its thread uses the members in the group "Used by the body". All others
/// belong to the lane. Records are not freed before their lane, so a stale pointer is recognised by
/// its generation.
struct alignas(64) call final : lane_message, detail::call_services {
  explicit call(superstep::lane& l) : owner_lane{l} { at.owner = this; }

  // Used by the body while it runs.
  body_input input;
  detail::node_body::outcome out;
  std::exception_ptr failed;
  bool ended = false;         ///< the body has ended; if false it is suspended
  bool was_short = false;     ///< it ran as a job, but was too short to be worth a thread
  bool gave_up = false;       ///< it will not be resumed: its interrupt has no resume value
  bool has_observers = false; ///< has a sink, a conversation or a parent run
  bool has_nested = false;    ///< it has started a nested run
  bool is_timed = false;      ///< it has a timeout; set before the body starts, like the next two
  bool has_deadline = false;  ///< `due` is set
  bool heartbeats_only = false;
  bool streams_messages = false; ///< `sink` receives its messages
  bool streams_custom = false;   ///< `sink` receives its custom events
  std::uint32_t nested = 0;      ///< number of nested runs started so far
  std::shared_ptr<conversation> talk;
  task<void> forked; ///< set for a forked call, which does not use `out`

  // Used by the lane.
  execution_context at;
  run* owner = nullptr; ///< null: the record is free, or the call was abandoned
  call* parent = nullptr;
  call* first_fork = nullptr; ///< calls that its body has forked and that have not ended
  call* next_fork = nullptr;
  call* prev_fork = nullptr;
  boost::intrusive_ptr<fork_join> join;
  pooled_actor_ptr actor;
  std::uint32_t generation = 0;
  std::uint32_t parent_generation = 0;
  std::uint32_t task_number = 0;
  std::uint32_t open_index = 0; ///< index in run::open
  call_state state = call_state::idle;
  bool begun = false; ///< the body was started; false for a queued one
  /// its body runs on, or is queued for, a thread that does not serve the lane
  bool is_offloaded = false;
  wait_ptr stashed;         ///< a wait that ended before the body had suspended
  bool is_detached = false; ///< detached: counted in run::detached_calls and listed in run::open

  // Keeps the body's arguments alive if the run continues without it.
  std::shared_ptr<const run_config> config;
  detail::program_ptr table;
  state_view state_hold;
  std::shared_ptr<std::vector<send>> inputs_hold;
  std::shared_ptr<detail::event_sink> sink;
  std::shared_ptr<const nested_in> below;
  std::shared_ptr<const run_error> failure; ///< for error handlers

  std::chrono::steady_clock::time_point started; ///< for a call with a timeout
  std::chrono::steady_clock::time_point due;     ///< see runtime::deadline()
  /// Nanoseconds of the same clock. Written by threads that run the body.
  std::atomic<std::int64_t> progressed{0};

  /// For a queued call: set by the first of the thread that runs it and the lane that drops it.
  std::atomic<bool> claimed{false};
  [[nodiscard]] bool claim() noexcept { return !claimed.exchange(true, std::memory_order_acq_rel); }

  superstep::lane& owner_lane;

  /// Starts the body or resumes its coroutine. The only function that runs user code of nodes.
  void advance(std::coroutine_handle<> frame) noexcept;
  /// Returns the record to the lane. Called by a thread that has run the body but does not serve
  /// the lane, or no longer does.
  void return_to_lane() noexcept;
  void arrive(superstep::lane&) override;
  /// No effect: the lane destroys the body (lane::let_go()).
  void refuse(superstep::lane&) noexcept override {}

  // Services for bodies; see call_services.
  std::stop_token stop_token() override;
  std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept override;
  std::function<void(json::value)> emitter() override;
  std::optional<json::value> ask(const json::value& question) override;
  void pass_on(std::vector<interrupt> questions) override;
  void note_progress(bool is_heartbeat) noexcept override;
  [[nodiscard]] std::function<void(value)> message_emitter() override;
  [[nodiscard]] detail::task_place_ptr place() override;
  void start_nested(detail::program_ptr table, write_list input,
                    completer<detail::nested_outcome> done) override;
  /// Asks a running body, which the lane cannot end, to stop.
  void request_stop();

private:
  [[nodiscard]] conversation& conversing();

  std::mutex stop_mutex_; // a body may request its token while its call is abandoned
  std::optional<std::stop_source> stopper_;
  bool stop_requested_ = false;

public:
  /// Destroys the body's frame, output and exception. A suspended frame keeps the lane alive, so a
  /// lane calls this for all its records before it is released.
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
