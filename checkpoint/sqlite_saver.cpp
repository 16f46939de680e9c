// SPDX-License-Identifier: Apache-2.0
#include "holding_lease.hpp"
#include "point_codec.hpp"
#include "sqlite_lessor.hpp"
#include "sqlite_reader.hpp"
#include "sqlite_upkeep.hpp"
#include "sqlite_writer.hpp"
#include "thread_text.hpp"

#include <superstep/base/assert.hpp>
#include <superstep/checkpoint/sqlite_saver.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

using namespace detail;

namespace {

constexpr auto sides_max = std::size_t{8};
constexpr auto cursors_max = std::size_t{256}; // of one thread, less those in use
// A chain of deltas is read as a whole: it ends when it is this much longer than a whole row, which
// keeps a list that only grows in one chain, and the chain of a state that changes short. A whole
// row is written, to be measured, when the chain is that much longer than the one measured last.
constexpr auto chain_factor = std::int64_t{4};
constexpr auto chain_min = std::int64_t{32} << 10U;
constexpr auto row_overhead = std::int64_t{64};

/// Lists and objects inside one another, strings left out.
std::size_t depth_of(std::string_view row) noexcept {
  auto depth = std::size_t{0};
  auto deepest = std::size_t{0};
  for (auto i = std::size_t{0}; i < row.size(); ++i) {
    const auto c = row[i];
    if (c == '"') {
      for (++i; i < row.size() && row[i] != '"'; ++i)
        i += row[i] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

void check_row(const std::string& row, const thread_key& key) {
  if (row.size() > row_bytes_max || depth_of(row) > row_depth_max)
    throw saver_error{make_error_code(saver_errc::not_storable),
                      "thread '" + key.thread_id +
                          "': a checkpoint is larger than 512 MB or nests deeper than " +
                          std::to_string(row_depth_max) + " lists and objects"};
}

/// Whether no run has the thread and nothing of it is to be written. The map holds it once.
bool is_idle(const book_ptr& of) {
  return of.use_count() == 1 && of->saved == of->given &&
         std::ranges::all_of(of->cursors, [](const auto& c) { return c.second->tasks.empty(); });
}

/// An older checkpoint that somebody looked for may be one to begin a branch at.
void keep_side(cursor& at, loaded_point side) {
  at.sides.push_front(std::move(side));
  if (at.sides.size() > sides_max)
    at.sides.pop_back();
}

bool is_at(const loaded_point& p, std::string_view id) noexcept {
  return p.saved.point && p.saved.point->id == id;
}

} // namespace

class sqlite_saver::impl {
public:
  impl(const std::string& path, const sqlite_saver_options& options)
      : options_{options}, writer_{sqlite_writer::start(path, options)}, lessor_{path, writer_},
        reader_{path, options.busy_timeout, row_cipher{options.encryption_key}} {}
  ~impl() { writer_->stop(); }

  std::optional<saved_checkpoint> load(const thread_key& key, std::string_view id,
                                       const layout_ptr& as);
  std::vector<saved_checkpoint> list(const thread_key& key, const checkpoint_query& query,
                                     const layout_ptr& as);
  std::string head(const thread_key& key);
  void put(const thread_key& key, checkpoint_ptr point, bool now);
  void put_task(const thread_key& key, const checkpoint& of, task_record&& record);
  bool when_saved(const thread_key& key, std::function<void()> done);
  void check(const thread_key& key);
  void put_effect(std::string_view thread_id, effect_job&& effect);
  void settle_effect(std::string_view thread_id, std::string_view key);
  void settle(std::string_view thread_id);
  void settle_all();
  void forget(std::string_view thread_id);
  void forget_older(std::string_view thread_id);
  [[nodiscard]] lease_ptr hold(const std::string& thread_id, lease_ptr own);
  [[nodiscard]] sqlite_writer& writer() noexcept { return *writer_; }
  [[nodiscard]] sqlite_lessor& lessor() noexcept { return lessor_; }
  template <class Read>
  auto reading(Read read) {
    const auto lock = std::scoped_lock{read_mutex_};
    return read(reader_);
  }

private:
  using lock_type = std::unique_lock<std::mutex>;

  [[nodiscard]] book_ptr& book_of(std::string_view thread_id);
  [[nodiscard]] cursor_ptr cursor_of(book& of, const thread_key& key);
  void start_over(const thread_key& key);
  void sweep();
  void sweep(book& of);
  [[nodiscard]] bool is_current(lock_type&, const book_ptr&, cursor&);
  static void learn(const book& of, cursor& at, loaded_point newest);
  [[nodiscard]] static const loaded_point* base_for(const cursor&, const checkpoint&);
  void write(job&, const checkpoint&, const loaded_point* base) const;

  const sqlite_saver_options options_;
  std::shared_ptr<sqlite_writer> writer_;
  sqlite_lessor lessor_;
  std::mutex read_mutex_;
  sqlite_reader reader_;
  std::map<std::string, book_ptr, std::less<>> books_; // under the writer's lock
  std::uint64_t uses_ = 0;
};

book_ptr& sqlite_saver::impl::book_of(std::string_view thread_id) {
  auto found = books_.find(thread_id);
  if (found == books_.end()) {
    if (books_.size() >= options_.threads_max)
      sweep();
    found = books_.emplace(thread_id, std::make_shared<book>()).first;
    found->second->thread_id = thread_id;
  }
  found->second->last_used = ++uses_;
  return found->second;
}

/// Forgets the older half of the threads that no run has and nothing is written of.
void sqlite_saver::impl::sweep() {
  const auto limit = uses_ - options_.threads_max / 2;
  std::erase_if(books_, [&](const auto& b) {
    return b.second->last_used < limit && !b.second->failed && is_idle(b.second);
  });
}

/// The same for the subgraphs of a thread. What goes is read from the database when it is wanted
/// again, and its next checkpoint is written whole.
void sqlite_saver::impl::sweep(book& of) {
  auto used = std::vector<std::uint64_t>{};
  for (const auto& [ns, at] : of.cursors)
    used.push_back(at->last_used);
  const auto middle = used.begin() + std::ssize(used) / 2;
  std::ranges::nth_element(used, middle);
  std::erase_if(of.cursors, [limit = *middle](const auto& c) {
    const auto& [ns, at] = c;
    return !ns.empty() && at->last_used < limit && at.use_count() == 1 && at->tasks.empty();
  });
}

cursor_ptr sqlite_saver::impl::cursor_of(book& of, const thread_key& key) {
  auto found = of.cursors.find(key.ns);
  if (found == of.cursors.end()) {
    if (of.cursors.size() >= cursors_max)
      sweep(of);
    found = of.cursors.emplace(key.ns, std::make_shared<cursor>()).first;
    found->second->key = key;
  }
  found->second->last_used = ++uses_;
  return found->second;
}

/// What failed is over when nobody has the thread any more, or when a run takes it.
void sqlite_saver::impl::start_over(const thread_key& key) {
  if (const auto found = books_.find(key.thread_id); key.ns.empty() && found != books_.end() &&
                                                     found->second->failed &&
                                                     found->second->leases == 0)
    books_.erase(found);
}

lease_ptr sqlite_saver::impl::hold(const std::string& thread_id, lease_ptr own) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  if (const auto found = books_.find(thread_id); found != books_.end() && found->second->failed)
    books_.erase(found); // what failed for an earlier run is over
  const auto& of = book_of(thread_id);
  for (const auto& [ns, at] : of->cursors)
    at->is_written = false;
  ++of->leases;
  return std::make_shared<holding_lease>(std::move(own), of, writer_);
}

/// Whether what is known of a thread is what the database has: another process may have written.
bool sqlite_saver::impl::is_current(lock_type& lock, const book_ptr& of, cursor& at) {
  if (!at.is_known)
    return false;
  if (of->saved != of->given || !at.tasks.empty())
    return true; // what we are about to write is checked then
  const auto known = at.head.saved.point ? at.head.saved.point->id : std::string{};
  lock.unlock();
  const auto found = reading([&](sqlite_reader& r) { return r.head(at.key); });
  lock.lock();
  return found.id == known;
}

/// What the database has becomes what is known, unless it was read beside a run that has written:
/// that knows better, and finds out by itself when somebody else has written as well.
void sqlite_saver::impl::learn(const book& of, cursor& at, loaded_point newest) {
  if ((of.leases > 0 && at.is_written) || of.saved != of.given || !at.tasks.empty())
    return;
  at.is_known = true;
  at.head = std::move(newest);
}

std::optional<saved_checkpoint> sqlite_saver::impl::load(const thread_key& key, std::string_view id,
                                                         const layout_ptr& as) {
  auto lock = std::unique_lock{writer_->mutex()};
  start_over(key);
  const auto of = book_of(key.thread_id);
  const auto at = cursor_of(*of, key);
  if (is_current(lock, of, *at)) {
    if (!at->head.saved.point)
      return std::nullopt;
    if (id.empty() || is_at(at->head, id))
      if (at->head.saved.point->layout == as)
        return at->head.saved;
  }
  writer_->wait_for(lock, of);
  const auto given = of->given;
  lock.unlock();
  auto found = reading([&](sqlite_reader& r) { return r.load(key, id, as); });
  const auto newest = reading([&](sqlite_reader& r) { return r.head(key); });
  lock.lock();
  if (!found) {
    if (id.empty() && of->given == given)
      learn(*of, *at, {});
    return std::nullopt;
  }
  if (found->saved.point->id != newest.id) {
    keep_side(*at, *found);
  } else if (of->given == given) {
    learn(*of, *at, *found);
  }
  return std::move(found->saved);
}

std::vector<saved_checkpoint> sqlite_saver::impl::list(const thread_key& key,
                                                       const checkpoint_query& query,
                                                       const layout_ptr& as) {
  settle(key.thread_id);
  auto out = reading([&](sqlite_reader& r) { return r.list(key, query, as); });
  if (query.limit == 1 && !out.empty()) { // somebody looks for one to go on from
    const auto lock = std::scoped_lock{writer_->mutex()};
    const auto at = cursor_of(*book_of(key.thread_id), key);
    keep_side(*at, {out.front(), 0, 0, 0, false});
  }
  return out;
}

std::string sqlite_saver::impl::head(const thread_key& key) {
  auto lock = std::unique_lock{writer_->mutex()};
  start_over(key);
  const auto of = book_of(key.thread_id);
  const auto at = cursor_of(*of, key);
  if (is_current(lock, of, *at))
    return at->head.saved.point ? at->head.saved.point->id : std::string{};
  writer_->wait_for(lock, of);
  const auto given = of->given;
  lock.unlock();
  const auto found = reading([&](sqlite_reader& r) { return r.head(key); });
  lock.lock();
  if (found.id.empty() && of->given == given)
    learn(*of, *at, {});
  return found.id;
}

/// What a checkpoint is written as a difference from; null: it is written whole.
const loaded_point* sqlite_saver::impl::base_for(const cursor& at, const checkpoint& point) {
  const auto* base = static_cast<const loaded_point*>(nullptr);
  if (is_at(at.head, point.parent))
    base = &at.head;
  for (const auto& side : at.sides)
    if (base == nullptr && is_at(side, point.parent))
      base = &side;
  if (base == nullptr || !base->is_same_layout || base->saved.point->layout != point.layout)
    return nullptr;
  return base;
}

void sqlite_saver::impl::write(job& j, const checkpoint& point, const loaded_point* base) const {
  const auto is_too_long = [&](std::int64_t whole) {
    return base->chain > chain_factor * whole + chain_min;
  };
  const auto write_row = [&](const checkpoint* from) {
    j.row.clear();
    write_point(j.row, point, from, &j.at->key);
    check_row(j.row, j.at->key);
    return static_cast<std::int64_t>(j.row.size()) + row_overhead;
  };
  j.whole = base != nullptr ? base->whole : 0;
  if (base == nullptr || is_too_long(base->whole))
    j.whole = j.chain = write_row(nullptr);
  if (base != nullptr && !is_too_long(j.whole)) {
    j.chain = base->chain + write_row(base->saved.point.get());
    j.base = base->saved.point->id;
  }
  j.head = {point.id, point.parent, point.source, point.step};
  j.is_point = true;
}

void sqlite_saver::impl::put(const thread_key& key, checkpoint_ptr point, bool now) {
  SUPERSTEP_ASSERT(point != nullptr && !point->id.empty() && point->layout);
  auto lock = std::unique_lock{writer_->mutex()};
  writer_->wait_for_room(lock);
  const auto of = book_of(key.thread_id);
  const auto at = cursor_of(*of, key);
  if (of->failed)
    throw saver_error{*of->failed};
  auto newest = at->head.saved.point ? at->head.saved.point->id : std::string{};
  if (!at->is_known) { // put without a look before: what is there must be older
    lock.unlock();
    newest = head(key);
    lock.lock();
  }
  auto base =
      base_for(*at, *point) != nullptr ? std::optional{*base_for(*at, *point)} : std::nullopt;
  auto j = job{};
  j.of = of;
  j.at = at;
  lock.unlock(); // a run writes its thread alone: what it is written from stays
  write(j, *point, base ? &*base : nullptr);
  lock.lock();
  if (newest >= point->id || (at->head.saved.point && at->head.saved.point->id != newest))
    throw saver_error{make_error_code(saver_errc::conflict),
                      "thread '" + key.thread_id + "' already has checkpoint " + point->id +
                          ": another run is on it; nothing was overwritten"};
  j.before = newest;
  j.layout = writer_->text_of(point->layout);
  j.ends_effects = key.ns.empty() && std::exchange(of->may_have_effects, false);
  const auto ends_effects = j.ends_effects;
  const auto follows = is_at(at->head, point->parent);
  if (follows)
    j.tasks = std::exchange(at->tasks, {});
  else
    writer_->flush(of);
  at->head = {{std::move(point), {}}, 0, j.chain, j.whole, true};
  at->is_known = true;
  at->is_written = true;
  if (ends_effects) {
    of->effects.clear();
    of->effects_ended = of->given + 1;
  }
  now ? writer_->give_now(lock, std::move(j)) : writer_->give(std::move(j));
  if (now && of->failed)
    throw saver_error{*of->failed};
}

void sqlite_saver::impl::put_task(const thread_key& key, const checkpoint& point,
                                  task_record&& record) {
  auto text = std::string{};
  write_task(text, record, *point.layout, &key);
  check_row(text, key);
  const auto lock = std::scoped_lock{writer_->mutex()};
  const auto of = book_of(key.thread_id);
  const auto at = cursor_of(*of, key);
  if (of->failed)
    throw saver_error{*of->failed};
  if (!is_at(at->head, point.id) || at->head.saved.point->layout != point.layout) {
    // Of an older one, or of one that is not kept in memory: by itself.
    writer_->flush(of);
    if (is_at(at->head, point.id)) { // in another layout, which this record does not fit
      at->is_known = false;
      at->head = {};
    }
    auto j = job{};
    j.of = of;
    j.at = at;
    j.head.id = point.id;
    j.layout = writer_->text_of(point.layout);
    j.tasks.push_back(std::move(text));
    writer_->give(std::move(j));
    return;
  }
  if (at->tasks.empty())
    writer_->linger(of, at);
  at->tasks.push_back(std::move(text));
  at->is_written = true;
  at->head.index.add(at->head.saved.tasks, std::move(record));
}

void sqlite_saver::impl::put_effect(std::string_view thread_id, effect_job&& effect) {
  auto lock = std::unique_lock{writer_->mutex()};
  writer_->wait_for_room(lock);
  const auto of = book_of(thread_id);
  if (of->failed)
    throw saver_error{*of->failed};
  writer_->flush(of); // what was told of tasks before is written before
  of->may_have_effects = true;
  auto j = job{};
  j.of = of;
  j.at = cursor_of(*of, {std::string{thread_id}, {}});
  const auto name = effect.key;
  j.effect = std::move(effect);
  writer_->give(std::move(j));
  of->effects[name] = of->given;
}

/// Waits until what was given for one effect is written. Its siblings' notes are not waited for:
/// this is asked before each call, by the thread that runs it.
void sqlite_saver::impl::settle_effect(std::string_view thread_id, std::string_view key) {
  auto lock = std::unique_lock{writer_->mutex()};
  const auto found = books_.find(thread_id);
  if (found == books_.end())
    return;
  const auto of = found->second;
  const auto last = of->effects.find(key);
  if (of->saved < std::max(of->effects_ended, last != of->effects.end() ? last->second : 0))
    writer_->wait_for(lock, of);
}

bool sqlite_saver::impl::when_saved(const thread_key& key, std::function<void()> done) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  const auto found = books_.find(key.thread_id);
  if (found == books_.end())
    return false;
  auto& of = found->second;
  writer_->flush(of);
  if (of->saved == of->given)
    return false;
  of->waiting.emplace_back(of->given, std::move(done));
  return true;
}

void sqlite_saver::impl::check(const thread_key& key) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  if (const auto found = books_.find(key.thread_id); found != books_.end() && found->second->failed)
    throw saver_error{*found->second->failed};
}

