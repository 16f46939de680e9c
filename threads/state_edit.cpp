// SPDX-License-Identifier: Apache-2.0
// Edits a saved thread outside a run: update_state(), bulk_update_state() and copy_state(). An edit
// prepares and applies a step like a run, but runs only the routers of nodes and no bodies, and
// saves one checkpoint. The rules are those of update_state() in langgraph/pregel/main.py
// (LangGraph 1.2.22).
#include "base/deadline.hpp"
#include "runtime/json_layout.hpp"
#include "threads/thread_access.hpp"
#include "threads/thread_run.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/threads/snapshot.hpp>

#include <algorithm>
#include <future>
#include <iterator>
#include <utility>

namespace superstep {

namespace {

using namespace detail;

checkpoint_error in_use_by_a_run(const std::string& thread_id) {
  return {make_error_code(checkpoint_errc::in_use),
          "thread '" + thread_id +
              "' is in use by a run or another edit: repeat this edit when the thread is free"};
}

/// The number of remaining steps that a router sees during an edit; LangGraph uses the same number.
constexpr auto edit_steps_left = std::int64_t{2};

/// The checkpoints and task records of one call. They are saved when all of its edits have
/// succeeded.
struct prepared_edits {
  struct task {
    checkpoint_ptr after;
    task_record record;
  };
  std::vector<checkpoint_ptr> points;
  std::vector<task> tasks;
};

/// The lease on a thread during an edit. Meanwhile runs and other edits of the thread wait.
class held_thread {
public:
  held_thread(superstep::checkpointer& checkpointer, const detail::thread_place& place,
              std::chrono::milliseconds timeout)
      : checkpointer_{checkpointer}, key_{place.thread_id, place.ns},
        lease_{take(checkpointer, place.thread_id, timeout)} {}

  /// Saves the edits; returns the id of the last checkpoint. Waits until they are durable, because
  /// no later call could report that they are not.
  std::string save(prepared_edits edits) {
    SUPERSTEP_ASSERT(!edits.points.empty());
    auto id = edits.points.back()->id;
    for (auto& point : edits.points)
      put(std::move(point));
    settle();
    // The records come last, because a resumed run takes them for the results of its tasks: an edit
    // that is not saved must leave none.
    try {
      for (auto& [after, record] : edits.tasks)
        checkpointer_.put_task(key_, *after, std::move(record));
      settle();
    } catch (const checkpoint_error&) {
      // The edit is saved. Only the history does not show it as the result of a task.
    }
    return id;
  }

private:
  void put(checkpoint_ptr point) {
    if (lease_ && !lease_->is_held())
      throw checkpoint_error{make_error_code(checkpoint_errc::conflict),
                             "thread '" + key_.thread_id +
                                 "' was taken over by a run, so the edit was not saved: read the "
                                 "state again, then repeat the edit"};
    checkpointer_.put_now(key_, std::move(point));
  }
  void settle() {
    // shared, because the thread that sets the value may still use it after the wait
    const auto saved = std::make_shared<std::promise<void>>();
    if (checkpointer_.when_saved(key_, [saved] { saved->set_value(); }))
      saved->get_future().wait();
    checkpointer_.check(key_);
  }
  static lease_ptr take(superstep::checkpointer& checkpointer, const std::string& thread_id,
                        std::chrono::milliseconds timeout) {
    const auto given = std::make_shared<std::promise<result<lease_ptr>>>();
    auto got = given->get_future();
    const auto choice = timeout.count() > 0 ? busy_policy::wait : busy_policy::refuse;
    // If the lease is granted after the timeout, nothing takes it from the promise. It is then
    // released when the promise is destroyed.
    checkpointer.take(thread_id, choice,
                      [given](result<lease_ptr> lent) { given->set_value(std::move(lent)); });
    const auto until = deadline_after(std::chrono::steady_clock::now(), timeout);
    if (got.wait_until(until) != std::future_status::ready)
      throw in_use_by_a_run(thread_id);
    auto lent = got.get();
    if (!lent)
      throw checkpoint_error{lent.error().code, lent.error().text};
    return std::move(*lent);
  }

  superstep::checkpointer& checkpointer_;
  thread_key key_;
  lease_ptr lease_;
};

/// Applies one edit to a thread. It loads the position of the thread, applies the edit like the
/// outputs of a step, and prepares the checkpoint of the new position.
class editor {
public:
  editor(const detail::program_ptr& table, const detail::thread_place& place,
         prepared_edits& prepared)
      : table_{table}, place_{place}, checkpointer_{checkpointer_of(*table)},
        key_{place.thread_id, place.ns}, prepared_{prepared} {}

