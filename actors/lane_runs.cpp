// SPDX-License-Identifier: Apache-2.0
// The coordinator's part of a lane: runs, their super-steps, how they end.
#include "engine_core.hpp"
#include "lane.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

std::uint64_t nanoseconds(lane::time_point t) noexcept {
  return static_cast<std::uint64_t>(t.time_since_epoch().count());
}

constexpr auto pinned_max = std::size_t{8};

json::array names_of(const program& table, const std::vector<std::uint32_t>& nodes) {
  auto names = json::array{};
  for (const auto n : nodes)
    names.emplace_back(table.node(n).name);
  return names;
}

} // namespace

run& lane::take_run() {
  if (free_runs_.empty()) {
    runs_.push_back(std::make_unique<run>());
    return *runs_.back();
  }
  auto& r = *free_runs_.back();
  free_runs_.pop_back();
  return r;
}

program_ptr lane::pin(const program_ptr& table) {
  for (const auto& p : pinned_) {
    if (p == table)
      return p;
  }
  if (pinned_.size() == pinned_max)
    pinned_.erase(pinned_.begin());
  auto own = std::allocate_shared<const program_ptr>(cache_line_allocator<program_ptr>{}, table);
  return pinned_.emplace_back(own, table.get());
}

run* lane::find_run(std::uint64_t number) noexcept {
  const auto found = live_.find(number);
  return found == live_.end() ? nullptr : found->second;
}

std::vector<run*> lane::live_runs() {
  auto all = std::vector<run*>{};
  for (const auto& [number, r] : live_)
    all.push_back(r);
  return all;
}

void lane::queue(run& r) {
  if (r.queued || !r.live)
    return;
  r.queued = true;
  ready_.push_back({&r, nullptr, nullptr});
}

void lane::begin_run(std::uint64_t number, run_request&& request) {
  auto& r = take_run();
  r.number = number;
  r.live = true;
  r.paused = false;
  r.request = std::move(request);
  r.state.reset(std::move(r.request.table), r.request.config->run_id,
                r.request.config->recursion_limit);
  r.next_task = 0;
  r.stats.steps = 0;
  r.stats.tasks = 0;
  r.node_actors.resize(r.table().nodes().size());
  r.coordinator = take_shell(actor_kind::coordinator, r);
  live_.emplace(number, &r);
  if (r.request.config->deadline.count() > 0) {
    alarms_.push_back({now() + r.request.config->deadline, nullptr, &r, r.generation, no_task});
    std::push_heap(alarms_.begin(), alarms_.end());
  }
  if (auto begun = begin(r.state, r.step, r.request.input); !begun) {
    end_run(r, run_error{begun.error().code, begun.error().text, {}, 0, {}, 1, {}});
    return;
  }
  r.request.input = {};
  if (r.table().entry().branches.empty()) { // the entry has no code to run
    r.step.record(0, {});
    r.next_task = 1;
  }
  queue(r);
}

void lane::cancel_run(std::uint64_t number) {
  auto* const r = find_run(number);
  if (r == nullptr)
    return;
  auto error = run_error{};
  error.code = make_error_code(graph_errc::cancelled);
  error.text = "run '" + r->request.config->run_id + "' was cancelled in step " +
               std::to_string(r->state.step());
  error.step = r->state.step();
  end_run(*r, std::move(error));
}

void lane::resume_run(std::uint64_t number) {
  if (auto* const r = find_run(number); r != nullptr && r->paused) {
    r->paused = false;
    queue(*r);
  }
}

/// The next task to be started: a second attempt that is due, or the next of the step.
std::uint32_t lane::take_task(run& r) noexcept {
  if (r.again.empty())
    return r.next_task++;
  const auto number = r.again.back();
  r.again.pop_back();
  return number;
}

