// SPDX-License-Identifier: Apache-2.0
// The checkpointer on a database. This file decides what is read and written. Other files do the
// work: row_reader.cpp loads, write_queue.cpp has the queue, row_checkpointer_maintenance.cpp
// imports, prunes and deletes. What differs between databases is behind checkpoint_backend.
//
// The newest checkpoint of each recently used thread is cached in a thread_state. The cache has two
// uses: a load often needs no access to the database, and the next checkpoint can be written as a
// delta to the cached one. Other processes may write to the database, so is_current() verifies the
// cache before it is used.
#include "exported_thread.hpp"
#include "lease_queue.hpp"
#include "pinned_lease.hpp"
#include "row_checkpointer_impl.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/checkpoint/sqlite.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace superstep {

using namespace detail;

namespace {

constexpr auto branch_bases_max = std::size_t{8};
constexpr auto namespaces_max = std::size_t{256}; // cached per thread, besides those in use
// A load reads all rows of a chain: the last whole row and the deltas after it. To bound the time
// of a load, a chain may have at most chain_factor times the size of a whole row, plus chain_min
// bytes. A list that only grows has small deltas and stays in one chain. A state that changes
// completely gets short chains. The size of a whole row is known only when one is written. So when
// a chain exceeds the limit, a whole row is written to measure it again.
constexpr auto chain_factor = std::int64_t{4};
constexpr auto chain_min = std::int64_t{32} << 10U;
constexpr auto row_overhead = std::int64_t{64};

/// Caches an older checkpoint that was loaded. A run may start a branch from it, and the branch's
/// first checkpoint is then a delta to it.
void keep_branch_base(namespace_head& head, loaded_checkpoint base_candidate) {
  head.branch_bases.push_front(std::move(base_candidate));
  if (head.branch_bases.size() > branch_bases_max)
    head.branch_bases.pop_back();
}

/// Returns an upper bound of the size of a row with task records; see complete_row().
std::size_t joined_size(const std::string& row, const std::vector<std::string>& tasks) {
  constexpr auto brackets = std::size_t{8};
  auto out = row.size() + brackets;
  for (const auto& task : tasks)
    out += task.size() + 1;
  return out;
}

bool is_at(const loaded_checkpoint& p, std::string_view id) noexcept {
  return p.saved.checkpoint && p.saved.checkpoint->id == id;
}

} // namespace

/// Whether a thread's state can be evicted: only the map refers to it, and all its writes are done.
bool row_checkpointer::impl::is_idle(const thread_state_ptr& thread) {
  return thread.use_count() == 1 && thread->saved == thread->enqueued &&
         std::ranges::all_of(thread->namespaces,
                             [](const auto& c) { return c.second->tasks.empty(); });
}

thread_state_ptr& row_checkpointer::impl::state_of(std::string_view thread_id) {
  auto found = threads_.find(thread_id);
  if (found == threads_.end()) {
    if (threads_.size() >= options_.threads_max && uses_ >= next_eviction_)
      evict();
    found = threads_.emplace(thread_id, std::make_shared<thread_state>()).first;
    found->second->thread_id = thread_id;
  }
  found->second->last_used = ++uses_;
  return found->second;
}

/// Removes the threads from the cache that were not used in the last threads_max / 2 accesses.
/// Threads in use and threads with a failed write stay. If many stay, each search would take long,
/// so the next one comes after half as many accesses.
void row_checkpointer::impl::evict() {
  const auto limit = uses_ - options_.threads_max / 2;
  std::erase_if(threads_, [&](const auto& b) {
    return b.second->last_used < limit && !b.second->failed && is_idle(b.second);
  });
  next_eviction_ = uses_ + threads_.size() / 2;
}

/// Removes the less recently used half of a thread's subgraph namespaces from the cache, except
/// those in use. A removed namespace is read from the database when it is needed again.
void row_checkpointer::impl::evict(thread_state& thread) {
  auto used = std::vector<std::uint64_t>{};
  for (const auto& [ns, head] : thread.namespaces)
    used.push_back(head->last_used);
  const auto middle = used.begin() + std::ssize(used) / 2;
  std::ranges::nth_element(used, middle);
  std::erase_if(thread.namespaces, [limit = *middle](const auto& c) {
    const auto& [ns, head] = c;
    return !ns.empty() && head->last_used < limit && head.use_count() == 1 && head->tasks.empty();
  });
}

