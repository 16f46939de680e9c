// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lane_message.hpp"
#include "large_barrier.hpp"
#include "phases.hpp"
#include "ready_list.hpp"
#include "runtime/step.hpp"
#include "threads/thread_run.hpp"
#include "timer_heap.hpp"
#include "tiny_mutex.hpp"
#include "wait_list.hpp"

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

/// The interrupts of one task and the resume values that it has received. Kept across the attempts
/// of the task.
struct task_interrupts {
  detail::task_place place;
  std::shared_ptr<given_answers> given;
  std::mutex mutex; ///< forked calls of one task may call ask() at the same time
  std::vector<json::value> answers;
  std::size_t next = 0; ///< index in `answers` of the value for the body's next interrupt
  std::vector<interrupt> interrupts;
  bool was_answered = false;
  /// the body has stopped at the interrupts in `interrupts`, or a graph nested in it has stopped at
  /// a breakpoint
  bool stopped = false;

  [[nodiscard]] std::optional<json::value> ask(const json::value& question);
};

/// The progress of a body, as the thread that runs it reports it.
enum class body_progress : std::uint8_t {
  active,    ///< it runs, is suspended, or has not started
  activated, ///< its actor has taken its activation from the mailbox, and waits for the lane
  giving_up, ///< it has stopped at an interrupt without a resume value and will not be resumed
  ended,
  /// it has ended as a job, although passing it to a thread took longer than running it
  ended_quickly,
};

/// The properties of a call that are decided before its body starts, as bits of call::traits.
enum class call_trait : std::uint8_t {
  has_observers = 1,     ///< `sink`, `asked`, `below` or `unusual` of the extras may be set
  is_timed = 2,          ///< the call has a timeout
  has_deadline = 4,      ///< `due` is set
  heartbeats_only = 8,   ///< only heartbeats count as progress
  streams_messages = 16, ///< `sink` receives the body's messages
  streams_custom = 32,   ///< `sink` receives the body's custom events
  is_forked = 64,        ///< a body has forked the call; `forked` of the extras is its body
};

struct call;

/// The parts of a call that most calls do not need: those of forked calls, of calls with timeouts,
/// and of calls whose run is not on the fast path.
struct call_extras {
  explicit call_extras(call* of) noexcept : limit_timer{timer_kind::call_limit, of} {}

  std::shared_ptr<task_interrupts> asked;
  task<void> forked; ///< the body of a forked call; call::out is not used for it
  /// If set, the call has no body: it applies the writes of a step.
  std::unique_ptr<large_barrier> barrier;
  call* parent = nullptr; ///< the call that has forked this one; its record is kept until this ends
  std::uint32_t users = 0;    ///< number of forked calls that still use the record
  call* first_fork = nullptr; ///< list of the unfinished calls that the body has forked
  call* next_fork = nullptr;
  call* prev_fork = nullptr;
  boost::intrusive_ptr<fork_join> join;
  run* first_child = nullptr; ///< list of the live nested runs that the body has started
  timer limit_timer;
  std::shared_ptr<detail::event_sink> sink;
  std::shared_ptr<const nested_in> below;
  unusual_input unusual;                         ///< see body_input::unusual
  std::chrono::steady_clock::time_point started; ///< when the call started; set if it has a timeout
  std::chrono::steady_clock::time_point due;     ///< see runtime::deadline()
  /// Time of the latest progress, in nanoseconds of the clock of `started`. Written by the threads
  /// that run the body.
  std::atomic<std::int64_t> progressed{0};
};

