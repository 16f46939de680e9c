// SPDX-License-Identifier: Apache-2.0
// Reads the state of a saved thread: get_state() and get_state_history(). To find the pending tasks
// of a checkpoint, prepares the step that would follow it, but does not run it. state_edit.cpp
// shares the helpers in thread_access.hpp.
#include "threads/thread_access.hpp"
#include "threads/thread_run.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/threads/snapshot.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace detail {

void throw_graph_error(graph_errc code, std::string text) {
  throw graph_error{code, std::move(text)};
}

checkpointer& checkpointer_of(const program& table) {
  if (!table.options().checkpointer)
    throw_graph_error(graph_errc::no_checkpointer,
                      "graph '" + table.name() +
                          "' has no checkpointer: set compile_options::checkpointer");
  return *table.options().checkpointer;
}

std::string path_of(const program& table, const step_task& t) {
  const auto& name = table.node(t.node).name;
  return t.is_push() ? name + '#' + std::to_string(t.push_index) : name;
}

void record_finished(const run_state& run, super_step& step, const saved_checkpoint& saved) {
  const auto by_path = record_index{};
  for (auto i = std::uint32_t{0}; i < step.tasks.size(); ++i) {
    const auto* record = by_path.find(saved.tasks, path_of(run.table(), step.tasks[i]));
    if (record != nullptr && record->output)
      step.record(i, *record->output);
  }
}

void apply_finished(run_state& run, super_step& step, const saved_checkpoint& saved) {
  record_finished(run, step, saved);
  if (step.finished.empty())
    return;
  auto applied = apply(run, step);
  // LangGraph applies one more barrier, which empties the channels whose values live for one step
  if (applied) {
    step.clear();
    applied = apply(run, step);
  }
  if (!applied)
    throw graph_error{
        run_error{applied.error().code, applied.error().text, {}, run.step(), {}, 1, {}}};
}

void apply_callers_writes(run_state& run, const saved_checkpoint& saved) {
  const auto* said = record_index{}.find(saved.tasks, "");
  if (said == nullptr || !said->output)
    return;
  if (auto applied = run.apply_command(*said->output); !applied)
    throw graph_error{
        run_error{applied.error().code, applied.error().text, {}, run.step(), {}, 1, {}}};
}

} // namespace detail

namespace {

using namespace detail;

/// Returns the namespace of the checkpoints of a task's subgraph.
std::string nested_ns_of(const thread_key& key, const checkpoint& at, const detail::program& child,
                         const std::string& node, const std::string& path) {
  return nested_namespace(key.ns, child.options().persistence, node, path + '@' + at.id, 0);
}

/// Converts saved checkpoints of one thread to snapshots.
class reader {
public:
  reader(const detail::program_ptr& table, const thread_key& key,
         superstep::checkpointer& checkpointer, bool with_subgraphs)
      : table_{table}, key_{key}, checkpointer_{checkpointer}, with_subgraphs_{with_subgraphs} {}

  state_snapshot read(const saved_checkpoint& saved, bool is_live) const {
    SUPERSTEP_ASSERT(saved.checkpoint != nullptr && saved.checkpoint->layout != nullptr);
    // The tasks and their order are those of a run that starts from this checkpoint.
    auto run = run_state{};
    run.reset(table_, id_source{key_.thread_id}, 1);
    run.restore(saved.checkpoint.get());
    auto step = super_step{};
    (void)prepare(run, step);
    auto out = state_snapshot{table_, saved.checkpoint, {}, {}, {}, key_.thread_id, key_.ns};
    const auto by_path = record_index{};
    for (const auto number : in_declaration_order(step)) {
      const auto& t = step.tasks[number];
      out.tasks.push_back(describe(saved, by_path, t, is_live));
      if (!is_live || !out.tasks.back().result)
        out.next.push_back(out.tasks.back().node);
    }
    run.count_step(-1); // ids are those that the run makes, which applies the writes first
    apply_callers_writes(run, saved);
    run.count_step();
    if (is_live)
      apply_finished(run, step, saved);
    out.state = run.state();
    return out;
  }

private:
  /// Returns the tasks in LangGraph's order: START and Sends in their order, then nodes in the
  /// order of declaration.
  [[nodiscard]] std::vector<std::uint32_t> in_declaration_order(const super_step& step) const {
    auto out = std::vector<std::uint32_t>(step.tasks.size());
    for (auto i = std::uint32_t{0}; i < out.size(); ++i)
      out[i] = i;
    const auto& declared = table_->declaration_order();
    auto rank = std::vector<std::size_t>(table_->nodes().size()); // by node number, from 1
    for (auto i = std::size_t{0}; i < declared.size(); ++i)
      rank[declared[i]] = i + 1;
    std::ranges::stable_sort(out, {}, [&](std::uint32_t i) {
      const auto& t = step.tasks[i];
      return t.is_push() || t.node == detail::program::no_node ? std::size_t{0} : rank[t.node];
    });
    return out;
  }