/// Waits until all that was given for a thread is written.
void sqlite_saver::impl::settle(std::string_view thread_id) {
  auto lock = std::unique_lock{writer_->mutex()};
  if (const auto found = books_.find(thread_id); found != books_.end()) {
    const auto of = found->second;
    writer_->wait_for(lock, of);
  }
}

void sqlite_saver::impl::settle_all() {
  auto lock = std::unique_lock{writer_->mutex()};
  const auto all = books_; // others come and go meanwhile
  for (const auto& [id, of] : all)
    writer_->wait_for(lock, of);
}

void sqlite_saver::impl::forget(std::string_view thread_id) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  if (const auto found = books_.find(thread_id); found != books_.end())
    books_.erase(found);
}

/// Checkpoints have gone, of one thread or of all. Where a run is under way, its newest are there;
/// older ones may not be.
void sqlite_saver::impl::forget_older(std::string_view thread_id) {
  const auto lock = std::scoped_lock{writer_->mutex()};
  std::erase_if(books_, [&](const auto& b) {
    if (!thread_id.empty() && b.first != thread_id)
      return false;
    for (const auto& [ns, at] : b.second->cursors)
      at->sides.clear();
    return is_idle(b.second);
  });
}

sqlite_saver::sqlite_saver(std::string path, sqlite_saver_options options)
    : impl_{std::make_shared<impl>(shared_file(path), options)} {}