/// The record of one call. A call executes a node's body for a task, or work that a body has forked
/// (when_all).
///
/// A lane has one record for all bodies that it runs in place. A body that suspends or blocks keeps
/// the record (its call is then detached), and the lane takes another record for the next bodies.
/// The record owns everything that a body may still use after the lane has abandoned its call:
/// state, input, configuration, program.
///
/// @par Threads
/// While a body runs, only the thread that runs it uses the members in the group "Used by the
/// body". All other members belong to the lane's thread. Records are reused but never freed before
/// their lane. A pointer to a record whose call has ended is therefore safe to read; its generation
/// shows that the call has ended.
struct call : lane_message, detail::call_services {
  explicit call(superstep::lane& l) noexcept;
  call(const call&) = delete;
  call& operator=(const call&) = delete;
  ~call() override;

  // Used by the body while it runs.
  body_input input;
  /// The coroutine of a body that is suspended.
  detail::body_task rest;
  /// The output of the body. It is null while the body is suspended. fill_call() and
  /// end_coroutine() allocate it.
  std::unique_ptr<detail::node_body::outcome> out;
  std::exception_ptr failed;
  // A waiting call has one of these records, so small members share words.
  body_progress progress = body_progress::active;
  std::uint8_t traits = 0;      ///< bits of call_trait; set before the body starts
  phase_cell<call_phase> phase; ///< used by the lane
  /// Decides a race for a queued call: the job thread that wants to run the body and the lane that
  /// wants to abandon it both set this, and the first one wins.
  std::atomic<bool> claimed{false};

  // Used by the lane.
  std::uint32_t nested = 0; ///< number of nested runs that the body has started
  execution_context at;
  run* owner = nullptr; ///< null if the record is free or the call was abandoned
  std::uint32_t generation = 0;
  std::uint32_t task_number = 0;
  ready_entry turn{ready_kind::resume, this};
  wait_list waits; ///< the waits of the body that have ended

  // These keep the body's arguments alive if the run continues or ends without the body.
  std::shared_ptr<const run_config> config;
  detail::program_ptr table;
  state_view state_hold;
  step_inputs_ptr inputs_hold;

  [[nodiscard]] bool claim() noexcept { return !claimed.exchange(true, std::memory_order_acq_rel); }

  [[nodiscard]] superstep::lane& owner_lane() const noexcept;

  /// Returns the extras of the call for reading; empty ones if the record has none.
  [[nodiscard]] const call_extras& extras() const noexcept {
    const auto* own = own_extras();
    return own != nullptr ? *own : no_extras;
  }
  /// Returns the extras of the call, or null. A record that has had extras once keeps them.
  [[nodiscard]] call_extras* own_extras() const noexcept {
    return extras_.load(std::memory_order_acquire);
  }
  /// Returns the extras of the call for writing. The body may call this on another thread.
  [[nodiscard]] call_extras& more();
  /// Returns a member of the extras and clears it.
  template <class Member>
  [[nodiscard]] Member take(Member call_extras::*member) noexcept {
    auto* const own = own_extras();
    return own != nullptr ? std::exchange(own->*member, Member{}) : Member{};
  }

  [[nodiscard]] bool is(call_trait t) const noexcept {
    return (traits & static_cast<std::uint8_t>(t)) != 0;
  }
  void set(call_trait t) noexcept {
    traits = static_cast<std::uint8_t>(traits | static_cast<unsigned>(t));
  }
  /// Whether the body has ended.
  [[nodiscard]] bool has_ended() const noexcept {
    return progress == body_progress::ended || progress == body_progress::ended_quickly;
  }
  /// Whether the call is listed in run::open: it did not end in place, and was not abandoned.
  [[nodiscard]] bool is_detached() const noexcept {
    return phase == call_phase::waiting || phase == call_phase::job ||
           phase == call_phase::mailed || phase == call_phase::activated ||
           phase == call_phase::suspended || phase == call_phase::resuming ||
           phase == call_phase::taken;
  }
  /// Whether the lane waits for a thread that does not serve it: the body runs there or is queued,
  /// or the thread runs the actor of the call.
  [[nodiscard]] bool is_offloaded() const noexcept {
    return phase == call_phase::job || phase == call_phase::taken || phase == call_phase::mailed;
  }
  /// Returns whether the lane has got the actor together with the activation, and records that it
  /// uses or releases it.
  [[nodiscard]] bool take_activation() noexcept {
    if (progress != body_progress::activated)
      return false;
    progress = body_progress::active;
    return true;
  }

