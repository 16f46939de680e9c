// SPDX-License-Identifier: Apache-2.0
// Fills the record of a call before its body starts, and checks its timeouts.
#include "call_setup.hpp"

#include "base/deadline.hpp"
#include "run_events.hpp"
#include "task_records.hpp"

#include <superstep/runtime/node_options.hpp>

#include <algorithm>
#include <chrono>
#include <exception>

namespace superstep {

namespace {

using time_point = std::chrono::steady_clock::time_point;

/// Returns the timeouts of a call: those of its node, with `run` replaced by the timeout of the
/// Send if it has one.
std::optional<timeout_policy> timeout_of(const run& r, const call& c) {
  const auto& t = r.step.tasks[c.task_number];
  auto limit = r.table().node(t.node).options.timeout;
  if (!t.is_push() || t.failed_node != step_task::pull)
    return limit;
  if (const auto own = r.step.input_of(t).timeout; own.count() > 0) {
    if (!limit)
      limit.emplace();
    limit->run = own;
  }
  return limit;
}

/// Sets the fields of a call for its deadline and timeouts. Called before the body starts, because
/// afterwards other threads may read them and the body may report progress.
void set_limits(const run& r, call& c, const coordinator_host& clock) {
  if (r.step.tasks[c.task_number].node == detail::program::no_node)
    return;
  const auto due = std::min(r.due, r.extras().step_due);
  if (due != time_point::max()) {
    c.more().due = due;
    c.set(call_trait::has_deadline);
  }
  const auto limit = timeout_of(r, c);
  if (!limit)
    return;
  auto& extras = c.more();
  extras.started = clock.now();
  if (limit->run) {
    extras.due = std::min(due, detail::deadline_after(extras.started, *limit->run));
    c.set(call_trait::has_deadline);
  }
  c.set(call_trait::is_timed);
  if (limit->heartbeats_only)
    c.set(call_trait::heartbeats_only);
  extras.progressed.store(extras.started.time_since_epoch().count(), std::memory_order_relaxed);
}

/// Fills the call record of an error handler. The graph's default handler reads the state, even if
/// the failed task had the payload of a Send.
void give_failure(run& r, call& c, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  const auto& handled = r.extras().handled;
  if (const auto found = handled.find(number); found != handled.end())
    c.more().unusual.failure = found->second;
  c.set(call_trait::has_observers);
  c.input.unusual = &c.extras().unusual;
  if (!r.table().node(t.node).takes_payload && r.table().node(t.failed_node).takes_payload)
    c.input.payload = nullptr;
}

/// Whether the node has the tag `nostream`: its messages are not streamed.
bool has_nostream_tag(const detail::node_entry& node) {
  return std::ranges::find(node.options.tags, "nostream") != node.options.tags.end();
}

/// Sets up what a call needs if its run is not on the fast path: sink, interrupts, link to the
/// parent run, and the error that an error handler handles.
void attach_observers(run& r, call& c, std::uint32_t number) {
  if (r.step.tasks[number].failed_node != step_task::pull)
    give_failure(r, c, number);
  c.set(call_trait::has_observers);
  if (const auto& below = r.request.below) {
    auto& extras = c.more();
    extras.below = below;
    extras.unusual.ns = &below->ns;
    c.input.unusual = &extras.unusual;
  }
  if (r.streams(stream_mode::custom))
    c.set(call_trait::streams_custom);
  if (r.streams(stream_mode::messages) &&
      !has_nostream_tag(r.table().node(r.step.tasks[number].node)))
    c.set(call_trait::streams_messages);
  if (c.is(call_trait::streams_custom) || c.is(call_trait::streams_messages))
    c.more().sink = r.request.sink;
  if (r.thread ||
      (r.request.below && (r.request.below->answers || r.request.below->journal.records)))
    c.more().asked = r.interrupts_of(number);
  if (r.step.tasks[number].node == detail::program::no_node && r.step.input) {
    const auto& input = *r.step.input;
    c.out->output.writes.assign(input.writes.begin(), input.writes.end());
    c.out->output.targets.assign(input.targets.begin(), input.targets.end());
  }
}

} // namespace

/// Fills a call record for a task of a run.
/// @pre the task's actor is acquired
void fill_call(run& r, call& c, std::uint32_t number, const coordinator_host& clock) {
  SUPERSTEP_ASSERT(c.is_clean());
  if (!c.out)
    c.out = std::make_unique<detail::node_body::outcome>();
  const auto& t = r.step.tasks[number];
  c.owner = &r;
  c.task_number = number;
  if (c.config != r.request.config)
    c.config = r.request.config;
  c.progress = body_progress::active;
  c.nested = 0;
  c.has_requested_nest.store(false, std::memory_order_relaxed);
  if (c.traits != 0)
    c.detach_observers(); // the record may still have the sink and the interrupts of another run
  const auto* const sent = t.is_push() ? &r.step.input_of(t) : nullptr;
  auto& in = c.input;
  in.table = &r.table();
  in.state = r.state.state().get();
  in.payload = sent != nullptr ? &sent->input : nullptr;
  in.config = &c.config;
  in.services = &c;
  in.node = t.node;
  in.task_index = sent != nullptr ? t.push_index : 0;
  in.step = r.state.step();
  in.attempt = t.attempt;
  in.sole_task = r.step.tasks.size() == 1;
  in.keep_writes = r.is(run_trait::keeps_writes);
  in.is_applied = t.node == detail::program::no_node && !r.step.input;
  in.store = r.memory;
  in.steps_left = r.state.steps_left();
  in.unusual = nullptr;
  in.id_number = r.state.id_number();
  if (r.is(run_trait::has_limits) || (sent != nullptr && sent->timeout.count() > 0))
    set_limits(r, c, clock);
  if (!r.is_fast_path())
    attach_observers(r, c, number);
}

namespace {

/// Whether a nested run of a call, or of a call that it has forked, waits for the reader of its
/// stream.
bool waits_for_reader(const call& c) noexcept {
  for (const auto* f = c.extras().first_fork; f != nullptr; f = f->extras().next_fork)
    if (waits_for_reader(*f))
      return true;
  for (const auto* r = c.extras().first_child; r != nullptr; r = r->next_child)
    if (r->phase == run_phase::paused ||
        std::ranges::any_of(r->open, [](const call* open) { return waits_for_reader(*open); }))
      return true;
  return false;
}

} // namespace

time_point first_limit(const run& r, const call& c) {
  const auto limit = timeout_of(r, c);
  SUPERSTEP_ASSERT(limit.has_value());
  constexpr auto none = std::chrono::milliseconds::max();
  return detail::deadline_after(c.extras().started,
                                std::min(limit->run.value_or(none), limit->idle.value_or(none)));
}

limit_check check_limits(run& r, const call& c, time_point time) {
  const auto limit = timeout_of(r, c).value_or(timeout_policy{});
  // While the run waits for its reader, the reader is slow and not the node.
  const auto progressed =
      limit.idle && waits_for_reader(c)
          ? time
          : time_point{time_point::duration{c.extras().progressed.load(std::memory_order_relaxed)}};
  auto due = time_point::max();
  if (limit.run)
    due = detail::deadline_after(c.extras().started, *limit.run);
  const auto is_over = due <= time;
  if (limit.idle)
    due = std::min(due, detail::deadline_after(progressed, *limit.idle));
  if (due > time)
    return {due, std::nullopt};
  using kind = node_timeout_error::kind;
  const auto elapsed = [&](time_point since) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time - since);
  };
  auto error = task_error(r, c.task_number, graph_errc::node_timeout, nullptr);
  const auto passed =
      is_over ? node_timeout_error{kind::run, *limit.run, elapsed(c.extras().started), error}
              : node_timeout_error{kind::idle, *limit.idle, elapsed(progressed), error};
  error = passed.details();
  error.cause = std::make_exception_ptr(passed);
  return {due, std::move(error)};
}

} // namespace superstep
