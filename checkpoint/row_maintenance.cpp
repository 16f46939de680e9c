// SPDX-License-Identifier: Apache-2.0
// Import, prune and deletion of checkpoints. Two things make deletion difficult. Most rows are
// deltas, so before a row is deleted, the rows based on it are rewritten as whole rows. And a row
// also contains the task records of the previous checkpoint; if that checkpoint remains, these
// records are moved to table `tasks`.
#include "row_maintenance.hpp"

#include "ownership.hpp"
#include "row_bytes.hpp"
#include "row_reader.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace superstep::detail {

namespace {

std::int64_t number_of_layout(database& db, const std::string& text) {
  auto add = db.prepare("INSERT INTO @layouts (text) VALUES (?1) ON CONFLICT DO NOTHING");
  add.bind_text(1, text);
  add.run();
  auto find = db.prepare("SELECT no FROM @layouts WHERE text = ?1");
  find.bind_text(1, text);
  return find.step() ? find.number(0) : 0;
}

std::int64_t add_thread(database& db, std::string_view thread_id, const std::string& ns) {
  auto s =
      db.prepare("INSERT INTO @threads (thread, ns, created) VALUES (?1, ?2, ?3) RETURNING no");
  s.bind_text(1, thread_id);
  s.bind_text(2, ns);
  s.bind(3, now_in_seconds());
  return s.step() ? s.number(0) : 0;
}

std::uint32_t checkpoint_sum(const checkpoint_header& head, std::string_view base,
                             std::string_view row) {
  return checksum_of({head.id, head.parent, base, std::to_string(head.step), row});
}

/// The columns `chain` and `whole` of a row; see stored_checkpoint.
struct row_size {
  std::int64_t chain = 0;
  std::int64_t whole = 0;
};

} // namespace

std::int64_t now_in_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void add_task(database& db, statement& add, const task_target& at, std::string text) {
  const auto row = db.to_row(std::move(text), task_place(at.key, at.point));
  add.bind(1, at.thread);
  add.bind_text(2, at.point);
  add.bind(3, at.layout);
  add.bind(4, checksum_of({at.point, row}));
  add.bind_bytes(5, row);
  add.run();
}

void import_rows(database& db, std::string_view thread_id, const exported_thread& thread) {
  auto taken = db.prepare("SELECT 1 FROM @threads WHERE thread = ?1");
  taken.bind_text(1, thread_id);
  if (taken.step())
    throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                           "checkpoints in '" + db.name() + "': thread '" + std::string{thread_id} +
                               "' already exists; choose another id, or remove the thread "
                               "first, with prune() and prune_options::whole_threads"};
  auto layouts = std::vector<std::int64_t>{};
  for (const auto& text : thread.layouts)
    layouts.push_back(number_of_layout(db, text));
  auto spaces = std::map<std::string, std::int64_t>{};
  auto sizes = std::map<std::pair<std::string, std::string>, row_size>{};
  auto point = db.prepare("INSERT INTO @points (thread, id, parent, base, step, source, layout, "
                          "chain, whole, made, sum, row) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, "
                          "?9, ?10, ?11, ?12)");
  auto task = db.prepare(add_task_sql);
  for (const auto& p : thread.points) {
    const auto [space, is_new] = spaces.emplace(p.ns, 0);
    if (is_new)
      space->second = add_thread(db, thread_id, p.ns);
    const auto key = thread_key{std::string{thread_id}, p.ns};
    const auto own = static_cast<std::int64_t>(p.row.size());
    auto size = row_size{own, own};
    if (!p.base.empty()) {
      const auto& base = sizes[{p.ns, p.base}];
      size = {base.chain + own, base.whole + own};
    }
    sizes[{p.ns, p.header.id}] = size;
    const auto row = db.to_row(p.row, checkpoint_place(key, p.header.id));
    point.bind(1, space->second);
    point.bind_text(2, p.header.id);
    point.bind_text(3, p.header.parent);
    if (p.base.empty())
      point.bind_null(4);
    else
      point.bind_text(4, p.base);
    point.bind(5, p.header.step);
    point.bind(6, static_cast<std::int64_t>(p.header.source));
    point.bind(7, layouts[p.layout]);
    point.bind(8, size.chain);
    point.bind(9, size.whole);
    point.bind(10, now_in_seconds());
    point.bind(11, checkpoint_sum(p.header, p.base, row));
    point.bind_bytes(12, row);
    point.run();
    for (const auto& t : p.tasks)
      add_task(db, task, {space->second, key, p.header.id, layouts[t.layout]}, t.row);
  }
}

