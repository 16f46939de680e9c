// SPDX-License-Identifier: Apache-2.0
// The records of calls. phases.hpp lists the phases of a call and their transitions.
#include "call_table.hpp"

#include "sibling_list.hpp"
#include "simulation.hpp"

#include <utility>

namespace superstep {

namespace {

call*& next_fork(call& c) noexcept {
  return c.own_extras()->next_fork;
}
call*& prev_fork(call& c) noexcept {
  return c.own_extras()->prev_fork;
}
/// The list of the unfinished calls that a body has forked.
using fork_list = sibling_list<call, &next_fork, &prev_fork>;

void count_offloaded(run& r, bool is_offloaded, ready_queue& ready) noexcept {
  if (is_offloaded) {
    ++r.offloaded;
    return;
  }
  SUPERSTEP_ASSERT(r.offloaded > 0);
  --r.offloaded;
  if (r.phase == run_phase::settling) // the failed run checks again whether it waits
    ready.push_back(r.group(), r.turn);
}

} // namespace

call& call_table::take() {
  auto& c = take_record();
  if (!c.out)
    c.out = std::move(spare_);
  return c;
}

call& call_table::take_record() {
  auto& c = records_.take([this] { return host_.make_call(); });
  SUPERSTEP_ASSERT(c.phase == call_phase::idle && c.owner == nullptr && c.extras().users == 0);
  return c;
}

void call_table::free(call& c) noexcept {
  SUPERSTEP_ASSERT(!c.extras().limit_timer.is_set() && !c.turn.is_listed());
  SUPERSTEP_ASSERT(c.extras().first_child == nullptr);
  SUPERSTEP_ASSERT(c.extras().next_fork == nullptr && c.extras().prev_fork == nullptr);
  ++c.generation; // shows forked calls that their parent's call has ended
  for (auto* f = c.take(&call_extras::first_fork); f != nullptr;) {
    auto* const following = std::exchange(f->more().next_fork, nullptr);
    f->more().prev_fork = nullptr;
    f = following;
  }
  c.drop_body();
  c.owner = nullptr;
  if (c.extras().users > 0)
    transition(c, call_phase::lingering);
  else
    recycle(c);
}

void call_table::put_back(call& c) noexcept {
  transition(c, call_phase::waiting); // an idle record is in the list of free ones
  free(c);
}

void call_table::recycle(call& c) noexcept {
  c.detach_observers();
  c.progress = body_progress::active;
  c.has_requested_nest.store(false, std::memory_order_relaxed);
  c.nested = 0;
  c.input.table = nullptr;
  c.config.reset();
  c.table.reset();
  c.state_hold.reset();
  c.inputs_hold.reset();
  c.forget_stop();
  c.turn.set_kind(ready_kind::resume);
  c.claimed.store(false, std::memory_order_relaxed);
  transition(c, call_phase::idle);
  records_.put_back(c);
  auto* const parent = c.take(&call_extras::parent);
  if (parent == nullptr)
    return;
  SUPERSTEP_ASSERT(parent->extras().users > 0);
  if (--parent->more().users == 0 && parent->phase == call_phase::lingering)
    recycle(*parent);
}

void call_table::move(call& c, call_phase to) noexcept {
  const auto was_offloaded = c.is_offloaded();
  transition(c, to);
  if (was_offloaded != c.is_offloaded() && c.owner != nullptr) {
    count_offloaded(*c.owner, !was_offloaded, ready_);
    each_above(*c.owner,
               [&](const nested_in& at) { count_offloaded(*at.above, !was_offloaded, ready_); });
  }
  if (c.owner == nullptr || (to != call_phase::suspended && to != call_phase::job))
    return;
  if (!c.waits.is_empty())
    ready_.push_back(c.owner->group(), c.turn);
  else if (!c.has_ended())
    wait_for_body(c);
}

/// Releases what a run does not need while a body waits. The next call gets the outcome.
void call_table::wait_for_body(call& c) noexcept {
  auto& r = *c.owner;
  if (c.phase == call_phase::suspended && c.out != nullptr) {
    SUPERSTEP_ASSERT(c.out->output.is_empty() && !c.out->rest);
    if (!spare_)
      spare_ = std::move(c.out);
    c.out.reset();
  }
  if (r.open.size() == 1 && c.extras().barrier == nullptr) {
    r.step.trim();
    r.state.trim();
  }
  host_.suspended(c);
}

void call_table::detach(run& r, call& c, call_phase to) {
  SUPERSTEP_ASSERT(!c.is_detached() && c.owner == &r);
  c.open_index = static_cast<std::uint32_t>(r.open.size());
  r.open.push_back(&c);
  if (c.extras().parent == nullptr)
    ++r.detached_tasks;
  // The record now owns what the body may still use if the run continues without it.
  c.table = r.state.table_ptr();
  c.state_hold = r.state.state();
  c.inputs_hold = r.step.inputs;
  move(c, to);
}

void call_table::drop(call& c) noexcept {
  SUPERSTEP_ASSERT(c.is_detached() && c.owner != nullptr);
  auto& open = c.owner->open;
  SUPERSTEP_ASSERT(c.open_index < open.size() && open[c.open_index] == &c);
  open[c.open_index] = open.back();
  open[c.open_index]->open_index = c.open_index;
  open.pop_back();
  auto* const parent = c.extras().parent;
  SUPERSTEP_ASSERT(parent != nullptr || c.owner->detached_tasks > 0);
  if (parent == nullptr)
    --c.owner->detached_tasks;
  else
    fork_list::unlink(parent->more().first_fork, c);
  if (auto* const own = c.own_extras())
    timers_.clear(own->limit_timer);
  auto& group = c.owner->group();
  ready_queue::remove(group, c.turn);
  if (auto* const own = c.owner->own_extras.get();
      own != nullptr && own->starts.empty() && !SUPERSTEP_MUTANT(start_after_end))
    ready_queue::remove(group, own->turn_of_forks);
}

/// Prepares the record of a forked call, which is not listed anywhere yet.
void call_table::prepare_fork(call& parent, call& c, task<void>&& body,
                              boost::intrusive_ptr<fork_join>&& join) {
  auto& of_parent = parent.more();
  auto& extras = c.more();
  c.owner = parent.owner;
  c.task_number = parent.task_number;
  c.config = parent.owner->request.config;
  constexpr auto streams = static_cast<unsigned>(call_trait::streams_custom) |
                           static_cast<unsigned>(call_trait::streams_messages);
  c.traits = static_cast<std::uint8_t>(parent.traits & streams);
  c.set(call_trait::has_observers);
  c.set(call_trait::is_forked);
  extras.sink = of_parent.sink;
  extras.unusual = of_parent.unusual;
  extras.below = of_parent.below;
  c.input = parent.input;
  c.input.config = &c.config;
  if (c.input.unusual != nullptr)
    c.input.unusual = &extras.unusual;
  c.input.services = &c;
  extras.join = std::move(join);
  extras.forked = std::move(body);
  extras.forked.start_in(c.at);
}

void call_table::add_fork(call& parent, task<void>&& body, boost::intrusive_ptr<fork_join>&& join) {
  SUPERSTEP_ASSERT(parent.is_detached() && parent.owner != nullptr);
  auto& r = *parent.owner;
  auto& of_parent = parent.more();
  auto& of_run = r.more();
  auto& c = take_record();
  try {
    prepare_fork(parent, c, std::move(body), std::move(join));
    c.more().parent = &parent; // detach() counts calls without a parent as tasks
    detach(r, c, call_phase::waiting);
  } catch (...) { // memory is short; the caller, who still has the join, ends the run
    if (auto* const own = c.own_extras()) {
      own->parent = nullptr;
      own->join = nullptr;
    }
    put_back(c);
    throw;
  }
  ++of_parent.users;
  fork_list::link(of_parent.first_fork, c);
  host_.acquire(c); // if this throws, the end of the run abandons the call like any other
  c.turn.set_kind(ready_kind::start_call);
  of_run.starts.push_back(c.turn);
  ready_.push_back(r.group(), of_run.turn_of_forks);
}

call& call_table::next_fork(run& r) noexcept {
  auto& forks = r.more();
  auto& c = *static_cast<call*>(forks.starts.pop_front().owner());
  SUPERSTEP_ASSERT(c.phase == call_phase::waiting && c.owner == &r);
  if (!forks.starts.empty())
    ready_.push_back(r.group(), forks.turn_of_forks);
  return c;
}

void call_table::wait_ended(wait_ptr&& w) noexcept {
  auto& c = *static_cast<call*>(w->owner());
  // the call was abandoned, and its frame is destroyed when its body returns
  if (c.phase == call_phase::idle || c.phase == call_phase::given_up ||
      c.phase == call_phase::lingering)
    return;
  SUPERSTEP_ASSERT(c.owner != nullptr && c.owner->is_live());
  c.waits.add(std::move(w));
  if (c.phase == call_phase::suspended)
    ready_.push_back(c.owner->group(), c.turn);
}

void call_table::drop_bodies() noexcept {
  for (auto& c : records_.all()) {
    ready_list::remove(c->turn);
    c->drop_body(); // bodies may have suspended after the lane was closed
    host_.release(*c);
    c->leave_run();
  }
}

} // namespace superstep
