// SPDX-License-Identifier: Apache-2.0
// The loop of a lane (lane.hpp defines the terms): handles messages, ended waits and timers, then
// the first entry of the coordinator's ready queue, and sleeps when there is nothing to do.
#include "lane.hpp"

#include "engine_core.hpp"
#include "simulation.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

thread_local lane* lane::current = nullptr;

namespace {

/// The number of messages, and of requests of bodies, that a lane handles before it runs the next
/// entry of the ready queue. A body may have forked 100,000 calls, with a request for each.
constexpr auto arrivals_per_turn = 256U;

/// The number of timers of runs and calls, and of timers of bodies, that a lane handles before the
/// next entry. 100,000 tasks that started together may exceed their timeout together.
constexpr auto timers_per_turn = 256U;

constexpr auto pinned_max = std::size_t{8};

/// Notifies a lane that one of its actors has died.
class death_notice final : public lane_message {
public:
  explicit death_notice(const actor_assignment& t) : assignment_{t} {}
  void arrive(lane& l) override {
    l.actor_died(assignment_);
    delete this;
  }
  void refuse(lane&) noexcept override { delete this; }

private:
  actor_assignment assignment_;
};

/// Asks a lane to start a call that a body has forked.
class fork_request final : public lane_message {
public:
  fork_request(call& parent, task<void> body, boost::intrusive_ptr<fork_join> join)
      : parent_{parent}, generation_{parent.generation}, body_{std::move(body)},
        join_{std::move(join)} {}
  void arrive(lane& l) override {
    l.runs().tasks().begin_fork(parent_, generation_, std::move(body_), std::move(join_));
    delete this;
  }
  void refuse(lane&) noexcept override { delete this; }

private:
  call& parent_;
  std::uint32_t generation_;
  task<void> body_;
  boost::intrusive_ptr<fork_join> join_;
};

/// Asks a lane to start a nested run for a body.
class nest_request final : public lane_message {
public:
  nest_request(call& parent, detail::program_ptr table, write_list input,
               completer<detail::nested_outcome> done)
      : parent_{parent}, generation_{parent.generation}, table_{std::move(table)},
        input_{std::move(input)}, done_{std::move(done)} {}
  void arrive(lane& l) override {
    l.runs().tasks().begin_nested(parent_, generation_, std::move(table_), std::move(input_),
                                  done_);
    delete this;
  }
  void refuse(lane&) noexcept override { delete this; }

private:
  call& parent_;
  std::uint32_t generation_;
  detail::program_ptr table_;
  write_list input_;
  completer<detail::nested_outcome> done_;
};

} // namespace

caf::actor_system& lane::actor_system() const noexcept {
  return core_.system();
}

lane::lane(detail::engine_core& core, std::uint32_t index)
    : core_{core}, options_{core.options()}, index_{index}, host_{core, *this},
      sharing_{core, *this, host_, inbox_} {
  in_place_ = &runs_.calls().take();
}

void lane::let_go() noexcept {
  close();
  // A wait keeps its lane alive, so a wait whose timer never fires would keep it forever.
  sleepers_.clear();
  inbox_.close_waits(); // waits that end later are dropped
  runs_.let_go();
  host_.clear();
}

void lane::post(lane_message* m, lane_inbox::kind of) noexcept {
  if (!inbox_.push(m, of))
    m->refuse(*this);
}

void post_death(lane& to, const actor_assignment& t) noexcept {
  // Without memory the process ends: a run whose actor has died unnoticed would wait forever.
  to.post(new death_notice{t}); // NOLINT(bugprone-unhandled-exception-at-new)
}

void lane::wake_at(time_point when, wait_ptr w) noexcept {
  // The caller is a body, and its lane may be taken over at any moment. Therefore it must not
  // change the lane's timers. The wait goes through the inbox, and handle_inbox() sets the timer
  // for the time in `due`. Zero means that the wait has no timer.
  w->due = std::max(when, time_point{time_point::duration{1}});
  inbox_.push(std::move(w));
}

void lane::fork(execution_context& parent, task<void> body, boost::intrusive_ptr<fork_join> join) {
  post(new fork_request{*static_cast<call*>(parent.owner), std::move(body), std::move(join)},
       lane_inbox::kind::request);
}

void lane::nest(call& parent, detail::program_ptr table, write_list input,
                completer<detail::nested_outcome> done) {
  post(new nest_request{parent, std::move(table), std::move(input), std::move(done)},
       lane_inbox::kind::request);
}

void lane::give_up(execution_context& at) noexcept {
  static_cast<call*>(at.owner)->progress = body_progress::giving_up;
}

