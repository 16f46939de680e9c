// SPDX-License-Identifier: Apache-2.0
#include "thread_access.hpp"

#include <superstep/runtime/thread_run.hpp>
#include <superstep/runtime/thread_state.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

using namespace detail;

/// One edit: a run that takes no step, only the place of one.
class editor {
public:
  editor(const program_ptr& table, const thread_place& place)
      : table_{table}, place_{place}, keeper_{saver_of(*table)}, key_{place.thread_id, place.ns} {}

  std::string edit(state_edit&& wanted) {
    load();
    if (saved_ && place_.checkpoint_id.empty())
      apply_callers_writes(run_, *saved_);
    if (wanted.as_node == end_node && !wanted.values)
      clear_pending();
    else
      write_as(wanted);
    run_.count_step();
    return save();
  }

private:
  void load() {
    saved_ = keeper_.load(key_, place_.checkpoint_id, table_->layout());
    if (!saved_ && !place_.checkpoint_id.empty())
      throw_graph_error(graph_errc::unknown_checkpoint, "thread '" + place_.thread_id +
                                                            "' has no checkpoint '" +
                                                            place_.checkpoint_id + "'");
    run_.reset(table_, place_.thread_id, 1);
    run_.go_on(saved_ ? saved_->point.get() : nullptr);
    if (!saved_) // an edit is as good as an input: the step after it is the first
      run_.count_step();
  }

  /// What tasks have given stays, and nothing is left to run.
  void clear_pending() {
    auto step = super_step{};
    (void)prepare(run_, step);
    if (saved_)
      apply_finished(run_, step, *saved_);
    (void)prepare(run_, step);
    run_.count_step(-2);
  }

  [[nodiscard]] std::uint32_t node_for(const std::string& name) const {
    if (name.empty()) {
      if (const auto last = run_.last_node())
        return *last;
      throw_graph_error(graph_errc::invalid_update, "Ambiguous update, specify as_node");
    }
    if (name == start_node)
      return program::no_node;
    const auto found = table_->find(name);
    if (found == program::no_node)
      throw_graph_error(graph_errc::invalid_update, "Node " + name + " does not exist");
    return found;
  }

  void write_as(state_edit& wanted) {
    const auto node = node_for(wanted.as_node);
    auto out = node_output{};
    if (wanted.values)
      out.writes.assign(wanted.values->begin(), wanted.values->end());
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
    run_routers(input, out);
    lend(node, out);
    run_.drop_pending();
    auto step = super_step{};
    step.tasks.push_back({node, step_task::pull, {}, {}, {}, 1, 0, false});
    step.record(0, std::move(out));
    if (auto applied = apply_edit(run_, step); !applied)
      throw graph_error{
          run_error{applied.error().code, applied.error().text, {}, run_.step(), {}, 1, {}}};
  }

  /// A pending task of the node has its result now: the history shows it.
  void lend(std::uint32_t node, const node_output& out) {
    if (!saved_)
      return;
    auto pending = run_state{};
    pending.reset(table_, place_.thread_id, 1);
    pending.go_on(saved_->point.get());
    auto step = super_step{};
    (void)prepare(pending, step);
    for (const auto& t : step.tasks) {
      const auto path = path_of(*table_, t);
      const auto* record = record_of(*saved_, path);
      if (t.node != node || (record != nullptr && record->output))
        continue;
      auto given = task_record{};
      given.task = path;
      given.output.emplace();
      given.output->writes.assign(out.writes.begin(), out.writes.end());
      given.output->targets.assign(out.targets.begin(), out.targets.end());
      given.output->sends = out.sends;
      keeper_.put_task(key_, saved_->point->id, std::move(given));
      return;
    }
  }

  std::string save() {
    auto made = std::make_shared<checkpoint>();
    made->id = next_checkpoint_id(keeper_.head(key_), "");
    made->parent = saved_ ? saved_->point->id : std::string{};
    made->source = checkpoint_source::update;
    made->step = run_.step();
    made->layout = table_->layout();
    made->state = run_.state();
    made->where = run_.where();
    auto id = made->id;
    keeper_.put(key_, std::move(made));
    return id;
  }

  const program_ptr& table_;
  const thread_place& place_;
  saver& keeper_;
  thread_key key_;
  std::optional<saved_checkpoint> saved_;
  run_state run_;
};

} // namespace

std::string update_state(const program_ptr& table, const thread_place& place, state_edit edit) {
  return editor{table, place}.edit(std::move(edit));
}

} // namespace superstep