  [[nodiscard]] task_snapshot describe(const saved_checkpoint& saved, const record_index& by_path,
                                       const step_task& t, bool is_live) const {
    auto out = task_snapshot{};
    const auto& entry = table_->node(t.node);
    out.node = entry.name;
    out.task = path_of(*table_, t);
    if (const auto* record = by_path.find(saved.tasks, out.task)) {
      if (record->output)
        out.result.emplace(record->output->writes.begin(), record->output->writes.end());
      if (record->interrupts && !(is_live && record->output))
        out.interrupts = *record->interrupts;
      out.error = record->error;
      out.cause = record->cause;
    }
    // a subgraph without persistence has no checkpoints to show
    const auto child = entry.body ? entry.body->nested() : detail::program_ptr{};
    if (!child || child->options().persistence == persistence::none)
      return out;
    out.nested_ns = nested_ns_of(key_, *saved.checkpoint, *child, out.node, out.task);
    if (with_subgraphs_) {
      const auto below = thread_key{key_.thread_id, out.nested_ns};
      const auto found = checkpointer_.load(below, "", child->layout());
      // It is the newest state of the subgraph, also if the caller has named a checkpoint.
      out.nested = std::make_shared<const state_snapshot>(
          found ? reader{child, below, checkpointer_, true}.read(*found, true)
                : state_snapshot{child, {}, {}, {}, {}, below.thread_id, below.ns});
    }
    return out;
  }

  const detail::program_ptr& table_;
  const thread_key& key_;
  superstep::checkpointer& checkpointer_;
  bool with_subgraphs_;
};

} // namespace

void detail::check_place(const program& table, const thread_place& place) {
  if (place.thread_id.empty()) {
    auto unnamed = run_error{};
    unnamed.code = make_error_code(errc::invalid_argument);
    unnamed.text =
        "the states of graph '" + table.name() + "' belong to threads: set run_config::thread_id";
    throw graph_error{std::move(unnamed)};
  }
  const auto node = place.ns.substr(0, place.ns.find_first_of(":|"));
  const auto number = table.find(node);
  if (number == program::no_node || !table.node(number).body || !table.node(number).body->nested())
    return;
  throw_graph_error(graph_errc::unknown_checkpoint,
                    "the checkpoint_ns '" + place.ns + "' belongs to the subgraph '" + node +
                        "' of graph '" + table.name() +
                        "', which has another state: compile the graph of '" + node +
                        "' with the same checkpointer, and pass that graph");
}

/// The format is that of LangGraph's checkpoint_ns: `node:task` for each level, separated by `|`.
std::string nested_namespace(std::string_view parent, persistence kept, std::string_view node,
                             std::string_view task_key, std::uint32_t count) {
  auto out = std::string{};
  // without task keys, so that all calls on the thread share the namespace
  if (kept == persistence::per_thread) {
    for (auto rest = parent; !rest.empty();) {
      const auto bar = rest.find('|');
      const auto part = rest.substr(0, bar);
      out += std::string{part.substr(0, part.find(':'))} + '|';
      rest = bar == std::string_view::npos ? std::string_view{} : rest.substr(bar + 1);
    }
    out += node;
  } else {
    if (!parent.empty())
      out = std::string{parent} + '|';
    out += std::string{node} + ':' + std::string{task_key};
  }
  if (count > 0)
    out += '.' + std::to_string(count);
  return out;
}

std::vector<interrupt> state_snapshot::interrupts() const {
  auto out = std::vector<interrupt>{};
  for (const auto& t : tasks)
    out.insert(out.end(), t.interrupts.begin(), t.interrupts.end());
  return out;
}

run_config state_snapshot::config() const {
  auto out = run_config{};
  out.thread_id = thread_id;
  if (checkpoint != nullptr || !ns.empty()) {
    auto& place = out.thread.emplace();
    place.checkpoint_id = checkpoint != nullptr ? checkpoint->id : std::string{};
    place.checkpoint_ns = ns;
  }
  return out;
}

state_snapshot detail::get_state(const detail::program_ptr& table,
                                 const detail::thread_place& place, bool with_subgraphs) {
  auto& checkpointer = checkpointer_of(*table);
  check_place(*table, place);
  const auto key = thread_key{place.thread_id, place.ns};
  const auto saved = checkpointer.load(key, place.checkpoint_id, table->layout());
  if (!saved && !place.checkpoint_id.empty())
    throw_graph_error(graph_errc::unknown_checkpoint, "thread '" + place.thread_id +
                                                          "' has no checkpoint '" +
                                                          place.checkpoint_id + "'");
  if (!saved)
    return {table, {}, {}, {}, {}, key.thread_id, key.ns};
  return reader{table, key, checkpointer, with_subgraphs}.read(*saved, place.checkpoint_id.empty());
}

std::vector<state_snapshot> detail::state_history(const detail::program_ptr& table,
                                                  const detail::thread_place& place,
                                                  const checkpoint_query& query) {
  auto& checkpointer = checkpointer_of(*table);
  check_place(*table, place);
  const auto key = thread_key{place.thread_id, place.ns};
  const auto r = reader{table, key, checkpointer, false};
  auto out = std::vector<state_snapshot>{};
  for (const auto& saved : checkpointer.list(key, query, table->layout()))
    out.push_back(r.read(saved, false));
  return out;
}

} // namespace superstep
