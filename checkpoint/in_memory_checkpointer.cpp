// SPDX-License-Identifier: Apache-2.0
// The checkpointer in memory. It keeps the checkpoint objects of the runs, without converting them
// to JSON. Only two operations use JSON: the export and import of a thread (exported_thread.cpp),
// and the loading of a thread that another version of the graph has written
// (checkpoint_reader.cpp).
#include "in_memory_checkpointer.hpp"

#include "checkpoint_codec.hpp"
#include "exported_thread.hpp"
#include "lease_queue.hpp"
#include "ownership.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace superstep {

using namespace detail;

/// A checkpoint as it was imported. It stays JSON until a graph loads it, because only the graph
/// knows the types of the channels.
struct in_memory_checkpointer::imported_checkpoint {
  std::shared_ptr<const stored_layout> layout;
  std::string layout_text;
  checkpoint_header header;
  folded_checkpoint held;
  struct task {
    std::shared_ptr<const stored_layout> layout;
    std::string layout_text;
    json::value row;
  };
  std::vector<task> tasks;
};

in_memory_checkpointer::in_memory_checkpointer() : queue_{std::make_shared<lease_queue>()} {}

in_memory_checkpointer::~in_memory_checkpointer() = default;

void in_memory_checkpointer::take(const std::string& thread_id, busy_policy choice,
                                  std::function<void(result<lease_ptr>)> done) {
  queue_->take(thread_id, choice, std::move(done));
}

saved_checkpoint in_memory_checkpointer::read(const entry& e, const layout_ptr& as,
                                              const thread_key& key) {
  if (!e.raw)
    return for_layout(e.typed, as, key);
  const auto reader = checkpoint_reader{*e.raw->layout, as, key};
  auto out = saved_checkpoint{reader.read(e.raw->header, e.raw->held), {}};
  auto index = record_index{};
  for (const auto& t : e.raw->tasks)
    index.add(out.tasks, checkpoint_reader{*t.layout, as, key}.read_task(t.row));
  for (const auto& record : e.typed.tasks)
    index.add(out.tasks, record);
  return out;
}

std::optional<saved_checkpoint>
in_memory_checkpointer::load(const thread_key& key, std::string_view id, const layout_ptr& as) {
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end() || thread->second.empty())
    return std::nullopt;
  auto& points = thread->second;
  const auto found = id.empty() ? std::prev(points.end()) : points.find(id);
  if (found == points.end())
    return std::nullopt;
  // The first graph that loads an imported checkpoint determines its layout. The records that a run
  // of this graph adds later then have the same layout.
  if (found->second.raw)
    found->second = {read(found->second, as, key), {}};
  return for_layout(found->second.typed, as, key);
}

std::vector<saved_checkpoint> in_memory_checkpointer::list(const thread_key& key,
                                                           const checkpoint_query& query,
                                                           const layout_ptr& as) {
  auto out = std::vector<saved_checkpoint>{};
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end())
    return out;
  for (auto i = thread->second.rbegin(); i != thread->second.rend(); ++i) {
    if (query.limit && out.size() >= *query.limit)
      break;
    const auto& e = i->second;
    const auto source = e.raw ? e.raw->header.source : e.typed.checkpoint->source;
    const auto step = e.raw ? e.raw->header.step : e.typed.checkpoint->step;
    if ((!query.before.empty() && i->first >= query.before) ||
        (query.source && source != *query.source) || (query.step && step != *query.step))
      continue;
    auto found = read(e, as, key);
    if (!has_entries(found.checkpoint->metadata.get(), query.metadata))
      continue;
    out.push_back(std::move(found));
  }
  return out;
}

std::string in_memory_checkpointer::head(const thread_key& key) {
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end() || thread->second.empty())
    return {};
  return thread->second.rbegin()->first;
}