  /// Applies the edits of one super-step to the last prepared checkpoint. The first step is applied
  /// to the saved checkpoint that `place_` selects.
  void edit(const std::vector<detail::state_edit>& all) {
    if (all.empty())
      throw_graph_error(graph_errc::invalid_update,
                        "bulk_update_state(): a step has no updates; add one or remove the step");
    load();
    if (all.size() > 1)
      check_several(all);
    if (is_clearing(all.front()))
      clear_pending();
    else
      write_all(all);
    run_.count_step();
    prepare_checkpoint(checkpoint_source::update, saved_ ? saved_->checkpoint->id : std::string{});
  }

  void copy() {
    load();
    if (!saved_)
      throw_graph_error(graph_errc::unknown_checkpoint,
                        "thread '" + place_.thread_id + "' has no checkpoint to copy");
    run_.count_step();
    prepare_checkpoint(checkpoint_source::fork, saved_->checkpoint->parent);
  }

private:
  void load() {
    check_place(*table_, place_);
    if (prepared_.points.empty())
      saved_ = checkpointer_.load(key_, place_.checkpoint_id, table_->layout());
    else
      saved_.emplace(prepared_.points.back(), std::vector<task_record>{});
    if (!saved_ && !place_.checkpoint_id.empty())
      throw_graph_error(graph_errc::unknown_checkpoint, "thread '" + place_.thread_id +
                                                            "' has no checkpoint '" +
                                                            place_.checkpoint_id + "'");
    run_.reset(table_, id_source{place_.thread_id}, 1);
    run_.restore(saved_ ? saved_->checkpoint.get() : nullptr);
    if (!saved_) // on a new thread the edit replaces the input, so the next step is the first
      run_.count_step();
  }

  /// Applies the outputs of pending tasks that have already ended, and discards the other pending
  /// tasks. The nodes that these outputs trigger are pending afterwards.
  void clear_pending() {
    auto step = super_step{};
    (void)prepare(run_, step);
    if (saved_) {
      apply_callers_writes(run_, *saved_);
      record_finished(run_, step, *saved_);
    }
    apply_or_throw(apply_unfinished(run_, step));
    run_.count_step(-1);
  }

  void apply_or_throw(const result<void>& applied) const {
    if (!applied)
      throw graph_error{
          run_error{applied.error().code, applied.error().text, {}, run_.step(), {}, 1, {}}};
  }

  static bool is_clearing(const detail::state_edit& e) {
    return e.as_node == detail::end_node && !e.values;
  }

  static void check_several(const std::vector<detail::state_edit>& all) {
    for (const auto& e : all) {
      if (e.as_node.empty())
        throw_graph_error(graph_errc::invalid_update,
                          "if a step has several updates, each of them must set as_node");
      if (is_clearing(e))
        throw_graph_error(graph_errc::invalid_update,
                          "an update with as_node END and no values must be the only update of its "
                          "step");
    }
  }

  [[nodiscard]] std::uint32_t node_for(const std::string& name) const {
    if (name.empty()) {
      if (const auto last = run_.last_node())
        return *last;
      throw_graph_error(graph_errc::invalid_update,
                        "it is ambiguous which node ran last: set as_node");
    }
    if (name == detail::start_node)
      return detail::program::no_node;
    const auto found = table_->find(name);
    if (found == detail::program::no_node)
      throw_graph_error(graph_errc::invalid_update,
                        "as_node: the graph has no node '" + name + '\'');
    return found;
  }

  /// Whether the node writes a channel. As an input, START writes only input channels.
  [[nodiscard]] bool writes(std::uint32_t node, std::uint32_t channel) const {
    const auto& json = table_->json();
    return !json || node != detail::program::no_node ||
           std::ranges::binary_search(json->input, channel);
  }

  /// Returns the output that the node would have produced: the values, and the targets that the
  /// node's routers choose for them.
  [[nodiscard]] node_output output_of(const detail::state_edit& wanted, std::uint32_t node) const {
    auto out = node_output{};
    if (wanted.values)
      std::ranges::copy_if(*wanted.values, std::back_inserter(out.writes),
                           [&](const write& w) { return writes(node, w.channel); });
    auto settings = run_config{};
    settings.thread_id = place_.thread_id;
    const auto config = std::make_shared<const run_config>(std::move(settings));
    auto input = body_input{};
    input.table = table_.get();
    const auto state = run_.state();
    input.state = state.get();
    input.config = &config;
    input.node = node;
    input.step = run_.step();
    input.keep_writes = true;
    input.steps_left = edit_steps_left;
    for (const auto& to : wanted.go_to)
      table_->go_to(out, to);
    out.sends = wanted.sends;
    out.for_routers = wanted.for_routers;
    detail::run_routers(input, out);
    return out;
  }

