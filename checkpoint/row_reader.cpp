// SPDX-License-Identifier: Apache-2.0
// Reads checkpoints from the database. A load finds the chain of rows that make up a checkpoint,
// applies them in order, and adds the task records. Checksums and indexes are verified on the way,
// because a checkpoint that is silently incomplete is worse than an error. show() and history() are
// in row_views.cpp.
#include "row_reader.hpp"

#include "base/utf8.hpp"
#include "ownership.hpp"
#include "row_bytes.hpp"

#include <algorithm>
#include <utility>

namespace superstep::detail {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr auto columns = "no, id, parent, base, step, source, layout, chain, whole, sum, row";

checkpoint_error damaged(const database& db, const thread_key& key, std::string_view id,
                         std::string_view why) {
  return {make_error_code(checkpoint_errc::corrupt),
          "checkpoints in '" + db.name() + "': thread '" + key.thread_id + "': checkpoint " +
              std::string{id} + " is damaged (" + std::string{why} +
              "); nothing was overwritten, and older checkpoints and other threads can still be "
              "read: resume from an older checkpoint, or start a new thread"};
}

/// Calls `act`. If it reports a damaged row, adds the file, the thread and the checkpoint to the
/// error text.
template <class Act>
auto naming(const database& db, const thread_key& key, std::string_view id, const Act& act) {
  try {
    return act();
  } catch (const checkpoint_error& e) {
    if (e.code() != checkpoint_errc::corrupt || std::string_view{e.what()}.find(db.name()) != npos)
      throw;
    throw damaged(db, key, id, e.what());
  }
}

} // namespace

checkpoint_error layout_damaged(const database& db) {
  return {make_error_code(checkpoint_errc::corrupt),
          "checkpoints in '" + db.name() +
              "': the table of graph layouts is damaged: keep a copy, export the threads that can "
              "still be read, and start a new file; nothing was overwritten"};
}

namespace {

checkpoint_error base_is_missing(const database& db, const thread_key& key, std::string_view id,
                                 const std::string& base) {
  return damaged(db, key, id, "its base, checkpoint " + base + ", is missing");
}

std::string unpacked(const database& db, statement& s, int column, const thread_key& key,
                     std::string_view id, const row_place& place) {
  auto text = db.from_row(s.bytes(column), place);
  if (!text)
    throw damaged(db, key, id, text.error().text);
  return std::move(*text);
}

} // namespace

row_reader::row_reader(std::unique_ptr<database> db)
    : owned_{std::move(db)}, db_{*owned_},
      find_thread_{db_.prepare("SELECT no FROM @threads WHERE thread = ?1 AND ns = ?2")},
      find_head_{
          db_.prepare("SELECT p.no, p.id, (SELECT count(*) FROM @tasks k WHERE k.thread = t.no AND "
                      "k.point = p.id) FROM @threads t JOIN @points p ON p.thread = t.no WHERE "
                      "t.thread = ?1 AND t.ns = ?2 ORDER BY p.id DESC LIMIT 1")},
      chain_{db_.prepare(db_.chain_sql(columns))},
      next_{db_.prepare(std::string{"SELECT "} + columns +
                        " FROM @points WHERE thread = ?1 AND id > ?2 ORDER BY id LIMIT 1")},
      row_{db_.prepare(std::string{"SELECT "} + columns +
                       " FROM @points WHERE thread = ?1 AND id = ?2")},
      tasks_{db_.prepare(
          "SELECT sum, row, layout FROM @tasks WHERE thread = ?1 AND point = ?2 ORDER BY "
          "no")},
      layout_{db_.prepare(layout_sql)}, find_layout_{db_.prepare(find_layout_sql)},
      effect_{db_.prepare("SELECT ended, sum, row FROM @effects WHERE thread = ?1 AND key = ?2")} {}

