// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/debug.hpp>

#include <caf/actor_control_block.hpp>
#include <caf/actor_system.hpp>
#include <caf/intrusive/lifo_inbox.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/monitorable_actor.hpp>
#include <caf/resumable.hpp>

#include <atomic>
#include <cstdint>

namespace superstep {

class lane;
struct run;
struct call;

/// The assignment of an actor: the run, node and call that it works for. Changed only by its lane,
/// while the lane has acquired the actor or no other thread can reach it. Read by the thread that
/// runs the actor. After a call has ended it may stay unchanged, because the generations then
/// differ.
struct actor_assignment {
  actor_kind kind = actor_kind::tool;
  superstep::lane* lane = nullptr;
  superstep::run* run = nullptr;
  superstep::call* call = nullptr; ///< the latest call; null for a coordinator
  std::uint32_t run_generation = 0;
  std::uint32_t call_generation = 0;
  std::uint32_t node = 0;
};

/// The actor of a coordinator, a node or a tool call: addressable, with a mailbox, killable,
/// monitorable.
///
/// A lane runs an idle actor's body in place. The mailbox of an idle CAF actor is "blocked".
/// Changing it to "empty" (one compare-and-swap) prevents that the scheduler runs the actor, while
/// messages still queue up. release() handles messages that arrived meanwhile. An activation in
/// place is therefore a delivery like any other, at 12 ns instead of 700 ns.
///
/// A class of its own instead of event_based_actor, because it has a fifth of the size and a
/// seventh of the creation cost. Exits and monitors work; requests are answered with "unexpected
/// message". It occupies whole cache lines, so that actors of two lanes never share one.
class alignas(CAF_CACHE_LINE_SIZE) pooled_actor : public caf::monitorable_actor,
                                                  public caf::resumable {
public:
  struct inbox_policy {
    using mapped_type = caf::mailbox_element;
    using unique_pointer = caf::mailbox_element_ptr;
  };

  explicit pooled_actor(caf::actor_config& config);

  /// Called by its lane: acquires the actor if it is idle. Returns false if it is handling a
  /// message or is dead.
  [[nodiscard]] bool try_acquire() noexcept { return inbox_.try_unblock(); }
  /// Releases the actor, and handles messages that arrived meanwhile on this thread. It may be dead
  /// afterwards.
  void release();
  [[nodiscard]] bool is_dead() const noexcept { return dead_.load(std::memory_order_acquire); }
  /// Whether only the lane holds a handle and no monitor or link is left, so that the actor may be
  /// reused.
  [[nodiscard]] bool is_ours_alone() const noexcept;

  actor_assignment assignment;

  // The interface of CAF actors.
  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit* host) override;
  const char* name() const override { return "superstep"; }
  bool cleanup(caf::error&& reason, caf::execution_unit* host) override;
  void on_destroy() override;
  // `unspecified`, because CAF casts a scheduled_actor to that class at shutdown.
  subtype_t subtype() const override { return unspecified; }
  resume_result resume(caf::execution_unit* host, std::size_t throughput) override;
  void intrusive_ptr_add_ref_impl() override;
  void intrusive_ptr_release_impl() override;

private:
  caf::intrusive::lifo_inbox<inbox_policy> inbox_;
  std::atomic<bool> dead_{false};
};

/// A handle to an actor; its reference count keeps the actor alive.
using pooled_actor_ptr = caf::strong_actor_ptr;

[[nodiscard]] pooled_actor_ptr make_pooled_actor(caf::actor_system& system);
[[nodiscard]] inline pooled_actor& pooled_actor_of(const pooled_actor_ptr& p) noexcept {
  return *static_cast<pooled_actor*>(p->get());
}

} // namespace superstep
