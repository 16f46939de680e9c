// SPDX-License-Identifier: Apache-2.0
// How runs start and end, and the events from outside that a coordinator handles (coordinator.hpp).
#include "coordinator.hpp"

#include "base/deadline.hpp"
#include "run_events.hpp"
#include "saved_result.hpp"
#include "sibling_list.hpp"
#include "simulation.hpp"
#include "task_records.hpp"
#include "user_code.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// The list of the live nested runs that a call's body has started.
using child_list = sibling_list<run, &run::next_child, &run::prev_child>;

/// Sets the store, the cache and the traits of a new run.
void find_resources(run& r) noexcept {
  const auto& own = r.table().options();
  if (const auto& below = r.request.below) {
    r.memory = below->memory.get();
    r.cache = below->cache.get();
  } else {
    r.memory = own_resource(r, &thread_options::store, &compile_options::store).get();
    r.cache = own_resource(r, &thread_options::cache, &compile_options::cache).get();
  }
  if (r.cache != nullptr || r.streams(stream_mode::updates) || r.streams(stream_mode::tasks))
    r.set(run_trait::keeps_writes);
  if (r.due != run::time_point::max() || r.table().times_nodes() || own.step_timeout)
    r.set(run_trait::has_limits);
}

std::shared_ptr<superstep::checkpointer> checkpointer_of(const run& r) {
  if (r.request.below)
    return r.request.below->checkpointer;
  return own_resource(r, &thread_options::checkpointer, &compile_options::checkpointer);
}

/// Sets the breakpoints of a new run. Returns the name of an unknown node, or nothing.
std::optional<std::string> set_breakpoints(run& r) {
  const auto& own = r.table().options();
  const auto& set = r.request.config->thread;
  if (!set && own.interrupt_before.empty() && own.interrupt_after.empty())
    return std::nullopt;
  auto& stops = r.more().stops;
  auto unknown = std::optional<std::string>{};
  const auto add = [&](const std::vector<std::string>& names, std::uint8_t bit) {
    if (!names.empty())
      stops.resize(r.table().nodes().size());
    for (const auto& name : names) {
      const auto node = r.table().find(name);
      if (name != "*" && node == detail::program::no_node)
        unknown = name;
      for (auto n = std::uint32_t{0}; n < stops.size(); ++n)
        if (n == node || name == "*")
          stops[n] |= bit;
    }
  };
  const auto is_root = !r.request.below;
  add(is_root && set && set->interrupt_before ? *set->interrupt_before : own.interrupt_before,
      run::stop_before);
  add(is_root && set && set->interrupt_after ? *set->interrupt_after : own.interrupt_after,
      run::stop_after);
  return unknown;
}

/// Whether a task has failed because its nested run could not write to the thread.
bool is_conflict_below(const run_error& error) {
  if (error.code != graph_errc::node_failed || !error.cause)
    return false;
  try {
    std::rethrow_exception(error.cause);
  } catch (const graph_error& e) {
    return e.code() == checkpoint_errc::conflict;
  } catch (...) {
    return false;
  }
}

/// Closes the run's thread. With exit durability, this saves the last checkpoint and its records,
/// if later runs need them. If the thread was taken over, the error is the same whether the run or
/// one of its nested runs has found this out.
void close_thread(run& r, std::optional<run_error>& error) {
  r.thread->close(!error && !r.extras().interrupts,
                  !r.request.below || r.request.below->is_persistent);
  if (!error && r.thread->failure())
    error = make_run_error(r.thread->failure()->code, r.thread->failure()->text);
  if (const auto lost = error ? r.thread->take_over() : std::nullopt;
      lost && is_conflict_below(*error))
    error = make_run_error(lost->code, lost->text, error->step);
}

} // namespace

void note_activity(const run& r) noexcept {
  each_above(r, [](const nested_in& at) {
    ++at.above->activity;
    if (at.caller->generation == at.caller_generation)
      at.caller->note_progress(detail::progress_kind::event);
  });
}

run* run_coordinator::find_run(std::uint64_t number) noexcept {
  const auto found = live_.find(number);
  return found == live_.end() ? nullptr : found->second;
}