std::optional<effect_record> row_reader::find_effect(std::string_view thread_id,
                                                     std::string_view key) {
  auto s = statement_use{effect_};
  s->bind_text(1, thread_id);
  s->bind_text(2, key);
  if (!s->step())
    return std::nullopt;
  const auto row = s->bytes(2);
  auto text = db_.from_row(row, effect_place(thread_id, key));
  if (!text || s->number(1) != static_cast<std::int64_t>(checksum_of({thread_id, key, row})))
    throw checkpoint_error{
        make_error_code(checkpoint_errc::corrupt),
        "checkpoints in '" + db_.name() + "': thread '" + std::string{thread_id} +
            "': an effect record is corrupt: check whether the effect happened, then "
            "delete the record or the thread"};
  return effect_record{s->number(0) != 0, std::move(*text)};
}

std::int64_t row_reader::thread_no(const thread_key& key) {
  {
    auto s = statement_use{find_thread_};
    s->bind_text(1, key.thread_id);
    s->bind_text(2, key.ns);
    if (s->step())
      return s->number(0);
  }
  check_threads();
  return 0;
}

/// A run starts a thread without checkpoints over. So before an empty result is returned, the table
/// is checked as well.
row_reader::head_row row_reader::head(const thread_key& key) {
  {
    auto s = statement_use{find_head_};
    s->bind_text(1, key.thread_id);
    s->bind_text(2, key.ns);
    if (s->step())
      return {s->number(0), std::string{s->text(1)}, s->number(2)};
  }
  if (const auto thread = thread_no(key); thread != 0)
    check_has_no_checkpoints(thread);
  return {};
}

/// Returns a layout from the cache or from table `layouts`. Layouts have no checksum, but each text
/// is stored in the table and in its index, and the two must be equal.
const row_reader::known_layout& row_reader::layout(std::int64_t no) {
  if (const auto known = layouts_.find(no); known != layouts_.end())
    return known->second;
  auto out = known_layout{};
  {
    auto s = statement_use{layout_};
    s->bind(1, no);
    if (!s->step())
      throw layout_damaged(db_);
    out.text = s->text(0);
  }
  {
    auto s = statement_use{find_layout_};
    s->bind_text(1, out.text);
    if (!s->step() || s->number(0) != no)
      throw layout_damaged(db_);
  }
  try {
    out.names = read_layout(out.text);
  } catch (const checkpoint_error&) {
    throw layout_damaged(db_);
  }
  return layouts_.emplace(no, std::move(out)).first->second;
}

/// Reads the current row of a statement, and verifies its checksum. The column `parent` is null if
/// the parent is the base.
stored_checkpoint row_reader::row_of(statement& s, const thread_key& key) {
  auto out = stored_checkpoint{};
  out.no = s.number(0);
  out.header.id = s.text(1);
  out.base = s.text(3);
  out.header.parent = s.is_null(2) ? out.base : std::string{s.text(2)};
  out.header.step = s.number(4);
  out.header.source = static_cast<checkpoint_source>(s.number(5));
  out.layout = s.number(6);
  out.chain = s.number(7);
  out.whole = s.number(8);
  const auto sum = checksum_of(
      {out.header.id, out.header.parent, out.base, std::to_string(out.header.step), s.bytes(10)});
  if (s.number(9) != static_cast<std::int64_t>(sum))
    throw damaged(db_, key, out.header.id, "its checksum does not match");
  auto row = naming(db_, key, out.header.id, [&] {
    return parse_row(
        unpacked(db_, s, 10, key, out.header.id, checkpoint_place(key, out.header.id)));
  });
  if (!row.is_object())
    throw damaged(db_, key, out.header.id, "its row is not a JSON object");
  out.row = std::move(row.get_object());
  return out;
}

std::optional<stored_checkpoint> row_reader::row_at(std::int64_t thread, std::string_view id,
                                                    const thread_key& key) {
  auto s = statement_use{row_};
  s->bind(1, thread);
  s->bind_text(2, id);
  return s->step() ? std::optional{row_of(row_, key)} : std::nullopt;
}

