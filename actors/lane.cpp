// SPDX-License-Identifier: Apache-2.0
// The loop of a lane (lane.hpp defines the terms): handles messages, ended waits and alarms, then
// the first entry of the ready queue, and sleeps when there is nothing to do. guarded() runs a body
// so that the watcher can give the lane to another thread meanwhile. That thread continues in
// adopt_interrupted(). The other lane_*.cpp files contain what the loop calls.
#include "lane.hpp"

#include "engine_core.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

thread_local lane* lane::current = nullptr;

namespace {

/// The number of messages that a lane handles before it runs the next entry of the ready queue. A
/// body may have forked 100,000 calls, with a message for each.
constexpr auto arrivals_per_turn = 256U;

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
    l.begin_fork(parent_, generation_, std::move(body_), std::move(join_));
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
    l.begin_nested(parent_, generation_, std::move(table_), std::move(input_), std::move(done_));
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

lane::lane(detail::engine_core& core, std::uint32_t index)
    : core_{core}, options_{core.options()}, index_{index} {
  in_place_ = &take_call();
}

lane::~lane() {
  drop_waits(waits_.close());
}

void lane::drop_waits(wait* first) noexcept {
  for (auto* w = first; w != nullptr;) { // these waits ended after the lane was last served
    auto* const following = w->next;
    wait_ptr{w, false}.reset();
    w = following;
  }
}

void lane::let_go() noexcept {
  close();
  // A wait keeps its lane alive, so a wait whose alarm never fires would keep it forever.
  alarms_.clear();
  ready_.clear();
  drop_waits(waits_.close()); // resume_soon() drops waits that end later
  // Others may have handles to actors. These end now, because they refer to the lane.
  const auto drop = [](const pooled_actor_ptr& s) {
    if (s)
      pooled_actor_of(s).retire();
  };
  free_actors_.clear();
  for (auto& c : calls_) {
    c->drop_body(); // bodies may have suspended after the lane was closed
    drop(c->leave_run());
  }
  for (auto& r : runs_) {
    drop(std::exchange(r->coordinator, nullptr));
    for (const auto& s : r->node_actors)
      drop(s);
    r->node_actors.clear();
  }
}

void lane::post(lane_message* m) noexcept {
  if (messages_.push(m))
    wake();
  else
    m->refuse(*this);
}

void lane::close() noexcept {
  auto* const arrived = arrived_.exchange(nullptr, std::memory_order_acq_rel);
  for (auto* list : {arrived, messages_.close()})
    for (auto* m = list; m != nullptr;) {
      auto* const following = m->next;
      m->refuse(*this);
      m = following;
    }
}

void lane::post_death(const actor_assignment& t) noexcept {
  post(new death_notice{t});
}

void lane::resume_soon(wait_ptr w) noexcept {
  auto* const ended = w.detach();
  if (waits_.push(ended))
    wake();
  else
    wait_ptr{ended, false}.reset();
}

void lane::wake_at(time_point when, wait_ptr w) noexcept {
  // The caller is a body, and its lane may be taken over at any moment. Therefore it must not
  // change the lane's alarms. The wait goes through the inbox, and drain() sets the alarm for the
  // time in `due`.
  w->due = when;
  resume_soon(std::move(w));
}

void lane::fork(execution_context& parent, task<void> body, boost::intrusive_ptr<fork_join> join) {
  post(new fork_request{*static_cast<call*>(parent.owner), std::move(body), std::move(join)});
}

void lane::nest(call& parent, detail::program_ptr table, write_list input,
                completer<detail::nested_outcome> done) {
  post(new nest_request{parent, std::move(table), std::move(input), std::move(done)});
}

void lane::give_up(execution_context& at) noexcept {
  static_cast<call*>(at.owner)->gave_up = true;
}

void lane::wake() noexcept {
  if (!asleep_.load(std::memory_order_seq_cst))
    return;
  {
    const auto lock = std::scoped_lock{sleep_mutex_};
    asleep_.store(false, std::memory_order_seq_cst);
  }
  woken_.notify_one();
}

void lane::serve(worker& by, bool took_over) {
  server_.store(&by, std::memory_order_release);
  current = this;
  if (took_over)
    adopt_interrupted();
  for (;;) {
    drain();
    if (!ready_.empty()) {
      if (turn() == kept::no) {
        current = nullptr;
        return;
      }
    } else if (arrived_.load(std::memory_order_relaxed) != nullptr) {
      continue;
    } else if (stopping_ && live_.empty()) {
      close();
      current = nullptr;
      return;
    } else {
      sleep();
    }
  }
}

void lane::sleep() {
  pinned_.clear();
  auto lock = std::unique_lock{sleep_mutex_};
  asleep_.store(true, std::memory_order_seq_cst);
  // Another thread may have pushed an item before it could see `asleep_`, and then does not wake
  // this thread. The check below sees that item.
  if (messages_.empty() && waits_.empty()) {
    const auto up = [this] { return !asleep_.load(std::memory_order_relaxed); };
    if (alarms_.empty())
      woken_.wait(lock, up);
    else
      woken_.wait_until(lock, alarms_.front().due, up);
  }
  asleep_.store(false, std::memory_order_seq_cst);
  lock.unlock();
  core_.watch();
}

void lane::drain() {
  auto* m = arrived_.load(std::memory_order_relaxed) != nullptr
                ? arrived_.exchange(nullptr, std::memory_order_relaxed)
                : messages_.take_all();
  for (auto left = arrivals_per_turn; m != nullptr && left > 0; --left) {
    auto* const following = m->next;
    m->arrive(*this);
    m = following;
  }
  if (m != nullptr)
    arrived_.store(m, std::memory_order_relaxed);
  for (auto* w = waits_.take_all(); w != nullptr;) {
    auto* const following = w->next;
    auto owned = wait_ptr{w, false};
    if (w->resumable()) {
      ready_.push_back({nullptr, nullptr, std::move(owned), 0});
    } else if (w->due != time_point{} && !w->abandoned()) {
      auto alarm_at = alarm{};
      alarm_at.due = w->due;
      alarm_at.sleeper = std::move(owned);
      set_alarm(std::move(alarm_at));
    }
    w = following;
  }
  if (!alarms_.empty())
    fire_alarms();
}

void lane::fire_alarms() {
  const auto time = now();
  while (!alarms_.empty() && alarms_.front().due <= time) {
    std::pop_heap(alarms_.begin(), alarms_.end());
    auto due = std::move(alarms_.back());
    alarms_.pop_back();
    if (due.kind == alarm_kind::sleeper) {
      // This is the lane's thread, so the wait is ended directly instead of through the inbox.
      due.sleeper->due = {};
      if (due.sleeper->end_in_place())
        ready_.push_back({nullptr, nullptr, std::move(due.sleeper), 0});
    } else if (due.kind == alarm_kind::call_time) {
      if (due.timed->generation == due.generation)
        look_at_time(*due.timed);
    } else if (due.whose->generation == due.generation) {
      fire(due, *due.whose);
    }
  }
}

/// Handles an alarm of a run.
/// @pre the alarm is not stale: it was set for the current run of the record `r`
void lane::fire(const alarm& due, run& r) {
  switch (due.kind) {
  case alarm_kind::retry:
    retry_due(r, due.task);
    return;
  case alarm_kind::patience:
    end_early(r);
    return;
  case alarm_kind::step_limit:
    if (r.state.step() == due.step)
      step_took_too_long(r);
    return;
  case alarm_kind::deadline:
    end_run(r, make_run_error(graph_errc::deadline,
                              "the deadline of " +
                                  std::to_string(r.request.config->deadline->count()) +
                                  " ms passed in step " + std::to_string(r.state.step()),
                              r.state.step()));
    return;
  case alarm_kind::sleeper:
  case alarm_kind::call_time:
    break; // handled by fire_alarms()
  }
  SUPERSTEP_ASSERT(false);
}

/// Whether an alarm is stale: the wait, call, step or run that it was set for has ended.
bool lane::is_stale(const alarm& at) noexcept {
  switch (at.kind) {
  case alarm_kind::sleeper:
    return at.sleeper->abandoned();
  case alarm_kind::call_time:
    return at.timed->generation != at.generation || !at.timed->is_detached;
  case alarm_kind::step_limit:
    return at.whose->generation != at.generation || at.whose->state.step() != at.step;
  case alarm_kind::deadline:
  case alarm_kind::retry:
  case alarm_kind::patience:
    break;
  }
  return at.whose->generation != at.generation;
}

void lane::set_alarm(alarm&& at) {
  // Most work ends long before its timeouts, so most alarms become stale. They are removed when the
  // heap has doubled since the last removal. The cost per alarm is therefore constant.
  if (alarms_.size() >= sweep_at_) {
    std::erase_if(alarms_, is_stale);
    std::make_heap(alarms_.begin(), alarms_.end());
    sweep_at_ = std::max(2 * alarms_.size(), sweep_min);
  }
  alarms_.push_back(std::move(at));
  std::push_heap(alarms_.begin(), alarms_.end());
}

void lane::set_alarm(alarm_kind kind, time_point due, run& r, std::uint32_t task) {
  auto at = alarm{};
  at.due = due;
  at.kind = kind;
  at.whose = &r;
  at.generation = r.generation;
  at.task = task;
  at.step = r.state.step();
  set_alarm(std::move(at));
}

void lane::set_alarm(time_point due, call& c) {
  auto at = alarm{};
  at.due = due;
  at.kind = alarm_kind::call_time;
  at.timed = &c;
  at.generation = c.generation;
  set_alarm(std::move(at));
}

/// Handles the first entry of the ready queue. The entry is moved into members first, because no
/// frame between serve() and a body may own anything.
lane::kept lane::turn() {
  auto& first = ready_.front();
  auto* const to_drive = first.to_drive;
  auto* const to_start = first.to_start;
  const auto generation = first.generation;
  const auto starts_fork = first.starts_fork;
  resuming_ = std::move(first.to_resume);
  ready_.pop_front();
  if (to_drive != nullptr) {
    // the run has ended, and another run may use its record
    if (to_drive->generation != generation)
      return kept::yes;
    if (starts_fork)
      return start_next_fork(*to_drive);
    to_drive->queued = false;
    return drive(*to_drive);
  }
  if (to_start != nullptr)
    return start_fork(*to_start);
  return resume(std::move(resuming_));
}

/// Starts or resumes a body while the guard is set. The guard is an odd number while the body runs.
/// To take the lane, the watcher changes it to 0. In that case the function returns kept::no, and
/// the caller must return without touching the lane.
lane::kept lane::guarded(call& c, std::coroutine_handle<> frame) noexcept {
  running_ = &c;
  const auto ticket = (++sequence_ << 1) | 1;
  guard_.store(ticket, std::memory_order_release);
  current = nullptr; // the body may start runs, and must not choose a lane that may be taken over
  c.advance(frame);
  auto expected = ticket;
  if (guard_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) {
    current = this;
    return kept::yes;
  }
  c.return_to_lane(); // another thread serves the lane now, so this one only posts the call to it
  return kept::no;
}

/// Called first by a thread that has taken over the lane: detaches the call whose body the old
/// thread is still running, so that the run can continue with its next task.
void lane::adopt_interrupted() {
  auto& c = *running_;
  auto& r = *c.owner;
  c.state = call_state::running;
  learn(c, slow_node / 2);
  if (!c.is_detached) {
    detach(r, c);
    in_place_ = &take_call();
  }
  on_offloaded(c);
  // The actor was acquired for the body. It is released although the body has not returned, so that
  // exits and messages reach it.
  if (c.actor)
    pooled_actor_of(c.actor).release();
  queue_first(r);
}

} // namespace superstep