namespace_head_ptr row_checkpointer::impl::namespace_of(thread_state& thread,
                                                        const thread_key& key) {
  auto found = thread.namespaces.find(key.ns);
  if (found == thread.namespaces.end()) {
    if (thread.namespaces.size() >= namespaces_max)
      evict(thread);
    found = thread.namespaces.emplace(key.ns, std::make_shared<namespace_head>()).first;
    found->second->key = key;
  }
  found->second->last_used = ++uses_;
  return found->second;
}

/// Removes the cached state of a thread after a failed write, unless a run still holds the thread.
/// The next run then starts from the checkpoint that the database contains.
void row_checkpointer::impl::drop_failed_state(const thread_key& key) {
  if (const auto found = threads_.find(key.thread_id); key.ns.empty() && found != threads_.end() &&
                                                       found->second->failed &&
                                                       found->second->leases == 0)
    threads_.erase(found);
}

lease_ptr row_checkpointer::impl::pin(const std::string& thread_id, lease_ptr own) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  if (const auto found = threads_.find(thread_id); found != threads_.end() && found->second->failed)
    threads_.erase(found); // an earlier run's write failed; this run starts from the database
  const auto& thread = state_of(thread_id);
  for (const auto& [ns, head] : thread->namespaces)
    head->is_written = false;
  ++thread->leases;
  return std::make_shared<pinned_lease>(std::move(own), thread, writer_,
                                        leases_->releases_after_writes());
}

/// Whether the cached newest checkpoint is also the newest one in the database, with the same task
/// records. Another process may have written a newer one, or records of an interrupted or failed
/// step. Releases the lock while it reads the database.
bool row_checkpointer::impl::is_current(lock_type& lock, const thread_state_ptr& thread,
                                        namespace_head& head) {
  if (!head.is_known)
    return false;
  if (thread->saved != thread->enqueued || !head.tasks.empty())
    return true; // writes are pending, and the writer compares with the database before it writes
  const auto known =
      head.newest.saved.checkpoint ? head.newest.saved.checkpoint->id : std::string{};
  lock.unlock();
  const auto found = reading([&](row_reader& r) { return r.head(head.key); });
  lock.lock();
  return found.id == known && found.task_rows == head.newest.task_rows;
}

/// Caches the newest checkpoint that was read from the database. No effect if a run of this process
/// has written a checkpoint or has pending writes: the cached state is then newer, and the writer
/// detects conflicts with other processes.
void row_checkpointer::impl::adopt_newest(const thread_state& thread, namespace_head& head,
                                          loaded_checkpoint newest) {
  if ((thread.leases > 0 && head.is_written) || thread.saved != thread.enqueued ||
      !head.tasks.empty())
    return;
  head.is_known = true;
  head.newest = std::move(newest);
}

std::optional<saved_checkpoint>
row_checkpointer::impl::load(const thread_key& key, std::string_view id, const layout_ptr& as) {
  auto lock = std::unique_lock{writer_->mutex()};
  drop_failed_state(key);
  const auto thread = state_of(key.thread_id);
  const auto head = namespace_of(*thread, key);
  if (is_current(lock, thread, *head)) {
    if (!head->newest.saved.checkpoint)
      return std::nullopt;
    if (id.empty() || is_at(head->newest, id))
      if (head->newest.saved.checkpoint->layout == as)
        return head->newest.saved;
  }
  writer_->wait_for(lock, thread);
  const auto enqueued = thread->enqueued; // compared below: has a run written since?
  lock.unlock();
  // If another process writes between the two reads, the second one may return more than the first
  // one has counted: the next load then reads again, and the writer finds conflicts.
  const auto newest = reading([&](row_reader& r) { return r.head(key); });
  auto found = reading([&](row_reader& r) { return r.load(key, id, as); });
  lock.lock();
  if (!found) {
    if (id.empty() && thread->enqueued == enqueued)
      adopt_newest(*thread, *head, {});
    return std::nullopt;
  }
  const auto is_newest = found->saved.checkpoint->id == newest.id;
  found->task_rows = is_newest ? newest.task_rows : -1;
  if (!id.empty() && !is_newest) {
    keep_branch_base(*head, *found);
  } else if (thread->enqueued == enqueued) {
    adopt_newest(*thread, *head, *found);
  }
  return std::move(found->saved);
}

std::vector<saved_checkpoint> row_checkpointer::impl::list(const thread_key& key,
                                                           const checkpoint_query& query,
                                                           const layout_ptr& as) {
  wait_for_writes(key.thread_id);
  auto out = reading([&](row_reader& r) { return r.list(key, query, as); });
  // A caller that looks for a single checkpoint probably starts a branch from it: cache it as a
  // base.
  if (query.limit == 1U && !out.empty()) {
    const auto lock = std::scoped_lock{writer_->mutex()};
    const auto head = namespace_of(*state_of(key.thread_id), key);
    keep_branch_base(*head, {out.front(), 0, 0, 0, false});
  }
  return out;
}