/// Drives a run until it waits, ends or has had its turn.
lane::kept lane::drive(run& r) {
  if (r.paused)
    return kept::yes;
  for (auto steps = std::uint32_t{0}; steps < options_.steps_per_turn; ++steps) {
    while (r.live && (!r.again.empty() || r.next_task < r.step.tasks.size())) {
      const auto number = take_task(r);
      if (start_task(r, number) == kept::no)
        return kept::no;
      if (r.queued) // its actor was busy with a message: once more later
        return kept::yes;
    }
    if (!r.live)
      return kept::yes;
    if (r.failure) {
      end_run(r, std::move(*r.failure));
      return kept::yes;
    }
    if (r.flights > 0 || r.waiting > 0) {
      if (r.first_end_ns == 0 && !r.step.finished.empty())
        r.first_end_ns = nanoseconds(now());
      return kept::yes;
    }
    if (!barrier(r) || !advance_step(r))
      return kept::yes;
  }
  queue(r);
  return kept::yes;
}

/// All have answered: the coordinator applies. False when the run has ended.
bool lane::barrier(run& r) {
  if (r.first_end_ns != 0) {
    r.stats.barrier_wait_ns.push_back(nanoseconds(now()) - std::exchange(r.first_end_ns, 0));
  }
  if (shell_of(r.coordinator).is_dead())
    return false; // its death notice is in the inbox and ends the run
  if (r.streams(stream_mode::debug)) {
    auto event = run_event{};
    event.mode = stream_mode::debug;
    event.step = r.state.step();
    event.data = json::object{
        {"event", "barrier"}, {"answered", r.step.finished.size()}, {"in_flight", r.flights}};
    r.request.sink->push(std::move(event));
  }
  if (auto applied = apply(r.state, r.step); !applied) {
    auto error = run_error{};
    error.code = applied.error().code;
    error.text = "step " + std::to_string(r.state.step()) + ": " + applied.error().text;
    error.step = r.state.step();
    end_run(r, std::move(error));
    return false;
  }
  if (r.streams(stream_mode::values) && !r.state.changes().empty())
    emit_values(r);
  if (r.request.sink && r.request.sink->is_full()) {
    r.paused = true;
  }
  return true;
}

/// Prepares the next super-step. False when the run has ended or pauses.
bool lane::advance_step(run& r) {
  r.next_task = 0;
  switch (prepare(r.state, r.step)) {
  case next_step::done:
    if (r.streams(stream_mode::debug))
      emit_step(r);
    end_run(r, std::nullopt);
    return false;
  case next_step::out_of_steps: {
    auto error = run_error{};
    error.code = make_error_code(graph_errc::recursion_limit);
    error.text = "Recursion limit of " + std::to_string(r.request.config->recursion_limit) +
                 " reached without hitting a stop condition. You can increase the limit by setting "
                 "the `recursion_limit` config key.\nFor troubleshooting, visit: "
                 "https://docs.langchain.com/oss/python/langgraph/errors/GRAPH_RECURSION_LIMIT";
    error.step = r.state.step();
    end_run(r, std::move(error));
    return false;
  }
  case next_step::run:
    break;
  }
  ++r.stats.steps;
  r.stats.tasks += r.step.tasks.size();
  if (r.streams(stream_mode::debug))
    emit_step(r);
  return !r.paused;
}

lane::kept lane::start_task(run& r, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  auto& c = *in_place_;
  if (t.node != program::no_node) {
    const auto& node = r.table().node(t.node);
    learn_heavy(c); // about the body before this one, which was heavy
    c.actor = t.is_push() ? take_shell(actor_kind::tool, r) : node_actor(r, t.node);
    auto& s = shell_of(c.actor);
    if (!s.try_acquire()) {
      if (!s.is_dead()) { // it handles a message just now
        c.actor.reset();
        r.again.push_back(number);
        queue(r);
        return kept::yes;
      }
      // Killed while it was idle. The death notice, still in the inbox, finds its run over.
      c.actor.reset();
      task_failed(r, number, {}, {}, error_of(r, number, graph_errc::actor_exited, nullptr));
      return kept::yes;
    }
    if (node.slowness.load(std::memory_order_relaxed) >= slow_node) {
      send_to_jobs(r, std::move(c.actor), number);
      return kept::yes;
    }
  }
  prepare_call(r, c, number);
  if (guarded(c, {}) == kept::no)
    return kept::no;
  after_in_place(r, c);
  return kept::yes;
}