detail::program_ptr lane::pin(const detail::program_ptr& table) {
  for (const auto& p : pinned_) {
    if (p == table)
      return p;
  }
  if (pinned_.size() == pinned_max)
    pinned_.erase(pinned_.begin());
  auto own = std::allocate_shared<const detail::program_ptr>(
      cache_line_allocator<detail::program_ptr>{}, table);
  return pinned_.emplace_back(own, table.get());
}

void lane::refuse_run(run_request&& request) noexcept {
  host_.count_end();
  if (request.done)
    core_.threads().refuse(std::move(request));
}

void lane::begin_run(std::uint64_t number, run_request&& request) noexcept {
  if (inbox_.is_interrupted())
    refuse_run(std::move(request));
  else
    runs_.begin_run(number, std::move(request));
}

void lane::actor_died(const actor_assignment& t) noexcept {
  auto& r = *t.run;
  if (!r.is_live() || r.generation != t.run_generation)
    return;
  if (t.call != nullptr && t.call->generation == t.call_generation && t.call->owner == &r) {
    runs_.tasks().call_exited(*t.call);
    return;
  }
  if (t.kind == actor_kind::coordinator) {
    runs_.run_exited(r);
    return;
  }
  // No call was using the actor. Only the death of a node's idle actor ends the run. The actor of a
  // tool has no later call, so its death has no effect. If the actor of a node died during a call,
  // that call has failed already and has cleared the slot in node_actors.
  if (t.kind != actor_kind::node)
    return;
  const auto& own = on_lane(r).node_actors[t.node];
  if (own && pooled_actor_of(own).is_dead())
    runs_.node_exited(r, t.node);
}

void lane::forget_run(const run& r) noexcept {
  if (in_place_->config == r.request.config) {
    in_place_->input.table = nullptr;
    in_place_->detach_observers();
    in_place_->config.reset();
  }
}

void lane::serve(worker& by, bool took_over) {
  guard_.set_server(by, by.clock());
  current = this;
  if (took_over)
    adopt_interrupted();
  for (;;) {
    SUPERSTEP_YIELD();
    handle_inbox();
    if (inbox_.is_interrupted()) {
      runs_.shut_down();
      close();
      current = nullptr;
      return;
    }
    if (!runs_.ready().empty()) {
      if (turn() == kept::no) {
        current = nullptr;
        return;
      }
    } else if (!inbox_.has_more()) {
      sleep();
    }
  }
}

void lane::sleep() {
  pinned_.clear();
  sharing_.stop();
  inbox_.sleep(std::min(sleepers_.earliest(), runs_.timers().earliest()));
  core_.watch();
}

void lane::handle_inbox() {
  inbox_.handle_messages(*this, arrivals_per_turn);
  for (auto* w = inbox_.take_waits(); w != nullptr;) {
    auto* const following = w->next;
    auto owned = wait_ptr{w, false};
    if (w->resumable())
      runs_.calls().wait_ended(std::move(owned));
    else if (w->due != time_point{} && !w->abandoned())
      add_sleeper(std::move(owned));
    w = following;
  }
  if (!sleepers_.empty() || !runs_.timers().empty())
    fire_timers();
}

/// Sets the timer of a suspended body. Without memory for it, the body's run ends. The body of an
/// abandoned call, which has no run, needs no timer: it is destroyed when it has returned.
void lane::add_sleeper(wait_ptr&& w) noexcept {
  if (auto* const r = static_cast<call*>(w->owner())->owner; r != nullptr)
    runs_.guard(*r, "the timer of a body", [&] { sleepers_.add(w->due, std::move(w)); });
}

void lane::fire_timers() {
  const auto time = now();
  runs_.fire_timers(time, timers_per_turn);
  for (auto left = timers_per_turn; left > 0; --left) {
    auto woken = sleepers_.pop_due(time);
    if (!woken)
      return;
    // This is the lane's thread, so the wait is ended directly instead of through the inbox.
    woken->due = {};
    if (woken->end_in_place())
      runs_.calls().wait_ended(std::move(woken));
  }
}

/// Handles the first entry of the ready queue.
lane::kept lane::turn() {
  auto& first = runs_.ready().pop_front();
  switch (first.kind()) {
  case ready_kind::drive:
    return drive(*static_cast<run*>(first.owner()));
  case ready_kind::start_fork:
    return start(runs_.calls().next_fork(*static_cast<run*>(first.owner())));
  case ready_kind::start_call:
    return start(*static_cast<call*>(first.owner()));
  case ready_kind::resume:
    return resume(*static_cast<call*>(first.owner()));
  }
  SUPERSTEP_ASSERT(false);
  return kept::yes;
}

} // namespace superstep
