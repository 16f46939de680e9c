// SPDX-License-Identifier: Apache-2.0
// The cache of task outputs in a database, in table `outputs`. An output is stored as a task
// record (checkpoint_writer.cpp) together with the layout of the graph that wrote it. find()
// converts the record to the layout of the caller's graph. memory_cache.cpp implements the same
// interface in memory.
#include "row_cache.hpp"

#include "checkpoint_codec.hpp"
#include "exported_thread.hpp"
#include "store_labels.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace superstep::detail {

namespace {

/// Returns the place of an output for its encryption; see row_place.
row_place output_place(std::string_view scope, std::string_view key) {
  return {"output", scope, key};
}

} // namespace

/// One connection, protected by a mutex. Each call is a separate transaction.
class row_cache::impl {
public:
  impl(std::unique_ptr<database> db, const row_cache_options& options)
      : options_{options}, db_{std::move(db)},
        find_{
            db_->prepare("SELECT o.row, l.text FROM @outputs o JOIN @layouts l ON l.no = o.layout "
                         "WHERE o.scope = ?1 AND o.key = ?2 AND (o.until = 0 OR o.until > ?3)")},
        add_layout_{db_->prepare("INSERT INTO @layouts (text) VALUES (?1) ON CONFLICT DO NOTHING")},
        put_{db_->prepare(
            "INSERT INTO @outputs (no, scope, key, layout, until, row) SELECT "
            "coalesce(max(no), 0) + 1, ?1, ?2, (SELECT no FROM @layouts WHERE text = ?3), ?4, ?5 "
            "FROM @outputs WHERE true ON CONFLICT (scope, key) DO UPDATE SET no = excluded.no, "
            "layout = excluded.layout, until = excluded.until, row = excluded.row")},
        newest_{db_->prepare("SELECT max(no) FROM @outputs")},
        count_{db_->prepare("SELECT count(*) FROM @outputs")},
        shrink_{db_->prepare("DELETE FROM @outputs WHERE no < (SELECT no FROM @outputs ORDER BY no "
                             "DESC LIMIT 1 OFFSET ?1)")},
        clear_{db_->prepare("DELETE FROM @outputs WHERE ?1 = '' OR scope = ?1")},
        sweep_{db_->prepare("DELETE FROM @outputs WHERE until > 0 AND until <= ?1")} {
    if (options.entries_max == 0)
      throw std::invalid_argument{"options of the cache: entries_max must be at least 1"};
  }

  std::optional<task_output> find(std::string_view scope, std::string_view key,
                                  const layout_ptr& as) {
    const auto lock = std::scoped_lock{mutex_};
    auto out = std::optional<task_output>{};
    attempt([&] {
      auto s = statement_use{find_};
      s->bind_text(1, scope);
      s->bind_text(2, key);
      s->bind(3, now());
      if (!s->step())
        return;
      const auto row = db_->from_row(s->bytes(0), output_place(scope, key));
      if (!row)
        throw checkpoint_error{make_error_code(checkpoint_errc::corrupt), row.error().text};
      const auto from = read_layout(s->text(1));
      const auto whose = thread_key{std::string{scope}, {}};
      out = checkpoint_reader{from, as, whose}.read_task(parse_row(*row)).output;
    });
    return out;
  }

  void put(std::string_view scope, std::string_view key, task_output&& output,
           std::optional<std::chrono::milliseconds> ttl, const graph_layout& of) {
    // A write to an untracked channel must not be stored. Without the write, the output would be
    // incomplete. So an output with such a write is not cached.
    if (std::ranges::any_of(output.writes,
                            [&](const write& w) { return !of.channels[w.channel]->is_kept(); }))
      return;
    const auto lock = std::scoped_lock{mutex_};
    attempt([&] {
      auto record = task_record{};
      record.output = std::move(output);
      auto text = std::string{};
      write_task(text, record, of);
      const auto row = db_->to_row(std::move(text), output_place(scope, key));
      const auto layout = write_layout(of);
      // One transaction for all statements: an output never refers to a missing layout, and
      // other processes never see more than `entries_max` outputs.
      auto counted = counted_;
      db_->in_transaction(transaction::write, [&] {
        add_layout_.bind_text(1, layout);
        add_layout_.run();
        put_.bind_text(1, scope);
        put_.bind_text(2, key);
        put_.bind_text(3, layout);
        put_.bind(4, ttl ? add_saturated(now(), ttl->count()) : 0);
        put_.bind_bytes(5, row);
        put_.run();
        counted = shrink(counted_);
      });
      counted_ = counted;
    });
  }