std::string row_checkpointer::impl::head(const thread_key& key) {
  auto lock = std::unique_lock{writer_->mutex()};
  drop_failed_state(key);
  const auto thread = state_of(key.thread_id);
  const auto head = namespace_of(*thread, key);
  if (is_current(lock, thread, *head))
    return head->newest.saved.checkpoint ? head->newest.saved.checkpoint->id : std::string{};
  writer_->wait_for(lock, thread);
  const auto enqueued = thread->enqueued;
  lock.unlock();
  const auto found = reading([&](row_reader& r) { return r.head(key); });
  lock.lock();
  if (found.id.empty() && thread->enqueued == enqueued)
    adopt_newest(*thread, *head, {});
  return found.id;
}

/// Returns the base for the row of a new checkpoint: its parent, if the parent is cached and has
/// the same layout. Returns null if the checkpoint must be written as a whole row.
const loaded_checkpoint* row_checkpointer::impl::base_for(const namespace_head& head,
                                                          const checkpoint& point) {
  const auto* base = static_cast<const loaded_checkpoint*>(nullptr);
  if (is_at(head.newest, point.parent))
    base = &head.newest;
  for (const auto& base_candidate : head.branch_bases)
    if (base == nullptr && is_at(base_candidate, point.parent))
      base = &base_candidate;
  if (base == nullptr || !base->is_same_layout || base->saved.checkpoint->layout != point.layout)
    return nullptr;
  return base;
}

/// Writes the JSON row of a checkpoint. It is a delta, or a whole row if there is no base or the
/// chain would become too long.
void row_checkpointer::impl::write(pending_write& j, const checkpoint& point,
                                   const loaded_checkpoint* base) const {
  const auto is_too_long = [&](std::int64_t whole) {
    return base->chain > chain_factor * whole + chain_min;
  };
  const auto write_row = [&](const checkpoint* from) {
    j.row.clear();
    write_checkpoint(j.row, point, from, &j.head->key);
    check_row_limits(j.row, j.head->key);
    return static_cast<std::int64_t>(j.row.size()) + row_overhead;
  };
  // If the limit is exceeded for the old size of a whole row but not for the new size, the delta is
  // written after all.
  j.whole = base != nullptr ? base->whole : 0;
  if (base == nullptr || is_too_long(base->whole))
    j.whole = j.chain = write_row(nullptr);
  if (base != nullptr && !is_too_long(j.whole)) {
    j.chain = base->chain + write_row(base->saved.checkpoint.get());
    j.base = base->saved.checkpoint->id;
  }
  j.header = {point.id, point.parent, point.source, point.step};
  j.is_checkpoint = true;
}

void row_checkpointer::impl::put(const thread_key& key, checkpoint_ptr point, bool now) {
  SUPERSTEP_ASSERT(point != nullptr && !point->id.empty() && point->layout);
  auto lock = std::unique_lock{writer_->mutex()};
  writer_->wait_for_room(lock);
  const auto thread = state_of(key.thread_id);
  const auto head = namespace_of(*thread, key);
  if (thread->failed)
    throw checkpoint_error{*thread->failed};
  auto newest = head->newest.saved.checkpoint ? head->newest.saved.checkpoint->id : std::string{};
  if (!head->is_known) { // the run has not loaded the thread, so read the newest id now
    lock.unlock();
    newest = this->head(key);
    lock.lock();
  }
  auto base =
      base_for(*head, *point) != nullptr ? std::optional{*base_for(*head, *point)} : std::nullopt;
  auto j = pending_write{};
  j.thread = thread;
  j.head = head;
  // Writing JSON takes long, so the lock is released. The base is a copy, and only one run at a
  // time writes to a thread.
  lock.unlock();
  write(j, *point, base ? &*base : nullptr);
  lock.lock();
  if (newest >= point->id ||
      (head->newest.saved.checkpoint && head->newest.saved.checkpoint->id != newest))
    throw checkpoint_error{
        make_error_code(checkpoint_errc::conflict),
        "thread '" + key.thread_id + "' already has checkpoint " + point->id +
            " or a newer one: another run is writing to it; nothing was overwritten: run again "
            "to resume from there"};
  j.before = newest;
  j.layout = writer_->layout_text(point->layout);
  j.ends_effects = key.ns.empty() && std::exchange(thread->may_have_effects, false);
  const auto ends_effects = j.ends_effects;
  // The records of the tasks between two checkpoints are written in the row of the second one. This
  // saves a row per super-step. If the new checkpoint starts a branch, or the row would be too
  // large to be read, they get rows of their own.
  const auto follows =
      is_at(head->newest, point->parent) && joined_size(j.row, head->tasks) <= row_bytes_max;
  if (follows)
    j.tasks = std::exchange(head->tasks, {});
  else
    writer_->flush(thread);
  head->newest = {{std::move(point), {}}, 0, j.chain, j.whole, true};
  head->is_known = true;
  head->is_written = true;
  if (ends_effects) {
    thread->effects.clear();
    thread->effects_ended = thread->enqueued + 1;
  }
  now ? writer_->write_or_enqueue(lock, std::move(j)) : writer_->enqueue(std::move(j));
  if (now && thread->failed)
    throw checkpoint_error{*thread->failed};
}