run& run_coordinator::take_run() {
  return runs_.take([this] { return host_.make_run(); });
}

/// Takes a record for a run and enters it in `live_`. If memory is short, ends the run with an
/// error and returns null.
/// @param what the activity, for the error text
/// @param done the callback of the run; left unchanged unless the run ends
run* run_coordinator::enter(std::uint64_t number, std::function<void(detail::raw_result)>& done,
                            const char* what, std::int64_t step) noexcept {
  auto* taken = static_cast<run*>(nullptr);
  try {
    taken = &take_run();
    live_.emplace(number, taken);
  } catch (...) {
    if (taken != nullptr)
      runs_.put_back(*taken);
    auto raw = detail::raw_result{};
    raw.error = current_error(what, step);
    host_.deliver(number, std::move(done), std::move(raw), nullptr, nullptr);
    return nullptr;
  }
  taken->number = number;
  return taken;
}

void run_coordinator::begin_run(std::uint64_t number, run_request&& request) noexcept {
  auto* const entered = enter(number, request.done, "the start of the run", 0);
  if (entered == nullptr)
    return;
  auto& r = *entered;
  transition(r, run_phase::opening);
  r.request = static_cast<run_arguments&&>(request);
  r.root = r.request.below ? r.request.below->above->root : &r;
  r.traits = 0;
  r.shows = shown_state::none;
  r.events_of_tasks = task_events::at_once;
  r.active_stops = run::stop_before | run::stop_after;
  r.next_task = 0;
  r.detached_tasks_max = r.request.config->max_concurrency.value_or(0);
  SUPERSTEP_ASSERT(r.open.empty() && r.offloaded == 0 && r.barriers_offloaded == 0);
  SUPERSTEP_ASSERT(r.counters.steps == 0 && r.counters.barrier_waits_ns.empty());
  SUPERSTEP_ASSERT(r.detached_tasks == 0 && !r.own_extras && !r.turn.is_listed());
  if (r.request.below)
    child_list::link(r.request.below->caller->more().first_child, r);
  guard(r, "the start of the run",
        [&] { open(r, std::move(request.table), std::move(request.input)); });
}

/// Sets up a new run, and lists it as ready unless it has to wait.
void run_coordinator::open(run& r, detail::program_ptr&& table, detail::run_input&& input) {
  host_.acquire(r, *table);
  const auto& config = *r.request.config;
  const auto* const below = r.request.below.get();
  r.due = below != nullptr ? below->due : time_point::max();
  if (const auto& length = config.deadline; length && below == nullptr) {
    r.due = detail::deadline_after(host_.now(), *length);
    timers_.set(r.deadline_timer, r.due);
  }
  try {
    const auto ns = below != nullptr ? std::string_view{below->ns} : std::string_view{};
    r.state.reset(table, id_source{id_key_of(config), ns}, config.recursion_limit);
  } catch (...) { // the constructor of the user's state type
    end(r, current_error("creating the initial state of graph '" + table->name() + '\'', 0));
    return;
  }
  if (const auto unknown = set_breakpoints(r)) {
    end(r, make_run_error(graph_errc::unknown_node, "interrupt_before or interrupt_after: graph '" +
                                                        r.table().name() + "' has no node '" +
                                                        *unknown + '\''));
    return;
  }
  find_resources(r);
  auto checkpointer = checkpointer_of(r);
  if (checkpointer && below == nullptr && config.thread_id.empty()) {
    end(r, make_run_error(errc::invalid_argument,
                          "the run of graph '" + r.table().name() +
                              "' has a checkpointer: set run_config::thread_id"));
    return;
  }
  if (checkpointer || input.what() != detail::run_input::kind::writes) {
    r.more().input = std::move(input);
    const auto key = thread_key{config.thread_id, below == nullptr ? std::string{} : below->ns};
    r.thread = std::make_unique<thread_run>(
        checkpointer, key, config.thread ? config.thread->durability : durability::async);
    r.set(run_trait::keeps_writes);
    if (!checkpointer || below != nullptr) { // nested runs share the lease of the outermost run
      open_with(r, lease_ptr{});
      return;
    }
    r.more().saved = std::make_shared<saved_result>(std::move(checkpointer), key);
    if (auto got = host_.take_lease(r))
      open_with(r, std::move(*got));
    return;
  }
  if (r.extras().stops.empty() && !r.is(run_trait::keeps_writes) && below == nullptr &&
      !r.request.sink && !r.table().times_nodes() && !r.table().options().step_timeout)
    r.set(run_trait::fast_path);
  if (auto begun = begin(r.state, r.step, input.writes()); !begun) {
    end(r, make_run_error(begun.error().code, begun.error().text));
    return;
  }
  // without routers at the entry there is no user code to run
  if (r.table().entry().branches.empty()) {
    r.step.record(0, node_output{});
    r.next_task = 1;
  }
  transition(r, run_phase::running);
  // a nested run comes before its parent's next task, so that the order depends on the graph only
  if (below != nullptr)
    ready_.push_front(r.group(), r.turn);
  else if (r.generation == 0 || !SUPERSTEP_MUTANT(drop_ready_entry))
    ready_.push_back(r.group(), r.turn);
}

