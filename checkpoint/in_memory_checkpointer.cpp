// SPDX-License-Identifier: Apache-2.0
// The checkpointer in memory. It keeps the checkpoint objects of the runs, without converting them
// to JSON. Only these operations use JSON: the export and import of a thread (exported_thread.cpp),
// the loading of a thread that another version of the graph has written (checkpoint_reader.cpp),
// and show() and history() (row_views.cpp).
//
// Deleted checkpoints are destroyed without the lock, because destructors of values are user code.
#include "in_memory_checkpointer.hpp"

#include "checkpoint_codec.hpp"
#include "exported_thread.hpp"
#include "lease_queue.hpp"
#include "ownership.hpp"
#include "row_views.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <iterator>
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

checkpoint_header in_memory_checkpointer::entry::header() const {
  if (raw)
    return raw->header;
  const auto& point = *typed.checkpoint;
  return {point.id, point.parent, point.source, point.step};
}

const json::object* in_memory_checkpointer::entry::metadata() const {
  return raw ? metadata_in(raw->held.where) : typed.checkpoint->metadata.get();
}

bool in_memory_checkpointer::entry::meets(const checkpoint_query& query) const {
  const auto source = raw ? raw->header.source : typed.checkpoint->source;
  const auto step = raw ? raw->header.step : typed.checkpoint->step;
  return (!query.source || source == *query.source) && (!query.step || step == *query.step) &&
         has_entries(metadata(), query.metadata);
}

saved_checkpoint in_memory_checkpointer::entry::read(const layout_ptr& as,
                                                     const thread_key& key) const {
  if (!raw)
    return for_layout(typed, as, key);
  const auto reader = checkpoint_reader{*raw->layout, as, key};
  auto out = saved_checkpoint{reader.read(raw->header, raw->held), {}};
  auto merged = record_index{};
  for (const auto& t : raw->tasks)
    merged.add(out.tasks, checkpoint_reader{*t.layout, as, key}.read_task(t.row));
  return out;
}

void in_memory_checkpointer::entry::convert_to(const layout_ptr& as, const thread_key& key) {
  if (!raw && typed.checkpoint->layout == as)
    return;
  typed = read(as, key);
  raw.reset();
}

json::object in_memory_checkpointer::entry::describe(const thread_key& key) const {
  return raw ? detail::describe(key, raw->header, raw->layout->graph,
                                next_nodes(raw->held.where, *raw->layout), metadata())
             : detail::describe(key, header(), typed.checkpoint->layout->graph,
                                next_nodes(*typed.checkpoint), metadata());
}

std::vector<const in_memory_checkpointer::entry*>
in_memory_checkpointer::ns_points::select(const checkpoint_query& query) const {
  auto out = std::vector<const entry*>{};
  const auto end = query.before.empty() ? points.end() : points.lower_bound(query.before);
  for (auto i = std::make_reverse_iterator(end); i != points.rend(); ++i) {
    if (query.limit && out.size() >= *query.limit)
      break;
    if (i->second.meets(query))
      out.push_back(&i->second);
  }
  return out;
}

bool in_memory_checkpointer::is_empty(const thread_map::value_type& item) {
  return item.second.points.empty();
}

std::size_t in_memory_checkpointer::total_size(const std::vector<entries>& all) {
  auto out = std::size_t{0};
  for (const auto& some : all)
    out += some.size();
  return out;
}

/// Returns the oldest checkpoint of a subgraph that the remaining checkpoints of the outermost
/// graph need; end() if they need none. A run that resumes from a checkpoint of the outermost graph
/// restores each subgraph from the subgraph's newest checkpoint that is older. A run from an edit
/// restores those that are older than the edit's parent.
in_memory_checkpointer::entries::iterator
in_memory_checkpointer::first_needed(entries& subgraph, const entries& outermost) {
  auto bound = std::string{};
  const auto add = [&](const std::string& id) {
    if (id > subgraph.begin()->first && (bound.empty() || id < bound))
      bound = id;
  };
  for (const auto& [id, point] : outermost) {
    add(id);
    const auto head = point.header();
    if (head.source == checkpoint_source::update || head.source == checkpoint_source::fork)
      add(head.parent);
  }
  return bound.empty() ? subgraph.end() : std::prev(subgraph.lower_bound(bound));
}

in_memory_checkpointer::in_memory_checkpointer() : queue_{std::make_shared<lease_queue>()} {}