void in_memory_checkpointer::put(const thread_key& key, checkpoint_ptr point) {
  SUPERSTEP_ASSERT(point != nullptr && !point->id.empty());
  const auto lock = std::scoped_lock{mutex_};
  auto& points = threads_[key];
  if (!points.empty() && points.rbegin()->first >= point->id)
    throw checkpoint_error{make_error_code(checkpoint_errc::conflict),
                           "thread '" + key.thread_id + "' has checkpoint '" +
                               points.rbegin()->first + "', so checkpoint '" + point->id +
                               "' was not stored: another run has written to the thread; run again "
                               "to resume from the stored state"};
  // The new checkpoint contains the outputs of the tasks that had these effects. The tasks are not
  // repeated, so their effect records are no longer needed.
  if (key.ns.empty())
    effects_.erase(key.thread_id);
  auto id = point->id;
  points.emplace_hint(points.end(), std::move(id),
                      entry{{storable_part(std::move(point)), {}}, {}});
}

void in_memory_checkpointer::put_task(const thread_key& key, const checkpoint& parent,
                                      task_record record) {
  const auto lock = std::scoped_lock{mutex_};
  const auto thread = threads_.find(key);
  if (thread == threads_.end())
    return;
  const auto found = thread->second.find(parent.id);
  if (found != thread->second.end())
    found->second.index.add(found->second.typed.tasks, std::move(record));
}

std::optional<effect_record> in_memory_checkpointer::find_effect(std::string_view thread_id,
                                                                 std::string_view key) {
  const auto lock = std::scoped_lock{mutex_};
  const auto of = effects_.find(thread_id);
  if (of == effects_.end())
    return std::nullopt;
  const auto found = of->second.find(key);
  return found == of->second.end() ? std::nullopt : std::optional{found->second};
}

/// Fails if the start of an effect is already recorded, so that no two runs start the same effect.
void in_memory_checkpointer::put_effect(std::string_view thread_id, std::string_view key,
                                        std::optional<effect_record> record) {
  const auto lock = std::scoped_lock{mutex_};
  auto& records = effects_[std::string{thread_id}];
  const auto known = records.find(key);
  if (!record) {
    if (known != records.end())
      records.erase(known);
    return;
  }
  if (known == records.end())
    records.emplace(key, std::move(*record));
  else if (record->has_ended)
    known->second = std::move(*record);
  else
    throw effect_already_started(thread_id);
}

void in_memory_checkpointer::delete_thread(std::string_view thread_id) {
  const auto lock = std::scoped_lock{mutex_};
  if (const auto of = effects_.find(thread_id); of != effects_.end())
    effects_.erase(of);
  std::erase_if(threads_, [&](const auto& t) { return t.first.thread_id == thread_id; });
}

std::size_t in_memory_checkpointer::delete_runs(const std::vector<std::string>& run_ids) {
  const auto is_going = [&](const auto& point) {
    const auto& e = point.second;
    return is_of_runs(e.raw ? metadata_in(e.raw->held.where) : e.typed.checkpoint->metadata.get(),
                      run_ids);
  };
  // The leases of the affected threads are acquired without the lock, because granting a lease may
  // start a run, which may use this checkpointer.
  auto names = std::set<std::string>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    for (const auto& [key, points] : threads_)
      if (std::ranges::any_of(points, is_going))
        names.insert(key.thread_id);
  }
  const auto leases = acquire_all(*queue_, names);
  const auto lock = std::scoped_lock{mutex_};
  auto gone = std::map<thread_key, std::set<std::string, std::less<>>>{};
  auto count = std::size_t{0};
  // The namespace of a parent graph is a prefix of its subgraphs' namespaces, so it comes first in
  // the map. When a subgraph is examined, `gone` already contains the deleted checkpoints of its
  // parent.
  for (auto& [key, points] : threads_) {
    if (!names.contains(key.thread_id))
      continue;
    const auto owner = owner_of(key.ns);
    const auto lost_owner = owner && has_owner(owner->id, [&](std::string_view id) {
                              return gone[{key.thread_id, std::string{owner->parent}}].contains(id);
                            });
    for (const auto& point : points)
      if (lost_owner || is_going(point))
        gone[key].insert(point.first);
    count += std::erase_if(points, [&](const auto& p) { return gone[key].contains(p.first); });
  }
  for (const auto& name : names)
    if (const auto root = threads_.find({name, {}}); root != threads_.end() && root->second.empty())
      effects_.erase(name);
  std::erase_if(threads_, [](const auto& t) { return t.second.empty(); });
  return count;
}

