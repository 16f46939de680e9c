// SPDX-License-Identifier: Apache-2.0
#include "runtime/thread_run.hpp"
#include "thread_access.hpp"

#include <superstep/runtime/snapshot.hpp>

#include <algorithm>
#include <future>
#include <utility>

namespace superstep {

namespace {

using namespace detail;

checkpoint_error in_use_by_a_run(const std::string& thread_id) {
  return {make_error_code(checkpoint_errc::in_use),
          "thread '" + thread_id + "' is in use by a run: edit it when that has ended"};
}

/// The steps that a branch sees as left while a state is edited, as in LangGraph.
constexpr auto edit_steps_left = std::int64_t{2};

/// A thread, for as long as it is edited. Runs and other edits wait until then.
class held_thread {
public:
  held_thread(superstep::checkpointer& checkpointer, const detail::thread_place& place,
              std::chrono::milliseconds patience)
      : checkpointer_{checkpointer}, key_{place.thread_id, place.ns},
        lease_{take(checkpointer, place.thread_id, patience)} {}

  void put(checkpoint_ptr point) {
    if (lease_ && !lease_->is_held())
      throw checkpoint_error{make_error_code(checkpoint_errc::conflict),
                             "thread '" + key_.thread_id + "' was taken over by a run"};
    checkpointer_.put_now(key_, std::move(point));
  }
  /// An edit counts once it is on the disk: nobody is there to be told later that it is not.
  void settle() {
    const auto saved = std::make_shared<std::promise<void>>(); // whoever sets it may still be at it
    if (checkpointer_.when_saved(key_, [saved] { saved->set_value(); }))
      saved->get_future().wait();
    checkpointer_.check(key_);
  }

private:
  static lease_ptr take(superstep::checkpointer& checkpointer, const std::string& thread_id,
                        std::chrono::milliseconds patience) {
    const auto given = std::make_shared<std::promise<result<lease_ptr>>>();
    auto got = given->get_future();
    const auto choice = patience.count() > 0 ? busy_policy::wait : busy_policy::refuse;
    // What comes when nobody waits for it any more goes back at once, with the promise.
    checkpointer.take(thread_id, choice,
                      [given](result<lease_ptr> lent) { given->set_value(std::move(lent)); });
    if (got.wait_for(patience) != std::future_status::ready)
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

/// One edit: a run that takes no step, only the place of one.
class editor {
public:
  editor(const detail::program_ptr& table, const detail::thread_place& place, held_thread& thread)
      : table_{table}, place_{place}, checkpointer_{checkpointer_of(*table)},
        key_{place.thread_id, place.ns}, thread_{thread} {}

  /// The edits of one super-step.
  std::string edit(const std::vector<detail::state_edit>& all) {
    if (all.empty())
      throw_graph_error(graph_errc::invalid_update, "No updates provided");
    load();
    if (saved_ && place_.checkpoint_id.empty())
      apply_callers_writes(run_, *saved_);
    if (all.size() > 1)
      check_several(all);
    if (is_clearing(all.front()))
      clear_pending();
    else
      write_all(all);
    run_.count_step();
    return save(checkpoint_source::update, saved_ ? saved_->checkpoint->id : std::string{});
  }

  std::string copy() {
    load();
    if (!saved_)
      throw_graph_error(graph_errc::unknown_checkpoint,
                        "thread '" + place_.thread_id + "': Cannot copy a non-existent checkpoint");
    run_.count_step();
    return save(checkpoint_source::fork, saved_->checkpoint->parent);
  }

private:
  void load() {
    saved_ = checkpointer_.load(key_, place_.checkpoint_id, table_->layout());
    if (!saved_ && !place_.checkpoint_id.empty())
      throw_graph_error(graph_errc::unknown_checkpoint, "thread '" + place_.thread_id +
                                                            "' has no checkpoint '" +
                                                            place_.checkpoint_id + "'");
    run_.reset(table_, place_.thread_id, 1);
    run_.restore(saved_ ? saved_->checkpoint.get() : nullptr);
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

  static bool is_clearing(const detail::state_edit& e) {
    return e.as_node == detail::end_node && !e.values;
  }

  static void check_several(const std::vector<detail::state_edit>& all) {
    for (const auto& e : all) {
      if (e.as_node.empty())
        throw_graph_error(graph_errc::invalid_update,
                          "as_node is required when applying multiple updates");
      if (is_clearing(e))
        throw_graph_error(graph_errc::invalid_update,
                          "Cannot apply multiple updates when clearing state");
    }
  }

  [[nodiscard]] std::uint32_t node_for(const std::string& name) const {
    if (name.empty()) {
      if (const auto last = run_.last_node())
        return *last;
      throw_graph_error(graph_errc::invalid_update, "Ambiguous update, specify as_node");
    }
    if (name == detail::start_node)
      return detail::program::no_node;
    const auto found = table_->find(name);
    if (found == detail::program::no_node)
      throw_graph_error(graph_errc::invalid_update, "Node " + name + " does not exist");
    return found;
  }

  /// What a node would have given: the values, and where its branches go with them.
  [[nodiscard]] node_output output_of(const detail::state_edit& wanted, std::uint32_t node) const {
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
      // Several count in the order in which they are listed, as Sends do, not by their names.
      step.tasks.push_back({node, all.size() > 1 ? i : step_task::pull, {}, {}, {}, 1, 0, false});
    }
    run_.drop_pending();
    for (auto i = std::uint32_t{0}; i < outputs.size(); ++i)
      step.record(i, std::move(outputs[i]));
    if (auto applied = apply_edit(run_, step); !applied)
      throw graph_error{
          run_error{applied.error().code, applied.error().text, {}, run_.step(), {}, 1, {}}};
  }

  /// A pending task of the node has its result now: the history shows it. Not where the thread has
  /// moved past the checkpoint, whose other branches would read it.
  void lend(std::uint32_t node, const node_output& out) {
    if (!saved_ || saved_->checkpoint->id != checkpointer_.head(key_))
      return;
    auto pending = run_state{};
    pending.reset(table_, place_.thread_id, 1);
    pending.restore(saved_->checkpoint.get());
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
      checkpointer_.put_task(key_, *saved_->checkpoint, storable_part(given, *table_->layout()));
      return;
    }
  }

  std::string save(checkpoint_source source, std::string parent) {
    auto made = std::make_shared<checkpoint>();
    made->id = next_id();
    made->parent = std::move(parent);
    made->source = source;
    made->step = run_.step();
    made->layout = table_->layout();
    made->state = run_.state();
    made->where = run_.where();
    auto id = made->id;
    thread_.put(std::move(made));
    return id;
  }

  /// After the checkpoint that was edited, not after what may have come since: that is a conflict.
  /// A subgraph's ids begin with the parent's checkpoint that it was called at.
  [[nodiscard]] std::string next_id() const {
    auto last = std::string{};
    if (!place_.checkpoint_id.empty())
      last = checkpointer_.head(key_);
    else if (saved_)
      last = saved_->checkpoint->id;
    return next_checkpoint_id(last, std::string_view{last}.substr(0, last.rfind('.') + 1));
  }

  const detail::program_ptr& table_;
  const detail::thread_place& place_;
  superstep::checkpointer& checkpointer_;
  thread_key key_;
  held_thread& thread_;
  std::optional<saved_checkpoint> saved_;
  run_state run_;
};

} // namespace

std::string detail::update_state(const detail::program_ptr& table,
                                 const detail::thread_place& place, detail::state_edit edit,
                                 std::chrono::milliseconds patience) {
  auto step = std::vector<detail::state_edit>{};
  step.push_back(std::move(edit));
  return bulk_update_state(table, place, {std::move(step)}, patience);
}

std::string detail::bulk_update_state(const detail::program_ptr& table,
                                      const detail::thread_place& place,
                                      std::vector<std::vector<detail::state_edit>> steps,
                                      std::chrono::milliseconds patience) {
  if (steps.empty())
    throw_graph_error(graph_errc::invalid_update, "No supersteps provided");
  auto thread = held_thread{checkpointer_of(*table), place, patience};
  auto at = place;
  for (const auto& step : steps)
    at.checkpoint_id = editor{table, at, thread}.edit(step);
  thread.settle();
  return at.checkpoint_id;
}

std::string detail::copy_state(const detail::program_ptr& table, const detail::thread_place& place,
                               std::chrono::milliseconds patience) {
  auto thread = held_thread{checkpointer_of(*table), place, patience};
  auto id = editor{table, place, thread}.copy();
  thread.settle();
  return id;
}

} // namespace superstep