void run_coordinator::open_with(run& r, result<lease_ptr> got) {
  SUPERSTEP_ASSERT(r.phase == run_phase::opening);
  if (!got) {
    end(r, make_run_error(got.error().code, got.error().text));
    return;
  }
  r.thread->hold(std::move(*got));
  if (!load(r))
    return;
  if (r.request.below)
    ready_.push_front(r.group(), r.turn);
  else
    ready_.push_back(r.group(), r.turn);
}

/// Loads the thread, applies the input and prepares the first step. Returns false if the run has
/// ended or waits.
bool run_coordinator::load(run& r) {
  if (auto opened = r.thread->open(r.state, std::move(r.more().input), *r.request.config,
                                   r.request.below.get());
      !opened) {
    end(r, make_run_error(opened.error().code, opened.error().text, r.state.step()));
    return false;
  }
  r.more().input.clear();
  // checked before any task runs, so that no body runs on a thread that cannot be saved
  if (r.thread->failure()) {
    steps_.fail_step(r, *r.thread->failure());
    return false;
  }
  if (r.thread->is_resuming()) {
    r.active_stops = 0;
    run_events{r}.show({});
    if (r.streams(stream_mode::values)) {
      auto event = run_events{r}.make(stream_mode::values);
      event.step = r.state.step() + 1;
      event.state = r.state.state();
      r.request.sink->push(std::move(event));
    }
  }
  return steps_.advance(r, step_from::opening);
}

void run_coordinator::leased(std::uint64_t number, result<lease_ptr> got) noexcept {
  auto* const r = find_run(number);
  // the run has ended meanwhile: `got` releases the lease to the next run
  if (r == nullptr || r->phase != run_phase::opening) {
    if (SUPERSTEP_MUTANT(keep_lease) && got)
      SUPERSTEP_KEEP(*got);
    return;
  }
  // load() copies values of the user's types
  guard(*r, "the start of the run", [&] { open_with(*r, std::move(got)); });
}

void run_coordinator::saved(std::uint64_t number, std::int64_t step) noexcept {
  auto* const r = find_run(number);
  // a checkpointer may report the end of an earlier wait late, after it has failed
  if (r == nullptr || r->phase != run_phase::saving || r->state.step() != step)
    return;
  guard(*r, "the checkpointer", [&] {
    r->thread->check();
    if (r->thread->failure())
      steps_.fail_step(*r, *r->thread->failure());
    else if (steps_.enter_step(*r))
      queue(*r);
  });
}

namespace {

/// Resumes a run that waits for its reader, and its nested runs, which share the reader. The idle
/// timeouts of the calls above a nested run start again: the time of the wait does not count.
void resume_tree(run_coordinator& at, run& r) noexcept {
  if (r.phase == run_phase::paused) { // no task of its step has started, so no run is below it
    at.guard(r, "the start of a step", [&] {
      at.steps().let_tasks_start(r);
      each_above(r, [](const nested_in& link) {
        if (link.caller->generation == link.caller_generation)
          for (auto* c = link.caller; c != nullptr; c = c->extras().parent)
            c->restart_idle_limit();
      });
      at.queue(r);
    });
    return;
  }
  if (!SUPERSTEP_MUTANT(forget_reader))
    each_below(r, [&](run& each) { resume_tree(at, each); });
}

} // namespace