sqlite_saver::~sqlite_saver() = default;

std::optional<saved_checkpoint> sqlite_saver::load(const thread_key& key, std::string_view id,
                                                   const layout_ptr& as) {
  return impl_->load(key, id, as);
}

std::vector<saved_checkpoint>
sqlite_saver::list(const thread_key& key, const checkpoint_query& query, const layout_ptr& as) {
  return impl_->list(key, query, as);
}

std::string sqlite_saver::head(const thread_key& key) {
  return impl_->head(key);
}

void sqlite_saver::put(const thread_key& key, checkpoint_ptr point) {
  impl_->put(key, std::move(point), false);
}

void sqlite_saver::put_now(const thread_key& key, checkpoint_ptr point) {
  impl_->put(key, std::move(point), true);
}

void sqlite_saver::put_task(const thread_key& key, const checkpoint& of, task_record record) {
  impl_->put_task(key, of, std::move(record));
}

bool sqlite_saver::when_saved(const thread_key& key, std::function<void()> done) {
  return impl_->when_saved(key, std::move(done));
}

void sqlite_saver::check(const thread_key& key) {
  impl_->check(key);
}

void sqlite_saver::take(const std::string& thread_id, when_in_use choice,
                        std::function<void(result<lease_ptr>)> done) {
  // The run that waits may outlive the saver, and is told so by the lessor.
  impl_->lessor().take(
      thread_id, choice,
      [thread_id, saver = std::weak_ptr{impl_}, done = std::move(done)](result<lease_ptr> got) {
        const auto alive = saver.lock();
        done(got && alive ? alive->hold(thread_id, std::move(*got)) : std::move(got));
      });
}

