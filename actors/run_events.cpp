// SPDX-License-Identifier: Apache-2.0
// Builds the events of a run, with one function for each kind of event. Only runs that are not on
// the fast path send events: step_policy.cpp at step boundaries, task_policy.cpp when tasks end.
#include "run_events.hpp"

#include "task_records.hpp"
#include "user_code.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// Whether a channel is an output channel of the graph. By default all channels are.
bool is_output(const detail::program& table, std::uint32_t channel) noexcept {
  const auto& output = table.output();
  return output.empty() || std::ranges::binary_search(output, channel);
}

/// Whether the events of a run show a channel. Events of the outermost graph show all channels,
/// those of a subgraph only its output channels.
bool is_shown(const run& r, std::uint32_t channel) noexcept {
  return !r.request.below || is_output(r.table(), channel);
}

json::array names_of(const detail::program& table, const std::vector<std::uint32_t>& nodes) {
  auto names = json::array{};
  for (const auto n : nodes)
    names.emplace_back(table.node(n).name);
  return names;
}

} // namespace

detail::run_event run_events::make(stream_mode mode) const {
  auto event = detail::run_event{};
  event.mode = mode;
  event.step = run_.state.step();
  if (const auto& below = run_.request.below) {
    event.path = {below, &below->path};
    event.ns = {below, &below->ns};
    event.table = run_.state.table_ptr();
  }
  return event;
}

/// Returns an event about a task, which also has the node and the index of the task.
detail::run_event run_events::make_of(const step_task& t, stream_mode mode) const {
  auto event = make(mode);
  event.node = run_.table().node(t.node).name;
  event.task_index = t.is_push() ? t.push_index : 0;
  return event;
}

void run_events::push(detail::run_event&& event) const {
  run_.request.sink->push(std::move(event));
}

void run_events::update(std::uint32_t number, const node_output& output, bool is_cached) {
  const auto& t = run_.step.tasks[number];
  if (!run_.streams(stream_mode::updates) || t.node == detail::program::no_node)
    return;
  auto event = make_of(t, stream_mode::updates);
  event.is_cached = is_cached;
  for (const auto& w : output.writes)
    if (is_shown(run_, w.channel))
      event.writes.push_back(w);
  send(std::move(event), t);
}

/// Sends the events for the interrupts of a task. If `number` is no_task, the run has stopped at a
/// breakpoint and only the event of mode `updates` is sent.
void run_events::interrupted(std::uint32_t number, const std::vector<interrupt>& interrupts) {
  if (run_.streams(stream_mode::updates)) {
    auto event = make(stream_mode::updates);
    event.interrupts = interrupts;
    push(std::move(event));
  }
  if (number == no_task)
    return;
  if (run_.streams(stream_mode::values)) {
    auto event = make(stream_mode::values);
    event.state = run_.state.state();
    event.interrupts = interrupts;
    push(std::move(event));
  }
  if (!run_.streams(stream_mode::tasks))
    return;
  auto event = make_of(run_.step.tasks[number], stream_mode::tasks);
  event.at = detail::run_event::phase::ended;
  event.interrupts = interrupts;
  push(std::move(event));
}

void run_events::started(std::uint32_t number) {
  const auto& t = run_.step.tasks[number];
  if (t.node == detail::program::no_node)
    return;
  const auto& node = run_.table().node(t.node);
  auto event = make_of(t, stream_mode::tasks);
  event.at = detail::run_event::phase::started;
  if (node.body)
    call_user(run_, "showing the input of node '" + node.name + '\'',
              [&] { event.data = node.body->show_input(reading(run_, number)); });
  push(std::move(event));
}

void run_events::finished(std::uint32_t number, const node_output& output,
                          const run_error* failure) {
  const auto& t = run_.step.tasks[number];
  if (t.node == detail::program::no_node)
    return;
  auto event = make_of(t, stream_mode::tasks);
  event.at = detail::run_event::phase::ended;
  event.writes.assign(output.writes.begin(), output.writes.end());
  if (failure != nullptr) {
    event.error = failure->text;
    event.cause = failure->cause;
  }
  if (failure != nullptr)
    push(std::move(event));
  else
    send(std::move(event), t);
}