void run_coordinator::reader_ready(std::uint64_t number) noexcept {
  if (auto* const r = find_run(number))
    resume_tree(*this, *r);
}

void run_coordinator::drain(std::uint64_t number, const std::string& reason) noexcept {
  auto* const r = find_run(number);
  if (r == nullptr)
    return;
  try {
    r->more().drained_for = "Graph drained: " + reason;
  } catch (...) {
    if (r->own_extras)
      r->own_extras->drained_for = "Graph drained"; // short enough to need no memory
    else
      r->set(run_trait::no_memory);
  }
  r->leave_fast_path();
}

void run_coordinator::run_exited(run& r) noexcept {
  if (!r.is_live())
    return;
  auto error = std::optional<run_error>{};
  try {
    error = make_run_error(graph_errc::actor_exited,
                           "the coordinator actor of " + run_in_text(*r.request.config) +
                               " received an exit message",
                           r.state.step());
  } catch (...) {
    error = make_run_error(graph_errc::actor_exited, {}, r.state.step());
  }
  end(r, std::move(error));
}

void run_coordinator::node_exited(run& r, std::uint32_t node) noexcept {
  if (!r.is_live())
    return;
  auto error = make_run_error(graph_errc::actor_exited, {}, r.state.step());
  try {
    error.node = error.task = r.table().node(node).name;
    error.text = "the actor of node '" + error.node +
                 "' received an exit message while it was idle (step " +
                 std::to_string(error.step) + ")";
  } catch (...) { // the code alone is reported
  }
  end(r, std::move(error));
}

/// Returns the next task to start: one that is due to start again, or the next task of the step.
std::uint32_t run_coordinator::take_task(run& r) noexcept {
  if (r.again.empty())
    return r.next_task++;
  const auto number = r.again.back();
  SUPERSTEP_ASSERT(number < r.step.tasks.size());
  r.again.pop_back();
  return number;
}

void run_coordinator::fire_timers(time_point now, unsigned max) noexcept {
  for (; max > 0; --max) {
    auto* const due = timers_.pop_due(now);
    if (due == nullptr)
      return;
    fire(*due, now);
  }
}

void run_coordinator::fire(timer& t, time_point now) noexcept {
  if (t.kind == timer_kind::call_limit) {
    auto& c = *static_cast<call*>(t.owner);
    SUPERSTEP_ASSERT(c.owner != nullptr && c.is_detached());
    guard(*c.owner, "a timeout", [&] { tasks_.limit_due(c, now); });
    return;
  }
  auto& r = *static_cast<run*>(t.owner);
  SUPERSTEP_ASSERT(r.is_live());
  guard(r, "a timer", [&] {
    switch (t.kind) {
    case timer_kind::retry: {
      auto& waits = static_cast<retry_timer&>(t);
      if (!SUPERSTEP_MUTANT(lose_retry))
        r.again.push_back(waits.task);
      const auto index = waits.index;
      auto& retries = r.more().retries;
      SUPERSTEP_ASSERT(index < retries.size() && retries[index].get() == &waits);
      std::swap(retries[index], retries.back());
      retries[index]->index = index;
      retries.pop_back();
      queue(r);
      return;
    }
    case timer_kind::settle:
      end(r, r.take_failure());
      return;
    case timer_kind::step_limit:
      end(r, make_run_error(graph_errc::step_timeout,
                            "step " + std::to_string(r.state.step()) + " of graph '" +
                                r.table().name() + "' took longer than " +
                                std::to_string(r.table().options().step_timeout->count()) + " ms",
                            r.state.step()));
      return;
    case timer_kind::deadline:
      end(r,
          make_run_error(graph_errc::deadline,
                         "the deadline of " + std::to_string(r.request.config->deadline->count()) +
                             " ms passed in step " + std::to_string(r.state.step()),
                         r.state.step()));
      return;
    case timer_kind::call_limit:
      break; // handled above
    }
    SUPERSTEP_ASSERT(false);
  });
}