namespace {

/// The base class of the classes that delete checkpoints of one thread.
class remover {
protected:
  remover(database& db, row_reader& reader) : db_{db}, reader_{reader} {}

  /// Row numbers in table `threads` by namespace. A parent's namespace is a prefix of its
  /// subgraphs' namespaces, so the parent comes first in the map.
  using spaces_type = std::map<std::string, std::int64_t>;

  spaces_type spaces_of(const std::string& thread_id) {
    auto out = spaces_type{};
    auto s = db_.prepare("SELECT ns, no FROM @threads WHERE thread = ?1");
    s.bind_text(1, thread_id);
    while (s.step())
      out.emplace(s.text(0), s.number(1));
    return out;
  }

  void remove_effects(const std::string& thread_id) {
    auto s = db_.prepare("DELETE FROM @effects WHERE thread = ?1");
    s.bind_text(1, thread_id);
    s.run();
  }

  /// Deletes a namespace with all its checkpoints. Returns their number.
  std::size_t remove_all(std::int64_t no) {
    auto gone = remove_before(no, "\x7f"); // ids consist of digits and dots, which sort before 0x7f
    auto s = db_.prepare("DELETE FROM @threads WHERE no = ?1");
    s.bind(1, no);
    s.run();
    return gone;
  }

  /// Deletes the checkpoints of a namespace that are older than `first`. Returns their number.
  std::size_t remove_before(std::int64_t no, const std::string& first) {
    auto tasks = db_.prepare("DELETE FROM @tasks WHERE thread = ?1 AND point < ?2");
    tasks.bind(1, no);
    tasks.bind_text(2, first);
    tasks.run();
    auto points = db_.prepare("DELETE FROM @points WHERE thread = ?1 AND id < ?2");
    points.bind(1, no);
    points.bind_text(2, first);
    points.run();
    return static_cast<std::size_t>(db_.changes());
  }

  /// Rewrites a row as a whole row, so that its base can be deleted.
  /// @param without_tasks whether the task records of the previous checkpoint are removed from the
  /// row
  void make_whole(const thread_key& key, std::int64_t no, const std::string& id,
                  bool without_tasks = false) {
    auto whole = reader_.whole_row(key, id);
    if (without_tasks)
      whole.row.erase("r");
    const auto row = db_.to_row(to_text(whole.row), checkpoint_place(key, id));
    auto s = db_.prepare("UPDATE @points SET base = NULL, parent = ?3, chain = ?4, whole = ?4, "
                         "sum = ?5, row = ?6 WHERE thread = ?1 AND id = ?2");
    s.bind(1, no);
    s.bind_text(2, id);
    s.bind_text(3, whole.header.parent);
    s.bind(4, static_cast<std::int64_t>(row.size()));
    s.bind(5, checkpoint_sum(whole.header, {}, row));
    s.bind_bytes(6, row);
    s.run();
  }

  database& db_;
  row_reader& reader_; ///< uses another connection, which sees the state before this transaction
};

/// Prunes one thread: first the outermost namespace, which is that of the graph itself, then those
/// of its subgraphs.
class pruner : remover {
public:
  pruner(database& db, row_reader& reader, const prune_options& what)
      : remover{db, reader}, what_{what} {}

  prune_result prune(const std::string& thread_id) {
    auto gone = std::size_t{0};
    const auto spaces = spaces_of(thread_id);
    const auto goes = what_.whole_threads && is_old(thread_id);
    if (goes)
      remove_effects(thread_id);
    const auto outermost = ns_number(spaces, {});
    for (const auto& [ns, no] : spaces) {
      if (goes || is_orphan(ns, spaces))
        gone += remove_all(no);
      else
        gone += prune_space({thread_id, ns}, no, outermost);
    }
    return {gone, goes && !spaces.empty()};
  }

private:
  static std::optional<std::int64_t> ns_number(const spaces_type& spaces, const std::string& ns) {
    const auto found = spaces.find(ns);
    return found == spaces.end() ? std::nullopt : std::optional{found->second};
  }

  /// Whether the newest checkpoint of a thread is older than prune_options::older_than. Without an
  /// age the clock does not matter: that of the writer may have been ahead.
  bool is_old(const std::string& thread_id) {
    if (what_.older_than.count() == 0)
      return true;
    auto s = db_.prepare("SELECT coalesce(max(p.made), 0) FROM @points p JOIN @threads t ON t.no = "
                         "p.thread WHERE t.thread = ?1");
    s.bind_text(1, thread_id);
    return s.step() && s.number(0) <= now_in_seconds() - what_.older_than.count();
  }