in_memory_checkpointer::~in_memory_checkpointer() = default;

void in_memory_checkpointer::take(const std::string& thread_id, busy_policy choice,
                                  std::function<void(result<lease_ptr>)> done) {
  queue_->take(thread_id, choice, std::move(done));
}

in_memory_checkpointer::ns_points* in_memory_checkpointer::find(const thread_key& key) {
  const auto found = threads_.find(key);
  return found == threads_.end() || found->second.points.empty() ? nullptr : &found->second;
}

in_memory_checkpointer::entry* in_memory_checkpointer::find(const thread_key& key,
                                                            std::string_view id) {
  auto* const of = find(key);
  if (of == nullptr)
    return nullptr;
  const auto found = id.empty() ? std::prev(of->points.end()) : of->points.find(id);
  return found == of->points.end() ? nullptr : &found->second;
}

std::optional<saved_checkpoint>
in_memory_checkpointer::load(const thread_key& key, std::string_view id, const layout_ptr& as) {
  const auto lock = std::scoped_lock{mutex_};
  auto* const found = find(key, id);
  if (found == nullptr)
    return std::nullopt;
  // The first graph that loads an imported checkpoint determines its layout. The records that a run
  // of this graph adds later then have the same layout.
  if (found->raw)
    found->convert_to(as, key);
  return found->read(as, key);
}

std::vector<saved_checkpoint> in_memory_checkpointer::list(const thread_key& key,
                                                           const checkpoint_query& query,
                                                           const layout_ptr& as) {
  auto out = std::vector<saved_checkpoint>{};
  const auto lock = std::scoped_lock{mutex_};
  if (const auto* const found = find(key))
    for (const auto* const e : found->select(query))
      out.push_back(e->read(as, key));
  return out;
}

std::string in_memory_checkpointer::head(const thread_key& key) {
  const auto lock = std::scoped_lock{mutex_};
  const auto* const found = find(key);
  return found == nullptr ? std::string{} : found->points.rbegin()->first;
}

void in_memory_checkpointer::put(const thread_key& key, checkpoint_ptr point) {
  SUPERSTEP_ASSERT(point != nullptr && !point->id.empty());
  auto added = entry{{storable_part(std::move(point)), {}}, {}}; // may call copies of user types
  const auto& id = added.typed.checkpoint->id;
  const auto lock = std::scoped_lock{mutex_};
  // The newest checkpoint is never pruned, so the thread of a missing parent was deleted.
  const auto& parent = added.typed.checkpoint->parent;
  if (!parent.empty() && find(key) == nullptr)
    throw checkpoint_error{thread_deleted(key.thread_id)};
  auto& points = threads_[key].points;
  if (!points.empty() && points.rbegin()->first >= id)
    throw checkpoint_error{make_error_code(checkpoint_errc::conflict),
                           "thread '" + key.thread_id + "' has checkpoint '" +
                               points.rbegin()->first + "', so checkpoint '" + id +
                               "' was not stored: another run has written to the thread; run again "
                               "to resume from the stored state"};
  // The new checkpoint contains the outputs of the tasks that had these effects. The tasks are not
  // repeated, so their effect records are no longer needed.
  if (key.ns.empty())
    effects_.erase(key.thread_id);
  points.emplace_hint(points.end(), id, std::move(added));
}

void in_memory_checkpointer::put_task(const thread_key& key, const checkpoint& parent,
                                      task_record record) {
  const auto lock = std::scoped_lock{mutex_};
  SUPERSTEP_ASSERT(!parent.id.empty());
  if (auto* const found = find(key, parent.id)) {
    // If a changed graph resumes the thread, the record has the layout of that graph.
    found->convert_to(parent.layout, key);
    found->index.add(found->typed.tasks, std::move(record));
  }
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
  auto gone = std::vector<thread_map::node_type>{};
  const auto lock = std::scoped_lock{mutex_};
  queue_->revoke(thread_id);
  if (const auto of = effects_.find(thread_id); of != effects_.end())
    effects_.erase(of);
  for (auto i = threads_.lower_bound({std::string{thread_id}, {}});
       i != threads_.end() && i->first.thread_id == thread_id;)
    gone.push_back(threads_.extract(i++));
}