std::vector<stored_checkpoint> row_reader::chain_of(std::int64_t thread, std::string_view id,
                                                    std::string_view known, const thread_key& key) {
  auto out = std::vector<stored_checkpoint>{};
  auto s = statement_use{chain_};
  s->bind(1, thread);
  // Without an id, start at the newest: ids consist of digits and dots, which sort before 0x7f.
  const auto newest = std::string{id.empty() ? std::string_view{"\x7f"} : id};
  s->bind_text(2, newest);
  s->bind_text(3, known);
  auto wanted = std::string{id};
  // The rows come newest first. A base is always older than the rows based on it, so one pass finds
  // the whole chain. Rows of other branches are skipped.
  while (s->step()) {
    if (!wanted.empty() && s->text(1) != wanted)
      continue;
    out.push_back(row_of(chain_, key));
    wanted = out.back().base;
    if (wanted.empty() || wanted == known) {
      std::ranges::reverse(out);
      return out;
    }
    if (wanted >= out.back().header.id)
      throw damaged(db_, key, out.back().header.id, "its base is not an older checkpoint");
  }
  if (!out.empty())
    throw base_is_missing(db_, key, out.front().header.id, wanted);
  return out;
}

/// Returns the records of the tasks that ran after a checkpoint: first those in table `tasks`, then
/// those in the row of the next checkpoint.
std::vector<row_reader::stored_task>
row_reader::tasks_of(std::int64_t thread, const std::string& id, const thread_key& key) {
  auto out = std::vector<stored_task>{};
  {
    auto s = statement_use{tasks_};
    s->bind(1, thread);
    s->bind_text(2, id);
    while (s->step()) {
      if (s->number(0) != static_cast<std::int64_t>(checksum_of({id, s->bytes(1)})))
        throw damaged(db_, key, id, "the checksum of a task record does not match");
      // Early versions wrote error texts with invalid UTF-8. Their threads must stay readable.
      const auto text = valid_utf8(unpacked(db_, tasks_, 1, key, id, task_place(key, id)));
      out.push_back({s->number(2), naming(db_, key, id, [&] { return parse_row(text); })});
    }
  }
  auto s = statement_use{next_};
  s->bind(1, thread);
  s->bind_text(2, id);
  if (!s->step() || (s->is_null(2) ? s->text(3) : s->text(2)) != id)
    return out;
  auto next = stored_checkpoint{};
  try {
    next = row_of(next_, key);
  } catch (const checkpoint_error&) {
    // The next row is damaged, so its task records are lost. This checkpoint can still be resumed:
    // the tasks run again.
    return out;
  }
  if (auto* tasks = next.row.if_contains("r"); tasks != nullptr && tasks->is_array())
    for (auto& t : tasks->get_array())
      out.push_back({next.layout, std::move(t)});
  return out;
}

saved_checkpoint row_reader::read(const stored_checkpoint& row, const folded_checkpoint& held,
                                  std::int64_t thread, const layout_ptr& as,
                                  const thread_key& key) {
  return naming(db_, key, row.header.id, [&] {
    const auto reader = checkpoint_reader{layout(row.layout).names, as, key};
    auto out = saved_checkpoint{reader.read(row.header, held), {}};
    auto index = record_index{};
    for (const auto& task : tasks_of(thread, row.header.id, key)) {
      auto record = task.layout == row.layout
                        ? reader.read_task(task.row)
                        : checkpoint_reader{layout(task.layout).names, as, key}.read_task(task.row);
      index.add(out.tasks, std::move(record));
    }
    return out;
  });
}

void row_reader::fold(folded_checkpoint& into, std::vector<stored_checkpoint>& rows,
                      const thread_key& key) {
  for (auto& row : rows)
    naming(db_, key, row.header.id, [&] { into.fold(std::move(row.row)); });
}

std::optional<loaded_checkpoint> row_reader::load(const thread_key& key, std::string_view id,
                                                  const layout_ptr& as) {
  const auto thread = thread_no(key);
  if (thread == 0)
    return std::nullopt;
  auto chain = chain_of(thread, id, {}, key);
  if (chain.empty()) {
    if (id.empty())
      check_has_no_checkpoints(thread);
    return std::nullopt;
  }
  auto held = folded_checkpoint{};
  fold(held, chain, key);
  const auto& last = chain.back();
  return loaded_checkpoint{read(last, held, thread, as, key), last.no, last.chain, last.whole,
                           layout(last.layout).text == write_layout(*as)};
}