  /// Whether the checkpoint that owns a subgraph's namespace no longer exists.
  bool is_orphan(const std::string& ns, const spaces_type& spaces) {
    const auto owner = owner_of(ns);
    if (!owner)
      return false;
    const auto parent = ns_number(spaces, std::string{owner->parent});
    auto s = db_.prepare("SELECT 1 FROM @points WHERE thread = ?1 AND id = ?2");
    return !parent || !has_owner(owner->id, [&](std::string_view id) {
      const auto use = statement_use{s};
      s.bind(1, *parent);
      s.bind_text(2, id);
      return s.step();
    });
  }

  /// Returns the id of the oldest checkpoint that prune_options keeps; empty if all are kept.
  std::string first_kept(std::int64_t no) {
    auto s = db_.prepare("SELECT id FROM @points WHERE thread = ?1 ORDER BY id DESC LIMIT 1 OFFSET "
                         "?2");
    s.bind(1, no);
    s.bind(2, static_cast<std::int64_t>(std::max(what_.keep_last, std::size_t{1}) - 1));
    if (!s.step())
      return {};
    auto first = std::string{s.text(0)};
    if (what_.older_than.count() == 0)
      return first;
    auto young = db_.prepare("SELECT id FROM @points WHERE thread = ?1 AND made > ?2 ORDER BY id "
                             "LIMIT 1");
    young.bind(1, no);
    young.bind(2, now_in_seconds() - what_.older_than.count());
    return young.step() ? std::min(first, std::string{young.text(0)}) : first;
  }

  /// Returns the id of the oldest checkpoint of a subgraph that a remaining checkpoint of the
  /// outermost graph needs; empty if none is needed. A run that resumes from a checkpoint of the
  /// outermost graph restores each subgraph from the subgraph's newest checkpoint that is older. A
  /// run from an edit restores those that are older than the edit's parent.
  std::string first_needed(std::int64_t no, std::int64_t outermost) {
    auto s = db_.prepare(
        "SELECT coalesce(max(id), '') FROM @points WHERE thread = ?1 AND id < (SELECT min(b.id) "
        "FROM (SELECT id FROM @points WHERE thread = ?2 UNION ALL SELECT coalesce(parent, base) "
        "FROM @points WHERE thread = ?2 AND source IN (?3, ?4)) AS b WHERE b.id > (SELECT min(id) "
        "FROM @points WHERE thread = ?1))");
    s.bind(1, no);
    s.bind(2, outermost);
    s.bind(3, static_cast<std::int64_t>(checkpoint_source::update));
    s.bind(4, static_cast<std::int64_t>(checkpoint_source::fork));
    return s.step() ? std::string{s.text(0)} : std::string{};
  }

  /// Returns the oldest checkpoint that a checkpoint needs, which may be itself; see
  /// needs_older_checkpoints().
  std::string oldest_value(const thread_key& key, std::string id) {
    for (;;) {
      const auto row = reader_.row(key, id);
      if (!row || row->header.parent.empty() || !needs_older_checkpoints(metadata_in(row->row)))
        return id;
      id = row->header.parent;
    }
  }

  /// Returns the id of the oldest checkpoint that those from `first` on need for the values of
  /// their channels.
  std::string first_with_values(const thread_key& key, std::int64_t no, std::string first) {
    for (;;) {
      auto oldest = first;
      auto s = db_.prepare("SELECT id FROM @points WHERE thread = ?1 AND id >= ?2 AND "
                           "coalesce(parent, base) < ?2");
      s.bind(1, no);
      s.bind_text(2, first);
      while (s.step())
        oldest = std::min(oldest, oldest_value(key, std::string{s.text(0)}));
      if (oldest == first) // else there may be other branches among the checkpoints that were added
        return first;
      first = std::move(oldest);
    }
  }

  /// Prunes one namespace.
  std::size_t prune_space(const thread_key& key, std::int64_t no,
                          std::optional<std::int64_t> outermost) {
    auto first = first_kept(no);
    if (first.empty())
      return 0;
    if (!key.ns.empty() && outermost)
      if (const auto needed = first_needed(no, *outermost); !needed.empty())
        first = std::min(first, needed);
    first = first_with_values(key, no, std::move(first));
    auto based = std::vector<std::string>{}; // ids of kept rows whose base will be deleted
    {
      auto s = db_.prepare("SELECT id FROM @points WHERE thread = ?1 AND id >= ?2 AND base < ?2");
      s.bind(1, no);
      s.bind_text(2, first);
      while (s.step())
        based.emplace_back(s.text(0));
    }
    for (const auto& id : based)
      make_whole(key, no, id);
    return remove_before(no, first);
  }