run_error lane::error_of(run& r, std::uint32_t number, graph_errc code, std::exception_ptr cause) {
  const auto& t = r.step.tasks[number];
  auto error = run_error{};
  error.code = make_error_code(code);
  error.node = r.table().node(t.node).name;
  error.step = r.state.step();
  error.task = r.task_path(t);
  const auto where = "node '" + error.node + "' (task " + error.task + ", step " +
                     std::to_string(error.step) + ")";
  error.text = code == graph_errc::actor_exited ? "the actor of " + where + " was told to exit"
                                                : where + " failed: " + describe(cause);
  error.attempts = t.attempt;
  error.cause = std::move(cause);
  return error;
}

void lane::task_failed(run& r, std::uint32_t number, const body_input& input, node_output&& written,
                       run_error error) {
  if (will_retry(r, number, error))
    return;
  const auto& handler = r.table().node(r.step.tasks[number].node).options.on_failure;
  if (handler && input.table != nullptr) {
    try {
      if (auto instead = handler(input, error)) {
        task_ended(r, number, std::move(*instead));
        return;
      }
    } catch (...) { // the handler is user code too; its failure is the run's
      error.text += "; its failure handler failed too: " + describe(std::current_exception());
    }
  }
  if (!written.writes.empty())
    tell_update(r, number, written);
  // All tasks of a step start together, so one that fails at once must not keep its siblings from
  // starting: the run ends when the last of them has.
  if (!r.failure)
    r.failure = std::make_unique<run_error>(std::move(error));
  if (r.next_task == r.step.tasks.size())
    end_run(r, std::move(*r.failure));
}

void lane::tell_update(run& r, std::uint32_t number, const node_output& output) {
  const auto& t = r.step.tasks[number];
  if (!r.streams(stream_mode::updates) || t.node == program::no_node)
    return;
  auto event = run_event{};
  event.mode = stream_mode::updates;
  event.step = r.state.step();
  event.node = r.table().node(t.node).name;
  event.task_index = t.is_push() ? t.push_index : 0;
  event.writes.assign(output.writes.begin(), output.writes.end());
  r.request.sink->push(std::move(event));
}

void lane::task_ended(run& r, std::uint32_t number, node_output&& output) {
  tell_update(r, number, output);
  r.step.record(number, std::move(output));
}

void lane::emit_values(run& r) {
  auto event = run_event{};
  event.mode = stream_mode::values;
  event.step = r.state.step();
  event.state = r.state.state();
  r.request.sink->push(std::move(event));
}

/// Who was activated, and who, having received nothing, has voted to halt.
void lane::emit_step(run& r) {
  auto activated = json::array{};
  auto is_active = std::vector<bool>(r.table().nodes().size());
  for (const auto& t : r.step.tasks) {
    activated.emplace_back(r.task_path(t));
    is_active[t.node] = true;
  }
  auto halted = std::vector<std::uint32_t>{};
  for (auto n = std::uint32_t{0}; n < is_active.size(); ++n) {
    if (!is_active[n])
      halted.push_back(n);
  }
  auto event = run_event{};
  event.mode = stream_mode::debug;
  event.step = r.state.step();
  event.data = json::object{{"event", activated.empty() ? "end" : "step"},
                            {"activated", std::move(activated)},
                            {"halted", names_of(r.table(), halted)},
                            {"in_flight", r.flights}};
  r.request.sink->push(std::move(event));
}

void lane::end_run(run& r, std::optional<run_error> error) {
  SUPERSTEP_ASSERT(r.live);
  SUPERSTEP_ASSERT(error || r.flights == 0);
  r.live = false;
  r.failure.reset();
  r.again.clear();
  r.waiting = 0;
  ++r.generation;
  live_.erase(r.number);
  while (!r.open.empty())
    abandon(*r.open.back());
  auto result = raw_result{r.state.take_state(), std::move(error), std::exchange(r.stats, {})};
  for (auto& s : r.node_actors) {
    if (s)
      give_back(std::move(s));
  }
  give_back(std::move(r.coordinator));
  forget_run(r);
  const auto done = std::exchange(r.request.done, nullptr);
  r.request = {};
  r.state.clear();
  r.step.clear();
  r.first_end_ns = 0;
  free_runs_.push_back(&r);
  load_.fetch_sub(1, std::memory_order_relaxed);
  if (done)
    done(std::move(result));
}

} // namespace superstep