std::optional<effect_note> sqlite_saver::find_effect(std::string_view thread_id,
                                                     std::string_view key) {
  impl_->settle_effect(thread_id, key);
  return impl_->reading([&](sqlite_reader& r) { return r.find_effect(thread_id, key); });
}

void sqlite_saver::put_effect(std::string_view thread_id, std::string_view key,
                              std::optional<effect_note> note) {
  impl_->put_effect(thread_id, {std::string{key}, std::move(note)});
}

void sqlite_saver::delete_thread(std::string_view thread_id) {
  impl_->settle(thread_id);
  impl_->writer().run([&](database& db) { remove_thread(db, thread_id); });
  impl_->forget(thread_id);
}

std::size_t sqlite_saver::delete_runs(const std::vector<std::string>& run_ids) {
  impl_->settle_all();
  const auto threads = impl_->reading([&](sqlite_reader& r) { return r.threads_of_runs(run_ids); });
  const auto leases = take_all(impl_->lessor(), threads);
  auto gone = std::size_t{0};
  impl_->writer().run([&](database& db) { gone = remove_runs(db, threads, run_ids); });
  for (const auto& thread_id : threads)
    impl_->forget(thread_id);
  return gone;
}

std::string sqlite_saver::export_thread(std::string_view thread_id) {
  impl_->settle(thread_id);
  const auto rows = impl_->reading([&](sqlite_reader& r) { return r.export_rows(thread_id); });
  if (rows.points.empty())
    throw saver_error{make_error_code(saver_errc::failed),
                      "there is no thread '" + std::string{thread_id} + "' to export"};
  return write_thread(thread_id, rows);
}