std::size_t in_memory_checkpointer::delete_runs(const std::vector<std::string>& run_ids) {
  const auto is_going = [&](const auto& point) {
    return is_of_runs(point.second.metadata(), run_ids);
  };
  // The leases of the affected threads are acquired without the lock, because granting a lease may
  // start a run, which may use this checkpointer.
  auto names = std::set<std::string>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    for (const auto& [key, of] : threads_)
      if (std::ranges::any_of(of.points, is_going))
        names.insert(key.thread_id);
  }
  const auto leases = acquire_all(*queue_, names);
  auto gone = std::vector<entries>{};
  const auto lock = std::scoped_lock{mutex_};
  auto gone_ids = std::map<thread_key, std::set<std::string, std::less<>>>{};
  // The namespace of a parent graph is a prefix of its subgraphs' namespaces, so it comes first in
  // the map. When a subgraph is examined, `gone_ids` already contains the deleted checkpoints of
  // its parent.
  for (auto& [key, of] : threads_) {
    if (!names.contains(key.thread_id))
      continue;
    const auto owner = owner_of(key.ns);
    const auto lost_owner =
        owner && has_owner(owner->id, [&](std::string_view id) {
          return gone_ids[{key.thread_id, std::string{owner->parent}}].contains(id);
        });
    auto& ids = gone_ids[key];
    auto& taken = gone.emplace_back();
    for (auto i = of.points.begin(); i != of.points.end();) {
      const auto point = i++;
      if (!lost_owner && !is_going(*point))
        continue;
      ids.insert(point->first);
      taken.insert(of.points.extract(point));
    }
  }
  for (const auto& name : names)
    if (const auto root = threads_.find({name, {}});
        root != threads_.end() && root->second.points.empty())
      effects_.erase(name);
  std::erase_if(threads_, is_empty);
  return total_size(gone);
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
  for (const auto& [key, of] : threads_) {
    if (key.thread_id != thread_id)
      continue;
    auto base = checkpoint_ptr{};
    for (const auto& [id, e] : of.points) {
      auto& to = out.points.emplace_back();
      to.ns = key.ns;
      to.header = e.header();
      if (e.raw) {
        to.layout = layout_number(e.raw->layout_text);
        to.row = to_text(e.raw->held.whole_row());
        for (const auto& t : e.raw->tasks)
          to.tasks.push_back({layout_number(t.layout_text), to_text(t.row)});
        base.reset(); // there is no checkpoint object, so the next checkpoint is written whole
        continue;
      }
      const auto& point = *e.typed.checkpoint;
      const auto is_delta = base && base->layout == point.layout && base->id == point.parent;
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
  auto made = thread_map{};
  for (const auto& p : thread.points) {
    auto raw = std::make_shared<imported_checkpoint>();
    raw->layout = layouts[p.layout];
    raw->layout_text = thread.layouts[p.layout];
    raw->header = p.header;
    auto& points = made[{std::string{thread_id}, p.ns}].points;
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

std::vector<thread_summary> in_memory_checkpointer::threads(std::string_view after,
                                                            std::size_t limit) {
  const auto seconds = [](clock::time_point at) {
    return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  };
  auto out = std::vector<thread_summary>{};
  const auto lock = std::scoped_lock{mutex_};
  auto i = threads_.lower_bound({std::string{after}, {}});
  if (i != threads_.end() && i->first.thread_id == after)
    i = end_of_thread(i);
  while (i != threads_.end() && out.size() < limit) {
    auto& thread = out.emplace_back();
    thread.thread_id = i->first.thread_id;
    thread.created = seconds(i->second.created);
    if (const auto* const graph = find({thread.thread_id, {}}))
      thread.head = graph->points.rbegin()->first;
    for (const auto end = end_of_thread(i); i != end; ++i) {
      thread.created = std::min(thread.created, seconds(i->second.created));
      thread.checkpoints += std::ssize(i->second.points);
    }
  }
  return out;
}

std::optional<json::object> in_memory_checkpointer::show(const thread_key& key,
                                                         std::string_view id) {
  // A copy, because the functions that write values are user code. They run without the lock.
  auto e = entry{};
  {
    const auto lock = std::scoped_lock{mutex_};
    const auto* const found = find(key, id);
    if (found == nullptr)
      return std::nullopt;
    e = *found;
  }
  auto out = e.describe(key);
  auto tasks = json::array{};
  if (e.raw) {
    out["values"] = values_in(e.raw->held.whole_row());
    for (const auto& t : e.raw->tasks)
      tasks.push_back(t.row);
  } else {
    auto row = std::string{};
    const auto parsed = [&] {
      check_row_limits(row, key);
      return parse_row(row);
    };
    write_checkpoint(row, *e.typed.checkpoint, nullptr, &key);
    out["values"] = values_in(parsed().as_object());
    for (const auto& record : e.typed.tasks) {
      row.clear();
      write_task(row, record, *e.typed.checkpoint->layout, &key);
      tasks.push_back(parsed());
    }
  }
  out["tasks"] = std::move(tasks);
  return out;
}

std::vector<json::object> in_memory_checkpointer::history(const thread_key& key,
                                                          const checkpoint_query& query) {
  auto out = std::vector<json::object>{};
  const auto lock = std::scoped_lock{mutex_};
  if (const auto* const found = find(key))
    for (const auto* const e : found->select(query))
      out.push_back(e->describe(key));
  return out;
}

in_memory_checkpointer::thread_map::iterator
in_memory_checkpointer::end_of_thread(thread_map::iterator from) {
  return std::find_if(from, threads_.end(), [&](const auto& other) {
    return other.first.thread_id != from->first.thread_id;
  });
}

/// Whether the checkpoint that owns a subgraph's namespace no longer exists.
bool in_memory_checkpointer::is_orphan(const thread_key& key) const {
  const auto owner = owner_of(key.ns);
  if (!owner)
    return false;
  const auto parent = threads_.find({key.thread_id, std::string{owner->parent}});
  return parent == threads_.end() || !has_owner(owner->id, [&](std::string_view id) {
           return parent->second.points.contains(id);
         });
}

/// Prunes the namespaces of one thread, first that of the graph itself, then those of its
/// subgraphs. A namespace stays in the map, even if no checkpoint is left.
void in_memory_checkpointer::prune_thread(thread_map::iterator from, thread_map::iterator to,
                                          const prune_options& what, std::vector<entries>& gone) {
  const auto is_old = [&, now = clock::now()](const auto& item) {
    return what.older_than.count() == 0 ||
           std::chrono::floor<std::chrono::seconds>(now - item.second.made) >= what.older_than;
  };
  const auto goes = what.whole_threads && std::all_of(from, to, [&](const auto& item) {
                      return std::ranges::all_of(item.second.points, is_old);
                    });
  if (goes) {
    queue_->revoke(from->first.thread_id);
    effects_.erase(from->first.thread_id);
  }
  for (auto i = from; i != to; ++i) {
    auto& points = i->second.points;
    if (points.empty())
      continue;
    auto first = points.end(); // the first checkpoint that is kept
    if (!goes && !is_orphan(i->first)) {
      const auto kept = std::max(what.keep_last, std::size_t{1});
      first = kept < points.size() ? std::prev(first, static_cast<std::ptrdiff_t>(kept))
                                   : points.begin();
      const auto keep_from = [&](entries::iterator needed) {
        if (needed != points.end() && needed->first < first->first)
          first = needed;
      };
      if (what.older_than.count() > 0)
        keep_from(std::find_if_not(points.begin(), points.end(), is_old));
      if (i != from && from->first.ns.empty())
        keep_from(first_needed(points, from->second.points));
    }
    auto& taken = gone.emplace_back();
    while (points.begin() != first)
      taken.insert(points.extract(points.begin()));
  }
}

std::size_t in_memory_checkpointer::prune(const prune_options& what) {
  // Like the checkpointers in databases, it does not wait for runs. A run continues from the newest
  // checkpoint, which remains unless the whole thread is deleted. The run then fails.
  auto gone = std::vector<entries>{};
  const auto lock = std::scoped_lock{mutex_};
  if (!what.thread_id.empty()) {
    const auto from = threads_.lower_bound({what.thread_id, {}});
    if (from != threads_.end() && from->first.thread_id == what.thread_id)
      prune_thread(from, end_of_thread(from), what, gone);
    else if (what.whole_threads) // the thread may have effect records
      effects_.erase(what.thread_id);
  } else {
    for (auto from = threads_.begin(); from != threads_.end();) {
      const auto end = end_of_thread(from);
      prune_thread(from, end, what, gone);
      from = end;
    }
  }
  std::erase_if(threads_, is_empty);
  return total_size(gone);
}

std::shared_ptr<checkpointer> memory_checkpointer() {
  return std::make_shared<in_memory_checkpointer>();
}

} // namespace superstep