/// Sends an event about the end of a task, at once or after the barrier (see task_events).
/// Events of retried tasks are also held until the barrier, so that they are not sent if the step
/// fails.
void run_events::send(detail::run_event&& event, const step_task& t) {
  if ((run_.events_of_tasks == task_events::after_barrier || t.attempt > 1) && !event.is_cached)
    run_.more().held.push_back(std::move(event));
  else
    push(std::move(event));
}

void run_events::send_held() {
  if (!run_.own_extras)
    return;
  for (auto& event : run_.own_extras->held)
    push(std::move(event));
  run_.own_extras->held.clear();
}

void run_events::checkpoint() {
  auto event = make(stream_mode::checkpoints);
  event.checkpoint = run_.thread->at();
  event.step = event.checkpoint->step;
  // The writes of a caller's command are a record of the checkpoint that the run starts from.
  event.state = run_.thread->find("") != nullptr ? run_.state.state() : event.checkpoint->state;
  for (const auto& t : run_.step.tasks)
    event.next.push_back(run_.table().node(t.node).name);
  push(std::move(event));
}

/// Returns the channels that the step has changed and that now have a value. Channels that were
/// only emptied are not included.
run_events::channel_numbers run_events::visible_changes() const {
  auto out = channel_numbers{};
  for (const auto c : run_.state.changes())
    if (run_.table().channels()[c]->is_available(*run_.state.state()))
      out.push_back(c);
  return out;
}

void run_events::values() {
  const auto streams = run_.streams(stream_mode::values);
  const auto keeps = run_.request.below || run_.thread;
  if (!streams && !keeps)
    return;
  const auto changes = visible_changes();
  if (changes.empty())
    return;
  if (keeps)
    show(changes);
  if (!streams || std::ranges::none_of(changes, [&](auto c) { return is_shown(run_, c); }))
    return;
  auto event = make(stream_mode::values);
  event.changes.assign(changes.begin(), changes.end());
  event.state = run_.state.state();
  push(std::move(event));
}

/// Records the state that the caller of the run sees, if an output channel has changed. An empty
/// list means that all channels have changed.
void run_events::show(std::span<const std::uint32_t> changed) {
  if (!changed.empty() &&
      std::ranges::none_of(changed, [&](auto c) { return is_output(run_.table(), c); }))
    return;
  run_.shows = shown_state::final_state;
  // without transient channels the final state has the same values
  if (!run_.table().transient_channels().empty()) {
    run_.shows = shown_state::kept;
    run_.more().shown = run_.state.state();
  }
}

void run_events::barrier() {
  auto event = make(stream_mode::debug);
  event.data = json::object{{"event", "barrier"},
                            {"answered", run_.step.finished.size()},
                            {"in_flight", run_.open.size()}};
  push(std::move(event));
}

/// Sends the `debug` event of a step: its tasks, and the nodes that voted to halt because they
/// received nothing.
void run_events::step() {
  auto activated = json::array{};
  auto is_active = std::vector<bool>(run_.table().nodes().size());
  for (const auto& t : run_.step.tasks) {
    activated.emplace_back(run_.task_path(t));
    if (t.node != detail::program::no_node)
      is_active[t.node] = true;
  }
  auto halted = std::vector<std::uint32_t>{};
  for (auto n = std::uint32_t{0}; n < is_active.size(); ++n) {
    if (!is_active[n])
      halted.push_back(n);
  }
  auto event = make(stream_mode::debug);
  event.data = json::object{{"event", activated.empty() ? "end" : "step"},
                            {"activated", std::move(activated)},
                            {"halted", names_of(run_.table(), halted)},
                            {"in_flight", run_.open.size()}};
  push(std::move(event));
}

} // namespace superstep