std::string in_memory_checkpointer::export_thread(std::string_view thread_id) {
  const auto lock = std::scoped_lock{mutex_};
  auto out = exported_thread{};
  // Returns the index of a layout in the export. Each distinct layout is written once.
  const auto layout_number = [&](const std::string& text) {
    const auto found = std::ranges::find(out.layouts, text);
    if (found == out.layouts.end())
      out.layouts.push_back(text);
    return static_cast<std::size_t>(std::ranges::find(out.layouts, text) - out.layouts.begin());
  };
  for (const auto& [key, points] : threads_) {
    if (key.thread_id != thread_id)
      continue;
    auto base = checkpoint_ptr{};
    for (const auto& [id, e] : points) {
      auto& to = out.points.emplace_back();
      to.ns = key.ns;
      if (e.raw) {
        to.header = e.raw->header;
        to.layout = layout_number(e.raw->layout_text);
        to.row = to_text(e.raw->held.whole_row());
        for (const auto& t : e.raw->tasks)
          to.tasks.push_back({layout_number(t.layout_text), to_text(t.row)});
        base.reset(); // there is no checkpoint object, so the next checkpoint is written whole
        continue;
      }
      const auto& point = *e.typed.checkpoint;
      const auto is_delta = base && base->layout == point.layout && base->id == point.parent;
      to.header = {point.id, point.parent, point.source, point.step};
      to.base = is_delta ? base->id : std::string{};
      to.layout = layout_number(write_layout(*point.layout));
      write_checkpoint(to.row, point, is_delta ? base.get() : nullptr);
      for (const auto& record : e.typed.tasks) {
        to.tasks.push_back({to.layout, {}});
        write_task(to.tasks.back().row, record, *point.layout);
      }
      base = e.typed.checkpoint;
    }
  }
  if (out.points.empty())
    throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                           "thread '" + std::string{thread_id} + "' does not exist"};
  return write_thread(thread_id, out);
}

/// Reads the complete export before it changes anything. So a damaged export has no effect.
void in_memory_checkpointer::import_thread(std::string_view thread_id, std::string_view bytes) {
  const auto thread = read_thread(bytes);
  auto layouts = std::vector<std::shared_ptr<const stored_layout>>{};
  for (const auto& text : thread.layouts)
    layouts.push_back(std::make_shared<const stored_layout>(read_layout(text)));
  auto made = std::map<thread_key, line>{};
  for (const auto& p : thread.points) {
    auto raw = std::make_shared<imported_checkpoint>();
    raw->layout = layouts[p.layout];
    raw->layout_text = thread.layouts[p.layout];
    raw->header = p.header;
    auto& points = made[{std::string{thread_id}, p.ns}];
    if (!p.base.empty())
      raw->held = points.at(p.base).raw->held;
    raw->held.fold(std::move(parse_row(p.row).as_object()));
    for (const auto& t : p.tasks)
      raw->tasks.push_back({layouts[t.layout], thread.layouts[t.layout], parse_row(t.row)});
    points.emplace(p.header.id, entry{{}, std::move(raw)});
  }
  const auto lock = std::scoped_lock{mutex_};
  if (std::ranges::any_of(threads_, [&](const auto& t) { return t.first.thread_id == thread_id; }))
    throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                           "thread '" + std::string{thread_id} +
                               "' already exists; choose another id"};
  threads_.merge(made);
}

std::shared_ptr<checkpointer> memory_checkpointer() {
  return std::make_shared<in_memory_checkpointer>();
}

} // namespace superstep
