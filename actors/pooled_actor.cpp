// SPDX-License-Identifier: Apache-2.0
// The CAF actor of a run (its coordinator), a node or a tool call. A lane acquires the actor before
// it runs a body in place and releases it afterwards (lane_bodies.cpp). CAF's scheduler runs the
// actor only to handle messages. cleanup() reports the actor's death to the lane
// (lane::actor_died).
#include "pooled_actor.hpp"

#include "call.hpp"
#include "inbox.hpp"
#include "lane.hpp"
#include "run_mail.hpp"
#include "simulation.hpp"

#include <caf/actor_config.hpp>
#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/detail/sync_request_bouncer.hpp>
#include <caf/make_actor.hpp>
#include <caf/make_message.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#include <caf/sec.hpp>

namespace superstep {

/// The content of a message that activates an actor for a call. The call's record exists until the
/// actor has answered.
struct activation {
  call* of = nullptr;
};

} // namespace superstep

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(superstep::activation)

namespace superstep {

namespace {

constexpr auto messages_per_turn = std::size_t{16};

/// Returns the call that a message activates; null for other messages.
call* activated_call(const caf::mailbox_element& message) {
  const auto& content = message.content();
  return content.match_elements<activation>() ? content.get_as<activation>(0).of : nullptr;
}

/// Answers a request that the actor does not handle.
/// @param is_assigned whether the actor works for a run; otherwise the run has just ended
void refuse(const caf::mailbox_element& message, bool is_assigned) {
  const auto why = is_assigned ? caf::sec::unexpected_message : caf::sec::request_receiver_down;
  if (message.mid.is_request() && message.sender)
    message.sender->enqueue(nullptr, message.mid.response_id(), caf::make_message(make_error(why)),
                            nullptr);
}

} // namespace

pooled_actor::pooled_actor(caf::actor_config& config) : caf::monitorable_actor{config} {
  inbox_.try_block();
}

void pooled_actor::enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) {
  const auto id = what->mid;
  const auto sender = what->sender;
  if (!push(std::move(what)) && id.is_request()) {
    auto bounce_it = caf::detail::sync_request_bouncer{caf::exit_reason::unreachable};
    bounce_it(sender, id);
  }
}

/// Adds a message to the mailbox and schedules the actor if it was idle. Returns false if the
/// mailbox is closed.
bool pooled_actor::push(caf::mailbox_element_ptr message) {
  switch (inbox_.push_front(std::move(message))) {
  case caf::intrusive::inbox_result::success:
    return true;
  case caf::intrusive::inbox_result::unblocked_reader:
    // The actor is always scheduled by CAF and never run by the sender's thread, because a lane
    // must not handle messages of other actors.
    caf::intrusive_ptr_add_ref(ctrl());
    home_system().scheduler().enqueue(this);
    return true;
  case caf::intrusive::inbox_result::queue_closed:
    break;
  }
  return false;
}

pooled_actor::resume_result pooled_actor::resume(caf::execution_unit* host,
                                                 std::size_t throughput) {
  for (auto handled = std::size_t{0};;) {
    if (inbox_.closed())
      return done;
    auto* head = std::exchange(rest_, nullptr);
    if (head == nullptr)
      head = oldest_first(inbox_.take_head());
    if (head == nullptr) {
      if (inbox_.try_block()) {
        end_if_retired();
        return awaiting_message;
      }
      continue;
    }
    while (head != nullptr) {
      auto* const next = static_cast<caf::mailbox_element*>(head->next);
      auto message = caf::mailbox_element_ptr{head};
      head = next;
      if (is_dead()) {
        turn_away(std::move(message));
        continue;
      }
      if (auto* const c = activated_call(*message)) {
        rest_ = head;
        c->progress = body_progress::activated;
        c->return_to_lane(); // from now on, the lane may run the actor
        return awaiting_message;
      }
      if (!handle_system_message(*message, host, false) && !pass_to_run(assignment, message))
        refuse(*message, assignment.lane != nullptr);
      ++handled;
    }
    if (is_dead())
      return done;
    if (handled >= throughput)
      return resume_later;
  }
}

/// Answers a message to an actor that has died.
void pooled_actor::turn_away(caf::mailbox_element_ptr message) {
  if (auto* const c = activated_call(*message))
    c->return_to_lane();
  else
    bounce(message);
}

bool pooled_actor::activate(superstep::call& c) {
  return push(caf::make_mailbox_element(nullptr, caf::make_message_id(), {}, activation{&c}));
}

void pooled_actor::release() {
  if (rest_ == nullptr && inbox_.try_block())
    return;
  // Messages arrived while the lane had the actor, and are handled now. The additional reference
  // keeps the actor alive until the scheduler has run it, if it needs another turn.
  caf::intrusive_ptr_add_ref(ctrl());
  if (resume(nullptr, messages_per_turn) == resume_later)
    home_system().scheduler().enqueue(this);
  else
    caf::intrusive_ptr_release(ctrl());
}

void pooled_actor::retire() noexcept {
  retires_.store(true, std::memory_order_seq_cst);
  end_if_retired();
}

/// Ends the actor if its lane has retired it. The lane sets `retires_` before it tries to acquire
/// the actor, and a CAF worker gives the actor free before it reads `retires_`. Therefore at least
/// one of them finds that both has happened, and at most one acquires the actor.
void pooled_actor::end_if_retired() noexcept {
  if (retires_.load(std::memory_order_seq_cst) && inbox_.try_unblock())
    cleanup(make_error(caf::exit_reason::normal), nullptr);
}

bool pooled_actor::is_ours_alone(std::size_t handles) const noexcept {
  return !is_dead() && ctrl()->strong_refs == handles && ctrl()->weak_refs == 1 &&
         attachables_head_ == nullptr;
}

bool pooled_actor::cleanup(caf::error&& reason, caf::execution_unit* host) {
  if (dead_.exchange(true, std::memory_order_acq_rel))
    return false;
  // The lane is notified before the mailbox closes. Thus, when a thread finds the mailbox closed,
  // the notice is already in the lane's inbox.
  if (assignment.lane != nullptr && !SUPERSTEP_MUTANT(forget_monitor))
    post_death(*assignment.lane, assignment);
  for (auto* head = std::exchange(rest_, nullptr); head != nullptr;) {
    auto* const next = static_cast<caf::mailbox_element*>(head->next);
    turn_away(caf::mailbox_element_ptr{head});
    head = next;
  }
  auto drop = [this](caf::mailbox_element* e) { turn_away(caf::mailbox_element_ptr{e}); };
  inbox_.close(drop);
  return caf::monitorable_actor::cleanup(std::move(reason), host);
}

void pooled_actor::on_destroy() {
  assignment = {};
  cleanup(make_error(caf::exit_reason::unreachable), nullptr);
  caf::monitorable_actor::on_destroy();
}

void pooled_actor::intrusive_ptr_add_ref_impl() {
  caf::intrusive_ptr_add_ref(ctrl());
}
void pooled_actor::intrusive_ptr_release_impl() {
  caf::intrusive_ptr_release(ctrl());
}

pooled_actor_ptr make_pooled_actor(caf::actor_system& system) {
  auto config = caf::actor_config{};
  return caf::make_actor<pooled_actor, caf::strong_actor_ptr>(system.next_actor_id(), system.node(),
                                                              &system, config);
}

} // namespace superstep
