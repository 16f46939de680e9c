// SPDX-License-Identifier: Apache-2.0
// Starts nested runs: a subgraph that is a node, or a graph that a body invokes. A nested run has
// its own run record on the same lane and a link to the call that started it (nested_in). It saves
// its state in a namespace of its parent's thread, and uses its parent's stream, store and cache.
#include "engine_core.hpp"
#include "lane.hpp"

#include <utility>

namespace superstep {

/// Passes the store and the cache of the outermost run to a nested run.
void lane::share_resources(const run& r, nesting& below) {
  if (const auto& own = r.request.below) {
    below.memory = own->memory;
    below.cache = own->cache;
    return;
  }
  const auto& options = r.table().options();
  const auto& set = r.request.config->thread;
  below.memory = set && set->store ? set->store : options.store;
  below.cache = set && set->cache ? set->cache : options.cache;
}

void lane::begin_nested(call& parent, std::uint32_t generation, detail::program_ptr table,
                        write_list input, completer<detail::nested_outcome> done) {
  // the parent's call has ended meanwhile
  if (parent.generation != generation || parent.owner == nullptr)
    return;
  auto& r = *parent.owner;
  const auto& t = r.step.tasks[parent.task_number];
  const auto how = table->options().persistence;
  const auto& node = r.table().node(t.node).name;
  const auto path = r.task_path(t);
  const auto key =
      r.thread ? r.thread->task_key(path) : path + '@' + std::to_string(r.state.step());
  auto below = std::make_shared<nested_in>();
  auto parent_ns = std::string{};
  if (const auto& above = r.request.below) {
    below->path = above->path;
    below->travel = above->travel;
    parent_ns = above->ns;
  } else if (r.thread) {
    below->travel = r.thread->travel();
  }
  below->path.push_back(node);
  below->ns = nested_namespace(parent_ns, how, node, key, parent.nested++);
  if (r.thread && how != persistence::none) {
    below->checkpointer = r.thread->checkpointer();
    below->id_prefix = r.thread->at() ? r.thread->at()->id : std::string{};
    below->is_persistent = how == persistence::per_thread;
    // A run that starts from an older checkpoint does not resume its subgraphs: they start again
    // from their input.
    below->must_resume = (r.thread->is_first_step() && !below->travel) || t.attempt > 1;
  }
  below->above = &r;
  below->above_generation = r.generation;
  below->caller = &parent;
  below->caller_generation = parent.generation;
  if (parent.has_deadline)
    below->due = parent.due;
  share_resources(r, *below);
  below->answers = parent.talk ? parent.talk->given : nullptr;
  below->journal = parent.talk ? parent.talk->place.journal : nullptr;
  auto request = run_request{};
  request.table = std::move(table);
  request.input = detail::run_input{std::move(input)};
  request.config = r.request.config;
  request.below = std::move(below);
  if (r.streams(stream_mode::subgraphs)) {
    request.modes = r.request.modes;
    request.sink = r.request.sink;
  }
  const auto number = expect_run();
  request.done = [done](detail::raw_result raw) {
    done(detail::nested_outcome{std::move(raw.shown), std::move(raw.error),
                                std::move(raw.interrupts), std::move(raw.to_parent)});
  };
  begin_run(number, std::move(request));
  if (find_run(number) != nullptr)
    done.on_abandon([core = core_.weak_from_this(), number, lane = index_] {
      if (const auto alive = core.lock())
        alive->cancel({number, lane});
    });
}

} // namespace superstep
