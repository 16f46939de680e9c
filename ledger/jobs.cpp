// SPDX-License-Identifier: Apache-2.0
// The statements of `superstep jobs`, which need a role with access to the tables.
#include "jobs.hpp"

#include "part_files.hpp"

#include <cerrno>
#include <cstdio>
#include <map>

#include <fcntl.h>

namespace superstep::detail {
namespace {

/// A statement for one job, whose number is the only parameter.
result<pg_rows> run_for(pg_connection& connection, const shared_job& job, const char* statement) {
  auto given = pg_parameters{};
  given.add(job.number);
  return connection.run(statement, given);
}

/// A file that takes the place of another one when it is complete; or standard output.
class replacing_file {
public:
  [[nodiscard]] result<void> open(const std::string& path) {
    path_ = path;
    auto opened = path == "-" ? file::open_standard_output()
                              : file::open_regular(path + ".new", O_WRONLY | O_CREAT | O_TRUNC);
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
    if (std::rename((path_ + ".new").c_str(), path_.c_str()) != 0)
      return disk_error("replace", path_, errno);
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
  const auto rows = connection.run(
      "select j.name, case when j.state = 'open' and c.done = j.rows then 'finished' "
      "else j.state end, j.rows, c.ok, c.dead, "
      "(select count(*) from superstep.workers w where w.job = j.job and "
      "w.seen > now() - interval '1 minute') from superstep.jobs j, lateral "
      "(select coalesce(sum(ok), 0) as ok, coalesce(sum(dead), 0) as dead, "
      "coalesce(sum(ok + dead), 0) as done from superstep.chunks c where c.job = j.job) c "
      "order by j.name");
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
  const auto rows = run_for(
      connection, job,
      "select w.worker, w.host, count(c.first), "
      "greatest(0, extract(epoch from now() - w.seen))::bigint "
      "from superstep.workers w left join superstep.chunks c "
      "on c.job = w.job and c.worker = w.worker and c.state = 1 where w.job = $1 "
      "group by w.worker, w.host, w.seen "
      "having count(c.first) > 0 or w.seen > now() - interval '1 hour' order by w.host, w.worker");
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
  auto given = pg_parameters{};
  given.add(job.number);
  given.add(std::string_view{state});
  const auto rows = connection.run("update superstep.jobs set state = $2 "
                                   "where job = $1 and state <> 'loading' returning job",
                                   given);
  if (!rows)
    return rows.error();
  if (rows->size() == 0)
    return error{errc::invalid_argument, "the rows of the job \"" + job.name +
                                             "\" are not complete; run superstep submit again"};
  return {};
}

result<std::uint64_t> retry_dead(pg_connection& connection, const shared_job& job) {
  const auto rows =
      run_for(connection, job,
              "with d as (delete from superstep.outputs where job = $1 and status & 1 = 1 and "
              "dead::jsonb #>> '{error,kind}' <> 'recursion_limit' returning row), "
              "n as (select k.first, count(*) as failed from d join superstep.chunks k "
              "on k.job = $1 and d.row >= k.first and d.row < k.bound group by k.first), "
              "u as (update superstep.chunks k set dead = k.dead - n.failed, "
              "state = case k.state when 2 then 0 else k.state end "
              "from n where k.job = $1 and k.first = n.first) "
              "select coalesce(sum(failed), 0) from n");
  if (!rows)
    return rows.error();
  return static_cast<std::uint64_t>(rows->number(0, 0));
}

result<void> drop_job(pg_connection& connection, const shared_job& job) {
  const auto number = std::to_string(job.number);
  const auto script = "begin; drop table if exists superstep.inputs_" + number +
                      "; drop table if exists superstep.outputs_" + number +
                      "; delete from superstep.jobs where job = " + number + "; commit";
  auto dropped = connection.run_script(script.c_str());
  if (!dropped)
    connection.close();
  return dropped;
}

result<exported_rows> export_job(pg_connection& connection, const shared_job& job,
                                 const export_options& to) {
  auto output = replacing_file{};
  auto dead = replacing_file{};
  if (auto opened = output.open(to.output); !opened)
    return opened.error();
  if (!to.dead.empty())
    if (auto opened = dead.open(to.dead); !opened)
      return opened.error();
  auto parts = part_reader{to.parts};
  auto out = exported_rows{};
  auto given = pg_parameters{};
  given.add(job.number);
  auto read = connection.for_each_row(
      "select status, line, dead from superstep.outputs where job = $1 order by row", given,
      [&](const pg_rows& row) -> result<void> {
        constexpr auto in_part = 2;
        ++out.lines;
        if ((row.number(0, 0) & in_part) != 0) {
          const auto line = parts.read(row.text(0, 1));
          if (!line)
            return line.error();
          if (auto written = output.append(*line); !written)
            return written;
        } else if (auto written = output.append(row.text(0, 1)); !written) {
          return written;
        }
        if (row.is_null(0, 2))
          return {};
        ++out.dead;
        return to.dead.empty() ? result<void>{} : dead.append(row.text(0, 2));
      });
  if (!read)
    return read.error();
  if (auto finished = output.finish(); !finished)
    return finished.error();
  if (!to.dead.empty())
    if (auto finished = dead.finish(); !finished)
      return finished.error();
  return out;
}

} // namespace superstep::detail
