// SPDX-License-Identifier: Apache-2.0
// Handles tasks that need not run because their output is known. Such a task ended in an earlier
// attempt at the step, or its node has a cached output for the same input. This file also stores
// the outputs of the current attempt, in the thread's records and in the cache.
#include "task_records.hpp"

#include "call.hpp"
#include "run_events.hpp"
#include "user_code.hpp"

#include <superstep/checkpoint/write_cache.hpp>

#include <utility>

namespace superstep {

body_input reading(run& r, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  auto in = body_input{};
  in.table = &r.table();
  in.state = r.state.state().get();
  in.payload = t.is_push() ? &r.step.input_of(t).input : nullptr;
  in.config = &r.request.config;
  in.node = t.node;
  in.task_index = t.is_push() ? t.push_index : 0;
  in.step = r.state.step();
  in.store = r.memory;
  in.steps_left = r.state.steps_left();
  return in;
}

/// Records the outputs of this step's tasks that had ended before the run was interrupted or
/// failed. After a resume these tasks do not run again.
void take_known(run& r) {
  for (auto i = std::uint32_t{0}; i < r.step.tasks.size(); ++i) {
    const auto* known = r.thread->find(r.task_path(r.step.tasks[i]));
    const auto node = r.step.tasks[i].node;
    // If the task had failed, its error handler runs in its place.
    if (known != nullptr && !known->output && !known->error.empty() &&
        node != detail::program::no_node &&
        r.table().node(node).handler != detail::program::no_node) {
      auto why = make_run_error(graph_errc::node_failed, known->error, r.state.step());
      why.node = r.table().node(node).name;
      why.task = known->task;
      why.cause = known->cause;
      become_handler(r, i, std::make_shared<const run_error>(std::move(why)));
      known = r.thread->find(r.task_path(r.step.tasks[i]));
    }
    if (known == nullptr || !known->output)
      continue;
    r.step.record(i, *known->output);
    r.step.tasks[i].is_known = true;
  }
}

namespace {

/// Returns the cache key of a task; empty if the task's input has no JSON form or the key function
/// failed.
std::optional<std::string> cache_key(run& r, std::uint32_t number) {
  const auto& node = r.table().node(r.step.tasks[number].node);
  auto key = std::optional<std::string>{};
  call_user(r,
            "computing the cache key of node '" + node.name + "' (task " +
                r.task_path(r.step.tasks[number]) + ')',
            [&] {
              const auto input = reading(r, number);
              if (node.options.cache->key) {
                key = node.options.cache->key(input);
              } else if (const auto shown = node.body->show_input(input); !shown.is_null()) {
                key = to_canonical_text(shown);
              }
            });
  return key;
}

/// Sends the update event of a task whose output was known before.
void show_known(run& r, std::uint32_t number, const task_output& known) {
  auto output = node_output{};
  output.writes.assign(known.writes.begin(), known.writes.end());
  run_events{r}.update(number, output, true);
}

/// Returns the part of an output that is stored.
task_output stored_part(const node_output& output) {
  return {{output.writes.begin(), output.writes.end()},
          {output.targets.begin(), output.targets.end()},
          {output.sends.begin(), output.sends.end()}};
}

void look_up(run& r, std::uint32_t number) {
  const auto& t = r.step.tasks[number];
  if (t.node == detail::program::no_node)
    return;
  const auto& node = r.table().node(t.node);
  if (!node.options.cache)
    return;
  auto key = cache_key(r, number);
  if (!key)
    return;
  const auto scope = r.table().name() + '/' + node.name;
  auto known = std::optional<task_output>{};
  call_user(r, "the cache lookup of node '" + scope + '\'',
            [&] { known = r.cache->find(scope, *key, r.table().layout()); });
  if (known) {
    r.step.record(number, *known);
    r.step.tasks[number].is_known = true;
    show_known(r, number, *known);
    if (r.thread) {
      auto record = task_record{};
      record.task = r.task_path(t);
      record.output = *known;
      r.thread->add_record(std::move(record));
    }
    return;
  }
  r.more().cache_keys.insert_or_assign(number, std::move(*key));
}

} // namespace

/// Sends the events of known outputs and looks up the other tasks in the cache. Called after the
/// start events of the step's tasks were sent.
void begin_known(run& r) {
  const auto late =
      r.own_extras ? std::exchange(r.own_extras->late, {}) : std::vector<late_output>{};
  for (auto i = std::uint32_t{0}; i < r.step.tasks.size(); ++i) {
    if (!r.step.tasks[i].is_known) {
      if (r.cache != nullptr)
        look_up(r, i);
      continue;
    }
    show_known(r, i, r.step.output_of(r.step.tasks[i]));
  }
  cache_late(r, late);
}

void cache_late(run& r, const std::vector<late_output>& late) {
  for (const auto& l : late)
    call_user(r, "caching the output of node '" + l.scope + '\'',
              [&] { r.cache->put(l.scope, l.key, l.output, l.ttl, r.table().layout()); });
}

void cache_output(run& r, std::uint32_t number, const node_output& output) {
  auto& extras = r.more();
  const auto found = extras.cache_keys.find(number);
  if (found == extras.cache_keys.end())
    return;
  const auto& node = r.table().node(r.step.tasks[number].node);
  extras.late.push_back({r.table().name() + '/' + node.name, found->second, stored_part(output),
                         node.options.cache->ttl});
  if (r.events_of_tasks == task_events::at_once || !r.thread || !r.thread->checkpointer())
    cache_late(r, std::exchange(extras.late, {}));
}

/// Stores the resume values of tasks that have not ended when the run ends, so that they need not
/// be given again.
void keep_answers(run& r) {
  if (!r.thread || !r.thread->checkpointer())
    return;
  for (const auto* const c : r.open) {
    const auto asked = c->asked();
    if (!asked || c->extras().join)
      continue;
    auto record = task_record{};
    {
      const auto lock = std::scoped_lock{asked->mutex}; // the body may still be running
      if (!asked->was_answered)
        continue;
      record.answers = asked->answers;
    }
    record.task = r.task_path(r.step.tasks[c->task_number]);
    r.thread->add_record(std::move(record));
  }
}

/// Stores a record of a task on the run's thread: the task's output, error, interrupts and resume
/// values.
void record_in_thread(run& r, std::uint32_t number, const node_output* output,
                      const run_error* failure) {
  const auto& t = r.step.tasks[number];
  auto record = task_record{};
  record.task = r.task_path(t);
  // If the body ended and only its router failed, the task counts as run: its writes are kept, and
  // it does not run again.
  const auto has_edges = [&] {
    const auto& node = r.table().node(t.node);
    return !node.edges.empty() || !node.joins.empty();
  };
  if (output != nullptr && (failure == nullptr || !output->writes.empty() ||
                            !output->targets.empty() || (output->has_ended && has_edges())))
    record.output = stored_part(*output);
  if (failure != nullptr) {
    record.error = failure->text;
    record.cause = failure->cause;
  }
  if (const auto* asked = r.find_interrupts(number)) {
    if (asked->was_answered) // also stored for a failed task, so that the user is not asked again
      record.answers = asked->answers;
    if (output == nullptr && !asked->interrupts.empty())
      record.interrupts = asked->interrupts;
  }
  r.thread->add_record(std::move(record));
}

run_error task_error(run& r, std::uint32_t number, graph_errc code, std::exception_ptr cause) {
  const auto& t = r.step.tasks[number];
  auto error = run_error{};
  error.code = make_error_code(code);
  error.node = r.table().node(t.node).name;
  error.step = r.state.step();
  error.task = r.task_path(t);
  const auto where = "node '" + error.node + "' (task " + error.task + ", step " +
                     std::to_string(error.step) + ")";
  error.text = code == graph_errc::actor_exited
                   ? "the actor of " + where + " received an exit message"
                   : where + " failed: " + describe(cause);
  error.attempts = t.attempt;
  error.cause = std::move(cause);
  return error;
}

void become_handler(run& r, std::uint32_t number, std::shared_ptr<const run_error> why) {
  auto& t = r.step.tasks[number];
  t.failed_node = t.node;
  t.node = r.table().node(t.node).handler;
  t.attempt = 1;
  r.leave_fast_path();
  r.more().handled.insert_or_assign(number, std::move(why));
  // The handler is another task: it does not get the answers to the questions of the failed one.
  r.more().interrupts_by_task.erase(number);
}

} // namespace superstep