void row_checkpointer::impl::put_task(const thread_key& key, const checkpoint& point,
                                      task_record&& record) {
  auto text = std::string{};
  write_task(text, record, *point.layout, &key);
  check_row_limits(text, key);
  const auto lock = std::scoped_lock{writer_->mutex()};
  const auto thread = state_of(key.thread_id);
  const auto head = namespace_of(*thread, key);
  if (thread->failed)
    throw checkpoint_error{*thread->failed};
  if (!is_at(head->newest, point.id) || head->newest.saved.checkpoint->layout != point.layout) {
    // The checkpoint is not the cached newest one, or the cached one has another layout: the record
    // gets a row of its own.
    writer_->flush(thread);
    if (is_at(head->newest, point.id)) { // the layout differs: drop the cached one
      head->is_known = false;
      head->newest = {};
    }
    auto j = pending_write{};
    j.thread = thread;
    j.head = head;
    j.header.id = point.id;
    j.layout = writer_->layout_text(point.layout);
    j.tasks.push_back(std::move(text));
    writer_->enqueue(std::move(j));
    return;
  }
  if (head->tasks.empty())
    writer_->schedule_flush(thread, head);
  head->tasks.push_back(std::move(text));
  head->is_written = true;
  head->newest.index.add(head->newest.saved.tasks, std::move(record));
  head->newest.task_rows = -1; // this one gets a row only if no checkpoint follows
}

void row_checkpointer::impl::put_effect(std::string_view thread_id, effect_write&& effect) {
  auto lock = std::unique_lock{writer_->mutex()};
  writer_->wait_for_room(lock);
  const auto thread = state_of(thread_id);
  if (thread->failed)
    throw checkpoint_error{*thread->failed};
  writer_->flush(thread); // task records that came before the effect must be written before it
  thread->may_have_effects = true;
  auto j = pending_write{};
  j.thread = thread;
  j.head = namespace_of(*thread, {std::string{thread_id}, {}});
  // Another run that has taken the thread over may have had the effect already, and have deleted
  // the record with its next checkpoint. A thread without checkpoints has no effects of other runs.
  if (const auto& newest = j.head->newest.saved.checkpoint; j.head->is_known && newest)
    j.before = newest->id;
  const auto name = effect.key;
  j.effect = std::move(effect);
  writer_->enqueue(std::move(j));
  thread->effects[name] = thread->enqueued;
}

/// Waits until the record of one effect is written. It does not wait for records of other effects:
/// it is called before each tool call, and blocks the lane of the call.
void row_checkpointer::impl::wait_for_effect(std::string_view thread_id, std::string_view key) {
  auto lock = std::unique_lock{writer_->mutex()};
  const auto found = threads_.find(thread_id);
  if (found == threads_.end())
    return;
  const auto thread = found->second;
  const auto last = thread->effects.find(key);
  if (thread->saved <
      std::max(thread->effects_ended, last != thread->effects.end() ? last->second : 0))
    writer_->wait_for(lock, thread);
}

bool row_checkpointer::impl::when_saved(const thread_key& key, std::function<void()> done) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  const auto found = threads_.find(key.thread_id);
  if (found == threads_.end())
    return false;
  auto& thread = found->second;
  writer_->flush(thread);
  if (thread->saved == thread->enqueued)
    return false;
  thread->on_saved.emplace_back(thread->enqueued, std::move(done));
  return true;
}

void row_checkpointer::impl::check(const thread_key& key) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  if (const auto found = threads_.find(key.thread_id);
      found != threads_.end() && found->second->failed)
    throw checkpoint_error{*found->second->failed};
}

/// Waits until all enqueued writes of a thread are done.
void row_checkpointer::impl::wait_for_writes(std::string_view thread_id) {
  auto lock = std::unique_lock{writer_->mutex()};
  if (const auto found = threads_.find(thread_id); found != threads_.end()) {
    const auto thread = found->second;
    writer_->wait_for(lock, thread);
  }
}

