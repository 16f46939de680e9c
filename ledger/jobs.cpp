// SPDX-License-Identifier: Apache-2.0
// The statements of `superstep jobs`, each a call of one function of the schema.
#include "jobs.hpp"

#include "line_cipher.hpp"
#include "part_files.hpp"
#include "statements.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <map>
#include <thread>

#include <fcntl.h>

namespace superstep::detail {
namespace {

constexpr auto export_rows_max = std::int32_t{1'000};

/// A statement for one job, whose number is the only parameter.
result<pg_rows> run_for(pg_connection& connection, const shared_job& job, const char* statement) {
  auto given = pg_parameters{};
  given.add(job.number);
  return run_again(connection, statement, given);
}

/// A file that takes the place of another one when it is complete; or standard output. Until then
/// it has a name of its own, and it is deleted if it does not become complete.
class replacing_file {
public:
  replacing_file() = default;
  ~replacing_file() {
    if (path_ != "-")
      static_cast<void>(file_.remove());
  }
  replacing_file(const replacing_file&) = delete;
  replacing_file& operator=(const replacing_file&) = delete;

  [[nodiscard]] result<void> open(const std::string& path) {
    path_ = path;
    auto opened = path == "-" ? file::open_standard_output() : file::open_unique(path);
    if (!opened)
      return opened.error();
    file_ = *std::move(opened);
    return {};
  }

  [[nodiscard]] result<void> append(std::string_view line) {
    constexpr auto buffer_bytes = std::size_t{1} << 20U;
    buffer_ += line;
    buffer_ += '\n';
    return buffer_.size() >= buffer_bytes ? flush() : result<void>{};
  }

  [[nodiscard]] result<void> finish() {
    if (auto flushed = flush(); !flushed || path_ == "-")
      return flushed;
    if (auto synced = file_.sync(); !synced)
      return synced;
    if (std::rename(file_.path().c_str(), path_.c_str()) != 0)
      return disk_error("replace", path_, errno);
    file_ = file{}; // a file with a name of its own would be deleted
    return sync_folder_of(path_);
  }

private:
  [[nodiscard]] result<void> flush() {
    auto written = path_ == "-" ? file_.append_to_stream(buffer_, [] { return false; })
                                : file_.append(buffer_);
    buffer_.clear();
    return written;
  }

  std::string path_;
  file file_;
  std::string buffer_;
};

/// Reads lines from part files.
class part_reader {
public:
  explicit part_reader(std::string folder) : folder_{std::move(folder)} {}

  [[nodiscard]] result<std::string> read(std::string_view text) {
    const auto place = part_place_of(text);
    if (!place)
      return error{errc::parse_failed, "the ledger names an invalid place in a part file: " +
                                           std::string{text.substr(0, 200)}};
    if (folder_.empty())
      return error{errc::invalid_argument,
                   "the outputs of the job are in part files; name their folder with --parts"};
    if (place->name != name_) {
      auto opened = file::open_regular(folder_ + '/' + place->name, O_RDONLY);
      if (!opened)
        return opened.error();
      file_ = *std::move(opened);
      name_ = place->name;
    }
    auto line = std::string{};
    if (auto read = file_.read_at(place->offset, place->size, line); !read)
      return read.error();
    if (line.size() != place->size)
      return error{errc::io_failed,
                   file_.path() + " is shorter than its places in the ledger require; it must be "
                                  "the file that the worker has written"};
    return line;
  }

private:
  std::string folder_;
  std::string name_;
  file file_;
};

} // namespace

result<std::vector<job_entry>> list_jobs(pg_connection& connection) {
  const auto exists = connection.run("select to_regclass('superstep.jobs') is not null");
  if (!exists)
    return exists.error();
  auto out = std::vector<job_entry>{};
  if (exists->text(0, 0) == "f")
    return out;
  if (auto checked = check_ledger_format(connection); !checked)
    return checked.error();
  const auto rows = connection.run("select * from superstep.list_jobs()");
  if (!rows)
    return rows.error();
  const auto number = [&](int row, int column) {
    return static_cast<std::uint64_t>(rows->number(row, column));
  };
  for (auto i = 0; i < rows->size(); ++i)
    out.push_back({std::string{rows->text(i, 0)}, std::string{rows->text(i, 1)}, number(i, 2),
                   number(i, 3), number(i, 4), number(i, 5)});
  return out;
}

result<std::vector<worker_entry>> workers_of(pg_connection& connection, const shared_job& job) {
  const auto rows = run_for(connection, job, "select * from superstep.workers_of($1)");
  if (!rows)
    return rows.error();
  auto out = std::vector<worker_entry>{};
  for (auto i = 0; i < rows->size(); ++i)
    out.push_back({std::string{rows->text(i, 0)}, std::string{rows->text(i, 1)},
                   static_cast<std::uint64_t>(rows->number(i, 2)),
                   static_cast<std::uint64_t>(rows->number(i, 3))});
  return out;
}

result<void> set_state(pg_connection& connection, const shared_job& job, const char* state) {
  if (job.state == shared_job_state::cancelled && state == std::string_view{"paused"})
    return error{errc::invalid_argument,
                 "the job \"" + job.name + "\" was cancelled; superstep jobs resume continues it"};
  auto given = pg_parameters{};
  given.add(job.number);
  given.add(std::string_view{state});
  const auto rows = run_again(connection, "select superstep.set_state($1, $2)", given);
  if (!rows)
    return rows.error();
  if (rows->size() == 0)
    return error{errc::invalid_argument, "the rows of the job \"" + job.name +
                                             "\" are not complete; run superstep submit again"};
  return {};
}

result<std::uint64_t> retry_dead(pg_connection& connection, const shared_job& job) {
  const auto rows = run_for(connection, job, "select superstep.retry_dead($1)");
  if (!rows)
    return rows.error();
  return static_cast<std::uint64_t>(rows->number(0, 0));
}

result<void> check_may_drop(pg_connection& connection) {
  const auto rows = connection.run(
      "select current_user, has_function_privilege('superstep.drop_job(bigint)', 'execute')");
  if (!rows)
    return rows.error();
  if (rows->text(0, 1) == "t")
    return {};
  return error{errc::invalid_argument,
               "the database " + connection.name() + ": the role " + std::string{rows->text(0, 0)} +
                   " may not remove jobs; use a member of superstep_admin, or the owner of the "
                   "tables"};
}

// While a drop waits for a lock on the tables of all jobs, the statements of all workers wait
// behind it. A transaction of another program, for example a backup, may hold the lock for hours.
// So a drop gives the lock up after a second, and lets the workers proceed before it tries again.
result<void> drop_job(pg_connection& connection, const shared_job& job) {
  constexpr auto attempts_max = 20;
  constexpr auto pause = std::chrono::seconds{2};
  for (auto attempt = 1;; ++attempt) {
    const auto done = run_for(connection, job,
                              "select superstep.drop_job($1) "
                              "from set_config('lock_timeout', '1s', true)");
    if (done)
      return {};
    if (!has_sqlstate(done.error(), "55P03"))
      return done.error();
    if (attempt == attempts_max)
      return error{errc::io_failed,
                   "the job \"" + job.name +
                       "\" was not dropped, because a transaction of another program uses the "
                       "tables of the ledger, for example a backup; run the command again when it "
                       "has ended"};
    std::this_thread::sleep_for(pause);
  }
}

result<exported_rows> export_job(pg_connection& connection, const shared_job& job,
                                 const export_options& to) {
  const auto cipher = cipher_of(job, to.key);
  if (!cipher)
    return cipher.error();
  auto output = replacing_file{};
  auto dead = replacing_file{};
  if (auto opened = output.open(to.output); !opened)
    return opened.error();
  if (!to.dead.empty())
    if (auto opened = dead.open(to.dead); !opened)
      return opened.error();
  auto parts = part_reader{to.parts};
  auto out = exported_rows{};
  const auto write = [&](const pg_rows& row) -> result<void> {
    constexpr auto in_part = 2;
    ++out.lines;
    const auto number = static_cast<std::uint64_t>(row.number(0, 0));
    auto line = (row.number(0, 1) & in_part) != 0 ? parts.read(row.text(0, 2))
                                                  : result<std::string>{row.text(0, 2)};
    if (line)
      line = cipher->open(line_kind::output, number, *line);
    if (!line)
      return line.error();
    if (auto written = output.append(*line); !written)
      return written;
    if (row.is_null(0, 3))
      return {};
    ++out.dead;
    if (to.dead.empty())
      return {};
    const auto letter = cipher->open(line_kind::dead, number, row.text(0, 3));
    return letter ? dead.append(*letter) : letter.error();
  };
  // A function returns all of its rows before the first one is read, so it returns some at a time.
  auto next = std::int64_t{0};
  for (auto before = std::int64_t{-1}; next > before;) {
    before = next;
    auto given = pg_parameters{};
    given.add(job.number);
    given.add(next);
    given.add(export_rows_max);
    auto read = connection.for_each_row("select * from superstep.export_rows($1, $2, $3)", given,
                                        [&](const pg_rows& row) {
                                          next = row.number(0, 0) + 1;
                                          return write(row);
                                        });
    if (!read)
      return read.error();
  }
  if (auto finished = output.finish(); !finished)
    return finished.error();
  if (!to.dead.empty())
    if (auto finished = dead.finish(); !finished)
      return finished.error();
  return out;
}

} // namespace superstep::detail