void run_coordinator::shut_down() noexcept {
  // A callback may not start a run meanwhile, because the driver refuses it.
  for (const auto& r : runs_.all())
    if (r->is_live())
      end(*r, cancelled_error(*r));
  SUPERSTEP_ASSERT(live_.empty() && ready_.empty() && timers_.empty());
}

void run_coordinator::let_go() noexcept {
  calls_.drop_bodies();
  for (auto& r : runs_.all())
    host_.release(*r);
}

/// Ends a run with the exception being handled, unless the run has ended already.
void run_coordinator::end_thrown(run& r, const char* what) noexcept {
  if (!r.is_live())
    return;
  const auto step = r.phase == run_phase::opening ? 0 : r.state.step();
  end(r, current_error(what != nullptr ? what : "step " + std::to_string(step), step));
}

void run_coordinator::end(run& r, std::optional<run_error> error) noexcept {
  SUPERSTEP_ASSERT(r.is_live());
  SUPERSTEP_ASSERT(find_run(r.number) == &r);
  transition(r, run_phase::ending);
  ready_queue::remove(r.group(), r.turn);
  note_activity(r);
  call_user(r, "keeping the resume values of tasks", [&] { keep_answers(r); });
  while (!r.open.empty())
    tasks_.abandon(*r.open.back());
  SUPERSTEP_ASSERT(r.offloaded == 0 && r.extras().starts.empty());
  ++r.generation; // not earlier, because calls of nested runs are counted in this run
  if (r.own_extras && !SUPERSTEP_MUTANT(start_after_end))
    ready_queue::remove(r.group(), r.own_extras->turn_of_forks);
  SUPERSTEP_ASSERT(r.root != &r || r.ready_here.entries.empty());
  live_.erase(r.number);
  if (r.request.below)
    child_list::unlink(r.request.below->caller->more().first_child, r);
  if (host_.has_mail())
    call_user(r, "answering messages to the run", [&] { host_.drop_mail(r); });
  if (!r.extras().late.empty())
    cache_late(r, std::exchange(r.more().late, {}));
  if (r.extras().broken && !error)
    error = std::move(*r.own_extras->broken);
  if (r.thread)
    call_user(r, "closing the thread", [&] { close_thread(r, error); });
  if (r.extras().broken && !error)
    error = std::move(*r.own_extras->broken);
  auto result =
      detail::raw_result{r.state.take_state(), std::move(error), r.counters.stats(), {}, {}, {}};
  auto saved = std::shared_ptr<saved_result>{};
  if (r.own_extras) {
    result.interrupts = std::move(r.own_extras->interrupts);
    result.shown = std::move(r.own_extras->shown);
    result.to_parent = std::move(r.own_extras->to_parent);
    saved = std::move(r.own_extras->saved);
  }
  if (r.shows != shown_state::none && !result.shown)
    result.shown = result.state;
  host_.release(r);
  auto done = std::exchange(r.request.done, nullptr);
  auto lease = r.thread ? r.thread->give_up_lease() : lease_ptr{};
  const auto number = r.number;
  release(r);
  host_.deliver(number, std::move(done), std::move(result), std::move(saved), std::move(lease));
}

/// Makes the record of an ended run available again.
void run_coordinator::release(run& r) noexcept {
  if (!SUPERSTEP_MUTANT(keep_timer))
    timers_.clear(r.deadline_timer);
  if (r.own_extras) {
    timers_.clear(r.own_extras->step_timer);
    timers_.clear(r.own_extras->settle_timer);
    for (auto& waits : r.own_extras->retries)
      timers_.clear(*waits);
    SUPERSTEP_ASSERT(!r.own_extras->turn_of_forks.is_listed());
    r.own_extras.reset();
  }
  SUPERSTEP_ASSERT(r.open.empty() && r.detached_tasks == 0 && r.offloaded == 0);
  SUPERSTEP_ASSERT(!r.turn.is_listed());
  r.again.clear();
  r.barriers_offloaded = 0;
  r.counters = {};
  r.request.clear();
  r.state.clear();
  r.step.clear();
  r.first_end_ns = 0;
  r.thread.reset();
  transition(r, run_phase::idle);
  runs_.put_back(r);
}

} // namespace superstep