  void clear(std::string_view scope) {
    const auto lock = std::scoped_lock{mutex_};
    attempt([&] {
      clear_.bind_text(1, scope);
      clear_.run();
    });
  }

  std::size_t sweep() {
    const auto lock = std::scoped_lock{mutex_};
    auto dropped = std::int64_t{0};
    attempt([&] {
      sweep_.bind(1, now());
      sweep_.run();
      dropped = db_->changes();
    });
    return static_cast<std::size_t>(dropped);
  }

  std::string last_failure() {
    const auto lock = std::scoped_lock{mutex_};
    return failure_;
  }

private:
  /// The number of outputs, or more, at the time when the newest one had the number `newest`.
  struct count_at {
    std::int64_t newest = 0;
    std::int64_t outputs = 0;
  };

  /// Deletes the oldest outputs if there are more than `entries_max`: a sixteenth of them, because
  /// to count the outputs takes long. Each put() adds at most one output, so they need not be
  /// counted before their number may have reached the maximum again.
  count_at shrink(const count_at& before) {
    constexpr auto deleted_part = std::size_t{16};
    const auto newest = number(newest_);
    const auto maximum = static_cast<std::int64_t>(options_.entries_max);
    if (newest >= before.newest && before.outputs + newest - before.newest <= maximum)
      return before;
    const auto outputs = number(count_);
    if (outputs <= maximum)
      return {newest, outputs};
    const auto kept =
        static_cast<std::int64_t>(options_.entries_max - options_.entries_max / deleted_part);
    shrink_.bind(1, kept - 1);
    shrink_.run();
    return {newest, kept};
  }

  static std::int64_t number(statement& of) {
    auto s = statement_use{of};
    return s->step() ? s->number(0) : 0;
  }

  [[nodiscard]] std::int64_t now() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               options_.time->now().time_since_epoch())
        .count();
  }

  /// Runs a call and stores its error for last_failure() instead of throwing it. A run should not
  /// fail because its cache does; it then computes the output again.
  template <class Call>
  void attempt(Call call) {
    try {
      call();
    } catch (const checkpoint_error& e) {
      failure_ = e.what();
    }
  }

  const row_cache_options options_;
  std::mutex mutex_;
  std::unique_ptr<database> db_;
  statement find_;
  statement add_layout_;
  statement put_;
  statement newest_;
  statement count_;
  statement shrink_;
  statement clear_;
  statement sweep_;
  // The first put() counts the outputs.
  count_at counted_{0, static_cast<std::int64_t>(options_.entries_max)};
  std::string failure_;
};

row_cache::row_cache(std::unique_ptr<database> db, const row_cache_options& options)
    : impl_{std::make_unique<impl>(std::move(db), options)} {}

row_cache::~row_cache() = default;

std::optional<task_output> row_cache::find(std::string_view scope, std::string_view key,
                                           const layout_ptr& as) {
  return impl_->find(scope, key, as);
}

void row_cache::put(std::string_view scope, std::string_view key, task_output output,
                    std::optional<std::chrono::milliseconds> ttl, const layout_ptr& of) {
  impl_->put(scope, key, std::move(output), ttl, *of);
}

void row_cache::clear(std::string_view scope) {
  impl_->clear(scope);
}

std::size_t row_cache::sweep() {
  return impl_->sweep();
}

std::string row_cache::last_failure() const {
  return impl_->last_failure();
}

} // namespace superstep::detail