  void write_all(const std::vector<detail::state_edit>& all) {
    auto step = super_step{};
    auto outputs = std::vector<node_output>{};
    for (auto i = std::uint32_t{0}; i < all.size(); ++i) {
      const auto node = node_for(all[i].as_node);
      outputs.push_back(output_of(all[i], node));
      lend(node, outputs.back());
      // Several edits get push indexes, so that they are applied in the order of the list and not
      // by name.
      step.tasks.push_back({node, all.size() > 1 ? i : step_task::pull, {}, {}, {}, 1, 0, false});
    }
    run_.drop_pending();
    for (auto i = std::uint32_t{0}; i < outputs.size(); ++i)
      step.record(i, std::move(outputs[i]));
    apply_or_throw(apply_edit(run_, step));
  }

  /// Records the edit also as the result of a pending task of the node, so that the history shows
  /// it. Not done if the thread has newer checkpoints, because a branch from this checkpoint would
  /// load the record.
  void lend(std::uint32_t node, const node_output& out) {
    if (!saved_ || saved_->checkpoint->id != newest_id())
      return;
    auto pending = run_state{};
    pending.reset(table_, id_source{place_.thread_id}, 1);
    pending.restore(saved_->checkpoint.get());
    auto step = super_step{};
    (void)prepare(pending, step);
    const auto by_path = record_index{};
    for (const auto& t : step.tasks) {
      if (t.node != node)
        continue;
      auto path = path_of(*table_, t);
      const auto* record = by_path.find(saved_->tasks, path);
      if (record != nullptr && record->output)
        continue;
      auto given = task_record{};
      given.task = std::move(path);
      given.output.emplace();
      given.output->writes.assign(out.writes.begin(), out.writes.end());
      given.output->targets.assign(out.targets.begin(), out.targets.end());
      given.output->sends.assign(out.sends.begin(), out.sends.end());
      prepared_.tasks.push_back({saved_->checkpoint, storable_part(given, *table_->layout())});
      return;
    }
  }

  void prepare_checkpoint(checkpoint_source source, std::string parent) {
    auto made = std::make_shared<checkpoint>();
    made->id = next_id();
    made->parent = std::move(parent);
    made->source = source;
    made->step = run_.step();
    made->layout = table_->layout();
    made->state = run_.state();
    made->where = run_.where();
    if (source == checkpoint_source::update) // a copy has none, as in LangGraph
      made->metadata = place_.metadata;
    prepared_.points.push_back(storable_part(std::move(made)));
  }

  /// Returns the id of the newest checkpoint, including prepared ones.
  [[nodiscard]] std::string newest_id() const {
    return prepared_.points.empty() ? checkpointer_.head(key_) : prepared_.points.back()->id;
  }

  /// Returns the id of the new checkpoint. If the caller has specified a checkpoint, it follows the
  /// newest one. Otherwise it follows the one that was loaded, and if a newer one was saved
  /// meanwhile, saving fails with a conflict. The ids of a subgraph begin with the id of the
  /// parent's checkpoint.
  [[nodiscard]] std::string next_id() const {
    auto last = std::string{};
    if (!place_.checkpoint_id.empty())
      last = newest_id();
    else if (saved_)
      last = saved_->checkpoint->id;
    return next_checkpoint_id(last, std::string_view{last}.substr(0, last.rfind('.') + 1));
  }

  const detail::program_ptr& table_;
  const detail::thread_place& place_;
  superstep::checkpointer& checkpointer_;
  thread_key key_;
  prepared_edits& prepared_;
  std::optional<saved_checkpoint> saved_;
  run_state run_;
};

} // namespace

std::string detail::update_state(const detail::program_ptr& table,
                                 const detail::thread_place& place, detail::state_edit edit,
                                 std::chrono::milliseconds timeout) {
  auto step = std::vector<detail::state_edit>{};
  step.push_back(std::move(edit));
  return bulk_update_state(table, place, {std::move(step)}, timeout);
}

std::string detail::bulk_update_state(const detail::program_ptr& table,
                                      const detail::thread_place& place,
                                      std::vector<std::vector<detail::state_edit>> steps,
                                      std::chrono::milliseconds timeout) {
  if (steps.empty())
    throw_graph_error(graph_errc::invalid_update,
                      "bulk_update_state(): the list of steps is empty; add at least one step");
  auto thread = held_thread{checkpointer_of(*table), place, timeout};
  auto prepared = prepared_edits{};
  for (const auto& step : steps)
    editor{table, place, prepared}.edit(step);
  return thread.save(std::move(prepared));
}

std::string detail::copy_state(const detail::program_ptr& table, const detail::thread_place& place,
                               std::chrono::milliseconds timeout) {
  auto thread = held_thread{checkpointer_of(*table), place, timeout};
  auto prepared = prepared_edits{};
  editor{table, place, prepared}.copy();
  return thread.save(std::move(prepared));
}

} // namespace superstep