stored_checkpoint row_reader::whole_row(const thread_key& key, std::string_view id) {
  auto chain = chain_of(thread_no(key), id, {}, key);
  if (chain.empty())
    throw damaged(db_, key, id, "it is in the index but not in the table");
  auto out = std::move(chain.back());
  auto held = folded_checkpoint{};
  chain.pop_back();
  fold(held, chain, key);
  auto tasks = out.row.if_contains("r") != nullptr ? out.row.at("r") : json::value{};
  naming(db_, key, id, [&] { held.fold(std::move(out.row)); });
  out.row = held.whole_row();
  if (!tasks.is_null()) // whole_row() drops them, but the previous checkpoint may still need them
    out.row["r"] = std::move(tasks);
  return out;
}

std::vector<std::string> row_reader::ids_of(std::int64_t thread, const checkpoint_query& query,
                                            const thread_key& key) {
  auto sql = std::string{"SELECT id FROM @points WHERE thread = ?1"};
  if (!query.before.empty())
    sql += " AND id < ?2";
  if (query.source)
    sql += " AND source = ?3";
  if (query.step)
    sql += " AND step = ?4";
  sql += " ORDER BY id DESC";
  auto s = db_.prepare(sql);
  s.bind(1, thread);
  if (!query.before.empty())
    s.bind_text(2, query.before);
  if (query.source)
    s.bind(3, static_cast<std::int64_t>(*query.source));
  if (query.step)
    s.bind(4, *query.step);
  auto out = std::vector<std::string>{};
  const auto is_wanted = [&](std::string_view id) {
    // Metadata is in the JSON rows. Decoding them is expensive, so it is done only if necessary.
    if (query.metadata.empty())
      return true;
    try {
      const auto row = row_at(thread, id, key);
      return row && has_entries(metadata_in(row->row), query.metadata);
    } catch (const checkpoint_error& e) { // skip a damaged row; loading it reports the damage
      if (e.code() != checkpoint_errc::corrupt)
        throw;
      return false;
    }
  };
  while ((!query.limit || out.size() < *query.limit) && s.step())
    if (is_wanted(s.text(0)))
      out.emplace_back(s.text(0));
  return out;
}

bool row_reader::is_indexed(std::int64_t thread, std::string_view id) {
  auto s = db_.prepare("SELECT 1 FROM @points WHERE thread = ?1 AND id = ?2");
  s.bind(1, thread);
  s.bind_text(2, id);
  return s.step();
}

std::optional<stored_checkpoint> row_reader::row(const thread_key& key, std::string_view id) {
  return row_at(thread_no(key), id, key);
}

