// SPDX-License-Identifier: Apache-2.0
// Builds the events that a lane sends to the streams of its runs, with one function for each kind
// of event. Only runs that are not on the fast path send events: lane_steps.cpp at step boundaries,
// lane_runs.cpp when tasks end.
#include "lane.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// Whether a channel is an output channel of the graph. By default all channels are.
bool is_output(const detail::program& table, std::uint32_t channel) noexcept {
  const auto& output = table.options().output;
  return output.empty() || std::ranges::find(output, channel) != output.end();
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

detail::run_event lane::event_of(const run& r, stream_mode mode) {
  auto event = detail::run_event{};
  event.mode = mode;
  event.step = r.state.step();
  if (const auto& below = r.request.below) {
    event.path = {below, &below->path};
    event.table = r.state.table_ptr();
  }
  return event;
}

void lane::tell_update(run& r, std::uint32_t number, const node_output& output, bool is_cached) {
  const auto& t = r.step.tasks[number];
  if (!r.streams(stream_mode::updates) || t.node == detail::program::no_node)
    return;
  auto event = event_of(r, stream_mode::updates);
  event.node = r.table().node(t.node).name;
  event.task_index = t.is_push() ? t.push_index : 0;
  event.is_cached = is_cached;
  for (const auto& w : output.writes)
    if (is_shown(r, w.channel))
      event.writes.push_back(w);
  tell(r, std::move(event), t);
}

/// Sends the events for the interrupts of a task. If `number` is no_task, the run has stopped at a
/// breakpoint and only the event of mode `updates` is sent.
void lane::report_interrupts(run& r, std::uint32_t number,
                             const std::vector<interrupt>& interrupts) {
  if (r.streams(stream_mode::updates)) {
    auto event = event_of(r, stream_mode::updates);
    event.interrupts = interrupts;
    r.request.sink->push(std::move(event));
  }
  if (number == no_task)
    return;
  if (r.streams(stream_mode::values)) {
    auto event = event_of(r, stream_mode::values);
    event.state = r.state.state();
    event.interrupts = interrupts;
    r.request.sink->push(std::move(event));
  }
  if (!r.streams(stream_mode::tasks))
    return;
  auto event = event_of(r, stream_mode::tasks);
  event.at = detail::run_event::phase::ended;
  event.node = r.table().node(r.step.tasks[number].node).name;
  event.interrupts = interrupts;
  r.request.sink->push(std::move(event));
}

void lane::tell_start(run& r, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  if (t.node == detail::program::no_node)
    return;
  const auto& node = r.table().node(t.node);
  auto event = event_of(r, stream_mode::tasks);
  event.at = detail::run_event::phase::started;
  event.node = node.name;
  event.task_index = t.is_push() ? t.push_index : 0;
  if (node.body)
    call_user(r, "showing the input of node '" + node.name + '\'',
              [&] { event.data = node.body->show_input(reading(r, number)); });
  r.request.sink->push(std::move(event));
}

void lane::tell_finish(run& r, std::uint32_t number, const node_output& output,
                       const run_error* failure) {
  const auto& t = r.step.tasks[number];
  if (t.node == detail::program::no_node)
    return;
  auto event = event_of(r, stream_mode::tasks);
  event.at = detail::run_event::phase::ended;
  event.node = r.table().node(t.node).name;
  event.task_index = t.is_push() ? t.push_index : 0;
  event.writes.assign(output.writes.begin(), output.writes.end());
  if (failure != nullptr) {
    event.error = failure->text;
    event.cause = failure->cause;
  }
  if (failure != nullptr)
    r.request.sink->push(std::move(event));
  else
    tell(r, std::move(event), t);
}

/// Sends an event about the end of a task, at once or after the barrier (see run::is_single_task).
/// Events of retried tasks are also held until the barrier, so that they are not sent if the step
/// fails.
void lane::tell(run& r, detail::run_event&& event, const step_task& t) {
  if ((r.is_single_task || t.attempt > 1) && !event.is_cached)
    r.held.push_back(std::move(event));
  else
    r.request.sink->push(std::move(event));
}

void lane::emit_checkpoint(run& r) {
  auto event = event_of(r, stream_mode::checkpoints);
  event.checkpoint = r.thread->at();
  event.step = event.checkpoint->step;
  event.state = event.checkpoint->state;
  for (const auto& t : r.step.tasks)
    event.next.push_back(r.table().node(t.node).name);
  r.request.sink->push(std::move(event));
}

/// Returns the channels that the step has changed and that now have a value. Channels that were
/// only emptied are not included.
std::vector<std::uint32_t> lane::visible_changes(const run& r) {
  auto out = std::vector<std::uint32_t>{};
  for (const auto c : r.state.changes())
    if (r.table().channels()[c]->is_available(*r.state.state()))
      out.push_back(c);
  return out;
}

void lane::emit_values(run& r) {
  const auto streams = r.streams(stream_mode::values);
  const auto keeps = r.request.below || r.thread;
  if (!streams && !keeps)
    return;
  auto changes = visible_changes(r);
  if (changes.empty())
    return;
  if (keeps)
    show(r, changes);
  if (!streams || std::ranges::none_of(changes, [&](auto c) { return is_shown(r, c); }))
    return;
  auto event = event_of(r, stream_mode::values);
  event.changes = std::move(changes);
  event.state = r.state.state();
  r.request.sink->push(std::move(event));
}

/// Records the state that the caller of the run sees, if an output channel has changed. An empty
/// list means that all channels have changed.
void lane::show(run& r, const std::vector<std::uint32_t>& changed) {
  if (!changed.empty() &&
      std::ranges::none_of(changed, [&](auto c) { return is_output(r.table(), c); }))
    return;
  r.is_shown = true;
  // without transient channels the final state has the same values
  if (!r.table().transient_channels().empty())
    r.shown = r.state.state();
}

void lane::tell_barrier(run& r) {
  auto event = event_of(r, stream_mode::debug);
  event.data = json::object{
      {"event", "barrier"}, {"answered", r.step.finished.size()}, {"in_flight", r.detached_calls}};
  r.request.sink->push(std::move(event));
}

/// Sends the `debug` event of a step: its tasks, and the nodes that voted to halt because they
/// received nothing.
void lane::emit_step(run& r) {
  auto activated = json::array{};
  auto is_active = std::vector<bool>(r.table().nodes().size());
  for (const auto& t : r.step.tasks) {
    activated.emplace_back(r.task_path(t));
    if (t.node != detail::program::no_node)
      is_active[t.node] = true;
  }
  auto halted = std::vector<std::uint32_t>{};
  for (auto n = std::uint32_t{0}; n < is_active.size(); ++n) {
    if (!is_active[n])
      halted.push_back(n);
  }
  auto event = event_of(r, stream_mode::debug);
  event.data = json::object{{"event", activated.empty() ? "end" : "step"},
                            {"activated", std::move(activated)},
                            {"halted", names_of(r.table(), halted)},
                            {"in_flight", r.detached_calls}};
  r.request.sink->push(std::move(event));
}

} // namespace superstep