void sqlite_saver::import_thread(std::string_view thread_id, std::string_view bytes) {
  const auto thread = read_thread(bytes);
  impl_->settle(thread_id);
  impl_->writer().run([&](database& db) { import_rows(db, thread_id, thread); });
  impl_->forget(thread_id);
}

std::vector<thread_summary> sqlite_saver::threads(std::string_view after, std::size_t limit) {
  return impl_->reading([&](sqlite_reader& r) { return r.threads(after, limit); });
}

std::optional<json::object> sqlite_saver::show(const thread_key& key, std::string_view id) {
  impl_->settle(key.thread_id);
  return impl_->reading([&](sqlite_reader& r) { return r.show(key, id); });
}

std::vector<json::object> sqlite_saver::history(const thread_key& key,
                                                const checkpoint_query& query) {
  impl_->settle(key.thread_id);
  return impl_->reading([&](sqlite_reader& r) { return r.history(key, query); });
}

std::size_t sqlite_saver::prune(const prune_options& what) {
  impl_->settle(what.thread_id);
  auto gone = std::size_t{0};
  impl_->writer().run([&](database& db) {
    gone = prune_rows(db, what);
    impl_->forget_older(what.thread_id);
  });
  return gone;
}

sqlite_saver::counts sqlite_saver::written() const noexcept {
  return impl_->writer().counts();
}

} // namespace superstep