  /// Whether nothing is left of an earlier body.
  [[nodiscard]] bool is_clean() const noexcept {
    return !rest && !failed && (!out || (!out->rest && out->output.is_empty()));
  }
  /// Returns what the body has returned, and clears it.
  [[nodiscard]] node_output take_output() noexcept {
    return out ? std::exchange(out->output, {}) : node_output{};
  }
  void drop_output() noexcept {
    if (out && !out->output.is_empty())
      out->output = {};
  }

  /// Starts the body, or resumes its coroutine if `frame` is set. No other function runs user code
  /// of nodes.
  void advance(std::coroutine_handle<> frame) noexcept;
  /// Posts the record to the lane. Called by a thread that has run the body and does not serve the
  /// lane, or no longer does, and by the actor that has taken the activation of the call.
  void return_to_lane() noexcept;
  void arrive(superstep::lane&) override;
  /// Does nothing, because lane::let_go() destroys the bodies of all records.
  void refuse(superstep::lane&) noexcept override {}

  // Services for bodies; see call_services.
  execution_context& context() noexcept override { return at; }
  std::stop_token stop_token() override;
  std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept override;
  std::function<void(json::value)> emitter() override;
  std::optional<json::value> ask(const json::value& question) override;
  [[nodiscard]] bool is_interrupted() override;
  void pass_on(std::vector<interrupt> questions) override;
  void note_progress(detail::progress_kind kind) noexcept override;
  /// Starts the idle timeout of the call again.
  void restart_idle_limit() noexcept;
  [[nodiscard]] std::function<void(value)> message_emitter() override;
  [[nodiscard]] detail::task_place_ptr place() override;
  void start_nested(detail::program_ptr table, write_list input,
                    completer<detail::nested_outcome> done) override;
  /// Returns the interrupts of the body; null if there are none. The body may create them at the
  /// same time.
  [[nodiscard]] std::shared_ptr<task_interrupts> asked() const;
  /// Requests a stop through the body's stop token. Used for a running body, because the lane
  /// cannot end it.
  void request_stop();

  /// Separates the record from its run, because the lane abandons the call.
  void leave_run() noexcept;

private:
  [[nodiscard]] task_interrupts& own_interrupts();
  [[nodiscard]] bool end_coroutine() noexcept;

  static const call_extras no_extras;

  std::stop_source stopper_{std::nostopstate}; // without a state until the body asks for a token
  std::atomic<call_extras*> extras_{nullptr};

public:
  std::uint32_t open_index = 0; ///< index in run::open; used by the lane
  /// Whether the body, or a call that it has forked, has asked for a nested run.
  std::atomic<bool> has_requested_nest{false};

private:
  bool stop_requested_ = false;

protected:
  // the body may ask for its token or its actors while the lane abandons the call
  mutable tiny_mutex stop_mutex_;

public:
  /// Destroys the body's frame, output and exception. A suspended frame keeps the lane alive;
  /// therefore a lane calls this for all its records before it is released.
  void drop_body() noexcept {
    rest = {};
    drop_output();
    failed = nullptr;
    waits.clear();
    if (auto* const own = own_extras()) {
      own->forked = {};
      own->barrier.reset();
      own->join.reset();
    }
  }
  void detach_observers() noexcept {
    traits = 0;
    if (auto* const own = own_extras()) {
      own->sink.reset();
      own->below.reset();
      own->asked.reset();
      own->unusual = {};
    }
  }
  void forget_stop() noexcept {
    if (stopper_.stop_possible())
      stopper_ = std::stop_source{std::nostopstate};
    stop_requested_ = false;
  }
};

} // namespace superstep