  const prune_options& what_;
};

/// Deletes the checkpoints of some runs from one thread.
class run_remover : remover {
public:
  run_remover(database& db, row_reader& reader, const std::vector<std::string>& run_ids)
      : remover{db, reader}, run_ids_{run_ids} {}

  std::size_t remove(const std::string& thread_id) {
    auto gone = std::size_t{0};
    for (const auto& [ns, no] : spaces_of(thread_id)) {
      const auto rows = reader_.readable_rows({thread_id, ns});
      const auto lost_owner = is_owner_going(ns);
      auto& going = going_[ns];
      for (const auto& row : rows)
        if (lost_owner || is_of_runs(metadata_in(row.row), run_ids_))
          going.insert(row.header.id);
      if (going.empty())
        continue;
      part(rows, going, {thread_id, ns}, no);
      gone += going.size();
      auto left = db_.prepare("SELECT 1 FROM @points WHERE thread = ?1 LIMIT 1");
      left.bind(1, no);
      if (left.step())
        continue;
      (void)remove_all(no);
      if (ns.empty())
        remove_effects(thread_id);
    }
    return gone;
  }

private:
  using ids_type = std::set<std::string, std::less<>>;

  /// Whether this call deletes the checkpoint that owns the namespace. An owner that is missing in
  /// the database does not count: a subgraph's checkpoint may be written before its owner.
  [[nodiscard]] bool is_owner_going(const std::string& ns) const {
    const auto owner = owner_of(ns);
    const auto parent = owner ? going_.find(owner->parent) : going_.end();
    return parent != going_.end() &&
           has_owner(owner->id, [&](std::string_view id) { return parent->second.contains(id); });
  }

  /// Deletes the checkpoints in `going`. The row of a deleted checkpoint contains the task records
  /// of the previous checkpoint. If that checkpoint remains, its records are kept.
  void part(const std::vector<stored_checkpoint>& rows, const ids_type& going,
            const thread_key& key, std::int64_t no) {
    for (const auto& row : rows) {
      const auto goes = going.contains(row.header.id);
      const auto parent_goes = going.contains(row.header.parent);
      if (!goes && parent_goes && needs_older_checkpoints(metadata_in(row.row)))
        throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                               "checkpoint " + row.header.id + " of thread '" + key.thread_id +
                                   "' needs checkpoint " + row.header.parent +
                                   " of a run that was to be deleted, because the graph has a "
                                   "DeltaChannel; nothing was "
                                   "deleted: delete the whole thread, or none of it"};
      if (goes && !parent_goes)
        give_tasks_back(row, key, no);
      else if (!goes && (parent_goes || going.contains(row.base)))
        make_whole(key, no, row.header.id, parent_goes);
    }
    auto tasks = db_.prepare("DELETE FROM @tasks WHERE thread = ?1 AND point = ?2");
    auto point = db_.prepare("DELETE FROM @points WHERE thread = ?1 AND id = ?2");
    for (const auto& id : going)
      for (auto* s : {&tasks, &point}) {
        s->bind(1, no);
        s->bind_text(2, id);
        s->run();
      }
  }

  /// Copies the task records in a row to table `tasks`, before the row is deleted.
  void give_tasks_back(const stored_checkpoint& row, const thread_key& key, std::int64_t no) {
    const auto* records = row.row.if_contains("r");
    if (records == nullptr || !records->is_array())
      return;
    auto s = db_.prepare(add_task_sql);
    for (const auto& record : records->get_array())
      add_task(db_, s, {no, key, row.header.parent, row.layout}, to_text(record));
  }

  const std::vector<std::string>& run_ids_;
  std::map<std::string, ids_type, std::less<>> going_; ///< deleted ids by namespace
};

} // namespace

prune_result prune_thread(database& db, row_reader& reader, const prune_options& what,
                          const std::string& thread_id) {
  return pruner{db, reader, what}.prune(thread_id);
}

std::size_t remove_runs(database& db, row_reader& reader, const std::set<std::string>& threads,
                        const std::vector<std::string>& run_ids) {
  auto gone = std::size_t{0};
  for (const auto& name : threads)
    gone += run_remover{db, reader, run_ids}.remove(name);
  return gone;
}

void remove_thread(database& db, std::string_view thread_id) {
  for (const auto* sql :
       {"DELETE FROM @points WHERE thread IN (SELECT no FROM @threads WHERE thread = ?1)",
        "DELETE FROM @tasks WHERE thread IN (SELECT no FROM @threads WHERE thread = ?1)",
        "DELETE FROM @effects WHERE thread = ?1", "DELETE FROM @threads WHERE thread = ?1"}) {
    auto s = db.prepare(sql);
    s.bind_text(1, thread_id);
    s.run();
  }
}

} // namespace superstep::detail