void row_checkpointer::impl::wait_for_all_writes() {
  auto lock = std::unique_lock{writer_->mutex()};
  const auto all = threads_; // a copy, because wait_for() releases the lock and the map may change
  for (const auto& [id, thread] : all)
    writer_->wait_for(lock, thread);
}

namespace {

const row_checkpointer_options& checked(const row_checkpointer_options& options) {
  if (options.queue_bytes_max == 0 || options.batch_rows_max == 0) // nothing would ever be written
    throw std::invalid_argument{
        "options of the checkpointer: queue_bytes_max and batch_rows_max must be at least 1"};
  if (options.task_flush_delay.count() < 0)
    throw std::invalid_argument{
        "options of the checkpointer: task_flush_delay must not be negative"};
  return options;
}

} // namespace

row_checkpointer::row_checkpointer(std::unique_ptr<checkpoint_backend> on,
                                   const row_checkpointer_options& options)
    : impl_{std::make_shared<impl>(std::move(on), checked(options))} {}

row_checkpointer::~row_checkpointer() = default;

std::optional<saved_checkpoint> row_checkpointer::load(const thread_key& key, std::string_view id,
                                                       const layout_ptr& as) {
  return impl_->load(key, id, as);
}

std::vector<saved_checkpoint>
row_checkpointer::list(const thread_key& key, const checkpoint_query& query, const layout_ptr& as) {
  return impl_->list(key, query, as);
}

std::string row_checkpointer::head(const thread_key& key) {
  return impl_->head(key);
}

void row_checkpointer::put(const thread_key& key, checkpoint_ptr point) {
  impl_->put(key, std::move(point), false);
}

void row_checkpointer::put_now(const thread_key& key, checkpoint_ptr point) {
  impl_->put(key, std::move(point), true);
}

void row_checkpointer::put_task(const thread_key& key, const checkpoint& parent,
                                task_record record) {
  impl_->put_task(key, parent, std::move(record));
}

bool row_checkpointer::when_saved(const thread_key& key, std::function<void()> done) {
  return impl_->when_saved(key, std::move(done));
}

void row_checkpointer::check(const thread_key& key) {
  impl_->check(key);
}

void row_checkpointer::take(const std::string& thread_id, busy_policy choice,
                            std::function<void(result<lease_ptr>)> done) {
  // A run may still wait for the lease when this object is destroyed. The manager then calls back
  // with an error.
  impl_->leases().take(thread_id, choice,
                       [thread_id, checkpointer = std::weak_ptr{impl_},
                        done = std::move(done)](result<lease_ptr> got) {
                         const auto alive = checkpointer.lock();
                         done(got && alive ? alive->pin(thread_id, std::move(*got))
                                           : std::move(got));
                       });
}

std::optional<effect_record> row_checkpointer::find_effect(std::string_view thread_id,
                                                           std::string_view key) {
  impl_->wait_for_effect(thread_id, key);
  return impl_->reading([&](row_reader& r) { return r.find_effect(thread_id, key); });
}

void row_checkpointer::put_effect(std::string_view thread_id, std::string_view key,
                                  std::optional<effect_record> record) {
  impl_->put_effect(thread_id, {std::string{key}, std::move(record)});
}

std::string row_checkpointer::export_thread(std::string_view thread_id) {
  return export_until(thread_id, {});
}

std::string row_checkpointer::export_until(std::string_view thread_id, std::string_view at) {
  impl_->wait_for_writes(thread_id);
  const auto text = write_thread(
      thread_id, impl_->reading([&](row_reader& r) { return r.export_rows(thread_id, at); }));
  return at.empty() ? text : cut_thread(text, at);
}

std::vector<thread_summary> row_checkpointer::threads(std::string_view after, std::size_t limit) {
  return impl_->reading([&](row_reader& r) { return r.threads(after, limit); });
}

std::optional<json::object> row_checkpointer::show(const thread_key& key, std::string_view id) {
  impl_->wait_for_writes(key.thread_id);
  return impl_->reading([&](row_reader& r) { return r.show(key, id); });
}

std::vector<json::object> row_checkpointer::history(const thread_key& key,
                                                    const checkpoint_query& query) {
  impl_->wait_for_writes(key.thread_id);
  return impl_->reading([&](row_reader& r) { return r.history(key, query); });
}

row_checkpointer::counts row_checkpointer::written() const noexcept {
  return impl_->writer().counts();
}

} // namespace superstep
