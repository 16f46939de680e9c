// SPDX-License-Identifier: Apache-2.0
// The answer cache in SQLite. The table `answers` numbers its rows in the order of insertion, so
// the rows with the lowest numbers are the oldest.
#include "agents/answer_cache.hpp"

#include "checkpoint/sqlite_db.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace superstep::detail {

namespace {

constexpr auto application = std::int64_t{0x73736163}; ///< "ssac": the SQLite application_id
constexpr auto version = std::int64_t{1};
constexpr auto busy_timeout = std::chrono::milliseconds{2'000};
constexpr auto puts_between_checks = 64; ///< the size of the file is not checked after each answer

/// Creates a new file that only its owner can read, because answers may be confidential. SQLite
/// gives the same mode to the files beside it, and reports errors.
void create_private(const std::string& path) {
  const auto file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file >= 0)
    ::close(file);
}

/// Creates the table in a new file, and rejects files of other programs.
void open_table(sqlite_database& db) {
  db.exec_with_retry("PRAGMA journal_mode = WAL");
  db.exec("PRAGMA synchronous = NORMAL");
  db.in_transaction(transaction::write, [&] {
    const auto tables = db.query_number("SELECT count(*) FROM sqlite_master");
    const auto owner = db.query_number("PRAGMA application_id");
    const auto refuse = [&](const char* why) {
      throw checkpoint_error{make_error_code(checkpoint_errc::failed), db.name() + ' ' + why};
    };
    if (tables > 0 && owner != application)
      refuse("is the database of another program; name another file");
    if (tables > 0 && db.query_number("PRAGMA user_version") > version)
      refuse("was written by a newer version of superstep; use that version, or another file");
    if (tables > 0)
      return;
    db.exec("PRAGMA application_id = 1936941411");
    db.exec("PRAGMA user_version = 1");
    db.exec("CREATE TABLE answers (no INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
            "answer BLOB NOT NULL)");
  });
}

/// Returns the text of an error. Those of the database are about checkpoints, and so is the advice
/// at their end.
std::string cache_error_text(const checkpoint_error& e, const std::string& path) {
  if (e.code() == checkpoint_errc::corrupt)
    return "'" + path +
           "' is damaged, or is not an answer cache; delete a damaged cache, or name "
           "another file";
  const auto text = std::string{e.what()};
  constexpr auto prefix = std::string_view{"checkpoints in "};
  if (!text.starts_with(prefix))
    return text;
  return "answer cache " + text.substr(prefix.size(), text.rfind(" (") - prefix.size());
}

} // namespace

/// One connection, protected by a mutex.
class answer_cache::impl {
public:
  impl(const std::string& path, std::int64_t bytes_max, std::shared_ptr<call_activity> activity)
      : bytes_max_{bytes_max}, activity_{std::move(activity)}, db_{opened(path)},
        find_{db_->prepare("SELECT answer FROM answers WHERE key = ?1")},
        put_{db_->prepare("INSERT OR IGNORE INTO answers (key, answer) VALUES (?1, ?2)")},
        shrink_{
            db_->prepare("DELETE FROM answers WHERE no <= (SELECT min(no) + (max(no) - min(no)) "
                         "/ 8 FROM answers)")} {}

  std::optional<std::string> find(std::string_view key) {
    const auto lock = std::scoped_lock{mutex_};
    auto out = std::optional<std::string>{};
    attempt([&] {
      auto s = statement_use{find_};
      s->bind_text(1, key);
      if (!s->step())
        return;
      auto text = db_->from_row(s->bytes(0), place(key));
      if (text)
        out = *std::move(text);
    });
    return out;
  }

  void put(std::string_view key, std::string_view answer) {
    const auto lock = std::scoped_lock{mutex_};
    attempt([&] {
      const auto row = db_->to_row(std::string{answer}, place(key));
      put_.bind_text(1, key);
      put_.bind_bytes(2, row);
      put_.run();
      if (++puts_ % puts_between_checks == 0)
        while (used_bytes() > bytes_max_) {
          shrink_.run();
          if (db_->changes() == 0)
            break;
        }
    });
  }

private:
  static std::unique_ptr<sqlite_database> opened(const std::string& path) {
    create_private(path);
    auto db = std::make_unique<sqlite_database>(checked_file_path(path),
                                                sqlite_database::access::read_write, busy_timeout);
    open_table(*db);
    return db;
  }
  static row_place place(std::string_view key) { return {"answer", "", key}; }

  [[nodiscard]] std::int64_t used_bytes() {
    const auto pages =
        db_->query_number("PRAGMA page_count") - db_->query_number("PRAGMA freelist_count");
    return pages * db_->query_number("PRAGMA page_size");
  }
  template <class Call>
  void attempt(Call call) {
    try {
      call();
    } catch (const checkpoint_error& e) {
      db_->roll_back();
      if (const auto to = std::exchange(activity_, nullptr))
        to->warn(cache_error_text(e, db_->name()) + "; the model was called instead");
    }
  }

  const std::int64_t bytes_max_;
  std::shared_ptr<call_activity> activity_; ///< null after the first failure
  std::mutex mutex_;
  std::unique_ptr<sqlite_database> db_;
  statement find_;
  statement put_;
  statement shrink_;
  std::uint64_t puts_ = 0;
};

answer_cache::answer_cache(std::unique_ptr<impl> i) : impl_{std::move(i)} {}
answer_cache::~answer_cache() = default;

result<std::shared_ptr<answer_cache>> answer_cache::open(const std::string& path,
                                                         std::int64_t bytes_max,
                                                         std::shared_ptr<call_activity> activity) {
  constexpr auto bytes_min = std::int64_t{1} << 20;
  try {
    auto made = std::make_unique<impl>(path, std::max(bytes_max, bytes_min), std::move(activity));
    return std::shared_ptr<answer_cache>{new answer_cache{std::move(made)}};
  } catch (const checkpoint_error& e) {
    return error{errc::io_failed, cache_error_text(e, path)};
  }
}

std::optional<std::string> answer_cache::find(std::string_view key) {
  return impl_->find(key);
}

void answer_cache::put(std::string_view key, std::string_view answer) {
  impl_->put(key, answer);
}

} // namespace superstep::detail
