// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "body_guard.hpp"
#include "coordinator.hpp"
#include "lane_host.hpp"
#include "lane_inbox.hpp"
#include "run_sharing.hpp"
#include "sleepers.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/base/detail/executor.hpp>

#include <memory>
#include <vector>

namespace superstep {

namespace detail {
class engine_core;
} // namespace detail

class worker;

/// The executor of an engine's runs. By default there is one lane per core. A lane owns its runs,
/// their calls, actors and timers. It needs no locks for them, because only one thread at a time
/// serves it.
///
/// A lane decides nothing about runs: its coordinator does. The lane handles its inbox and timers,
/// and runs bodies.
///
/// A body is user code: the function of a node, or work that it has forked (when_all), such as a
/// tool call. A call is one execution of a body. A lane executes a body in one of four ways:
/// - In place: the lane's thread calls the body, and the body ends without suspending or blocking.
///   Most calls end so. All of them share one call record (`in_place_`).
/// - Suspended: the body awaits something. The call is detached: it keeps its record, and the lane
///   continues with other work. When the awaited operation has ended, the lane resumes the body.
/// - Taken over: the body blocks or computes for long and keeps its thread. The watcher gives the
///   lane to another thread, which detaches the call and continues with the run's next task.
/// - As a job: the body's node is known to be slow. The call is detached at once, and a job thread
///   of the pool runs the body.
///
/// In the last two cases the body is offloaded: its thread does not serve the lane. When the body
/// ends or suspends, that thread posts the call back to the lane.
///
/// A body starts only after the lane has acquired the actor of its call, and continues only after
/// the lane has acquired the actor that the call has then, if any (see lane_call). If the actor
/// handles a message of another actor, the lane sends it the activation. The call is detached, and
/// continues when the actor has taken the activation from its mailbox (pooled_actor::activate()).
///
/// Invariant: no stack frame between serve() and a body owns a resource. The reason is that a
/// thread whose lane was taken over returns through these frames while another thread already
/// serves the lane. The position of a run is therefore stored as data (run, next task, call
/// record). The old thread finds that it has lost the guard and returns to the pool without
/// touching the lane. Thus turn(), drive() and the functions that they call must not hold objects
/// with a non-trivial destructor while guarded() runs. They must return at once if it returns
/// `kept::no`. The coordinator is not on the stack while a body runs.
///
/// lane.cpp contains the loop, lane_bodies.cpp runs bodies.
class lane final : public executor {
public:
  /// Whether the calling thread still serves the lane after it has run a body.
  enum class kept : bool { no, yes };

  lane(detail::engine_core& core, std::uint32_t index);

  // Callable from any thread.
  void post(lane_message* m, lane_inbox::kind of = lane_inbox::kind::message) noexcept;
  void resume_soon(wait_ptr w) noexcept override { inbox_.push(std::move(w)); }
  void wake_at(time_point when, wait_ptr w) noexcept override;
  void fork(execution_context& parent, task<void> body,
            boost::intrusive_ptr<fork_join> join) override;
  void give_up(execution_context& at) noexcept override;
  void nest(call& parent, detail::program_ptr table, write_list input,
            completer<detail::nested_outcome> done);
  [[nodiscard]] time_point now() const noexcept override { return host_.now(); }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] bool is_of(const detail::engine_core& core) const noexcept {
    return &core_ == &core;
  }
  /// The weak pointer to the engine that the run_handles of this lane's runs share. Each lane has
  /// its own, because one reference count for all lanes would be contended.
  using anchor_ptr = std::shared_ptr<const std::weak_ptr<detail::engine_core>>;
  /// The actor system of the engine.
  [[nodiscard]] caf::actor_system& actor_system() const noexcept;
  void set_anchor(anchor_ptr a) noexcept { anchor_ = std::move(a); }
  [[nodiscard]] const anchor_ptr& anchor() const noexcept { return anchor_; }
  /// Makes the lane end all runs and refuse further ones; serve() then returns. A lane whose thread
  /// is inside user code stops when that code returns.
  void stop() noexcept { inbox_.interrupt(); }
  /// Refuses the messages in the inbox and all later ones.
  void close() noexcept { inbox_.close(*this); }
  /// Completes a run that can no longer start, with the error graph_errc::cancelled.
  void refuse_run(run_request&& request) noexcept;