std::vector<saved_checkpoint> row_reader::list(const thread_key& key, const checkpoint_query& query,
                                               const layout_ptr& as) {
  auto out = std::vector<saved_checkpoint>{};
  const auto thread = thread_no(key);
  if (thread == 0)
    return out;
  const auto ids = ids_of(thread, query, key);
  // The oldest checkpoint is read first: most later checkpoints are deltas to it, so `held` is
  // reused.
  auto held = folded_checkpoint{};
  auto at = std::string{};
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    auto chain = chain_of(thread, *id, at, key);
    if (chain.empty()) {
      if (!is_indexed(thread, *id)) // another process has deleted it meanwhile
        continue;
      throw damaged(db_, key, *id, "it is in the index but not in the table");
    }
    if (chain.front().base.empty())
      held = {};
    fold(held, chain, key);
    at = *id;
    out.push_back(read(chain.back(), held, thread, as, key));
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<stored_checkpoint> row_reader::readable_rows(const thread_key& key) {
  auto out = std::vector<stored_checkpoint>{};
  auto s =
      db_.prepare(std::string{"SELECT "} + columns + " FROM @points WHERE thread = ?1 ORDER BY id");
  s.bind(1, thread_no(key));
  while (s.step()) {
    try {
      out.push_back(row_of(s, key));
    } catch (const checkpoint_error&) { // skip the damaged row; loading it reports the damage
    }
  }
  return out;
}

/// Decodes every row of the file, because a run id is part of the JSON row and has no index.
std::set<std::string> row_reader::threads_of_runs(const std::vector<std::string>& run_ids) {
  auto out = std::set<std::string>{};
  auto s = db_.prepare("SELECT thread, ns FROM @threads");
  while (s.step()) {
    const auto key = thread_key{std::string{s.text(0)}, std::string{s.text(1)}};
    const auto rows = readable_rows(key);
    if (std::ranges::any_of(rows, [&](const stored_checkpoint& point) {
          return is_of_runs(metadata_in(point.row), run_ids);
        }))
      out.insert(key.thread_id);
  }
  return out;
}

/// Exports the rows as they are, without applying deltas. Only the task records in a row are moved:
/// an export lists them with the checkpoint after which the tasks ran.
exported_thread row_reader::export_rows(std::string_view thread_id, std::string_view last) {
  auto out = exported_thread{};
  auto spaces = std::vector<std::pair<std::int64_t, std::string>>{};
  {
    auto s = db_.prepare("SELECT no, ns FROM @threads WHERE thread = ?1 ORDER BY ns");
    s.bind_text(1, thread_id);
    while (s.step())
      spaces.emplace_back(s.number(0), std::string{s.text(1)});
  }
  check_indexes(thread_id);
  auto numbers = std::map<std::int64_t, std::size_t>{};
  const auto number_of = [&](std::int64_t no) {
    const auto [at, is_new] = numbers.emplace(no, out.layouts.size());
    if (is_new)
      out.layouts.push_back(layout(no).text);
    return at->second;
  };
  for (const auto& [no, ns] : spaces) {
    const auto key = thread_key{std::string{thread_id}, ns};
    const auto* const bound = last.empty() ? "" : ns.empty() ? " AND id <= ?2" : " AND id < ?2";
    auto s = db_.prepare(std::string{"SELECT "} + columns + " FROM @points WHERE thread = ?1" +
                         bound + " ORDER BY id");
    s.bind(1, no);
    if (!last.empty())
      s.bind_text(2, last);
    auto ids = std::set<std::string>{};
    while (s.step()) {
      auto row = row_of(s, key);
      if (!row.base.empty() && !ids.contains(row.base)) // no import accepts such an export
        throw base_is_missing(db_, key, row.header.id, row.base);
      ids.insert(row.header.id);
      row.row.erase("r"); // tasks_of() has already returned them for the previous checkpoint
      auto& to = out.points.emplace_back();
      to.ns = ns;
      to.header = row.header;
      to.base = row.base;
      to.layout = number_of(row.layout);
      to.row = to_text(row.row);
      if (ns.empty() && row.header.id == last) // cut_thread() drops these records
        continue;
      for (const auto& task : tasks_of(no, row.header.id, key))
        to.tasks.push_back({number_of(task.layout), to_text(task.row)});
    }
  }
  if (out.points.empty())
    throw checkpoint_error{make_error_code(checkpoint_errc::failed),
                           "checkpoints in '" + db_.name() + "': thread '" +
                               std::string{thread_id} + "' does not exist"};
  return out;
}

std::vector<std::string> row_reader::thread_ids() {
  auto s = db_.prepare("SELECT DISTINCT thread FROM @threads ORDER BY thread");
  auto out = std::vector<std::string>{};
  while (s.step())
    out.emplace_back(s.text(0));
  return out;
}

std::vector<thread_summary> row_reader::threads(std::string_view after, std::size_t limit) {
  auto s = db_.prepare(
      "SELECT t.thread, min(t.created), count(p.no), coalesce(sum(length(p.row)), 0), coalesce(max("
      "CASE t.ns WHEN '' THEN p.id END), '') FROM @threads t LEFT JOIN @points p ON p.thread = "
      "t.no "
      "WHERE t.thread > ?1 GROUP BY t.thread ORDER BY t.thread LIMIT ?2");
  s.bind_text(1, after);
  s.bind(2, static_cast<std::int64_t>(limit));
  auto out = std::vector<thread_summary>{};
  while (s.step())
    out.push_back(
        {std::string{s.text(0)}, s.number(1), s.number(2), s.number(3), std::string{s.text(4)}});
  return out;
}

} // namespace superstep::detail