  // Called by the thread that serves the lane.
  void serve(worker& by, bool took_over);
  /// The driver of the lane's coordinator. Other threads call load(), expect_run() and is_saving()
  /// only.
  [[nodiscard]] lane_host& host() noexcept { return host_; }
  /// The runs of the lane.
  [[nodiscard]] run_coordinator& runs() noexcept { return runs_; }
  /// The runs that the lane gives to other lanes, or gets from them.
  [[nodiscard]] run_sharing& sharing() noexcept { return sharing_; }
  void begin_run(std::uint64_t number, run_request&& request) noexcept;
  void actor_died(const actor_assignment& t) noexcept;
  /// Releases the objects of an ended run that the in-place record still holds. The record normally
  /// keeps them, because the next task of the same run needs them again.
  void forget_run(const run& r) noexcept;
  /// Whether choose_lane() should compare the loads of all lanes for this run: true for one in 64
  /// calls.
  [[nodiscard]] bool is_time_to_compare() noexcept { return ++chosen_ % 64 == 0; }
  /// Returns the program with a reference count that only this lane changes. Runs that are started
  /// from this lane then do not contend for the program's own count. The copy is released when the
  /// lane next sleeps.
  [[nodiscard]] detail::program_ptr pin(const detail::program_ptr& table);

  /// The data that the lane shares with the watcher.
  [[nodiscard]] body_guard& guard() noexcept { return guard_; }

  /// Releases all actors, because they must not outlive the actor system, and all waits, because
  /// they keep the lane alive. Called after the last serve().
  void let_go() noexcept;

  /// From this value of node_entry::slowness a node's bodies run as jobs instead of in place. A
  /// node reaches it after two take-overs of the lane or two hints of the watcher that bodies are
  /// long. Each short body lowers the value by 1.
  static constexpr int slow_node = 8;

  /// The lane that this thread serves; new runs prefer it. Null in other threads, and while a body
  /// runs, because the lane may then be taken over.
  static thread_local lane* current;

private:
  friend class lane_inspector;

  // Defined in lane.cpp: the loop.
  void handle_inbox();
  void add_sleeper(wait_ptr&& w) noexcept;
  void fire_timers();
  void sleep();
  [[nodiscard]] kept turn();
  void adopt_interrupted();

  // Defined in lane_bodies.cpp.
  [[nodiscard]] kept drive(run& r);
  [[nodiscard]] kept start_task(run& r, std::uint32_t number);
  [[nodiscard]] kept run_in_place(run& r, lane_call& c);
  void start_job(run& r, std::uint32_t number) noexcept;
  [[nodiscard]] kept start(call& c);
  [[nodiscard]] kept resume(call& c);
  [[nodiscard]] kept after_body(call& c, int change);
  [[nodiscard]] kept guarded(call& c, std::coroutine_handle<> frame) noexcept;

  detail::engine_core& core_;
  const engine_options& options_;
  const std::uint32_t index_;
  lane_host host_;
  run_coordinator runs_{host_};
  run_sharing sharing_;
  sleepers sleepers_;
  call* in_place_ = nullptr; // the record that all bodies run in place share
  call* running_ = nullptr;  // the call whose body the guard protects
  std::vector<detail::program_ptr> pinned_;
  std::uint32_t chosen_ = 0;

  // The following members are shared with other threads and therefore on their own cache lines.

  alignas(64) body_guard guard_;
  lane_inbox inbox_;
  alignas(64) anchor_ptr anchor_;
};

/// Notifies a lane that one of its actors has died. Callable from any thread.
void post_death(lane& to, const actor_assignment& t) noexcept;

} // namespace superstep
