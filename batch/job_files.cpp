// SPDX-License-Identifier: Apache-2.0
#include "job_files.hpp"

#include "recover.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace superstep::detail {
namespace {

constexpr auto read_append_create = O_RDWR | O_APPEND | O_CREAT;

/// The output without its ending: what the names of its companions begin with.
std::string stem_of(const std::string& output) {
  auto stem = std::string_view{output};
  for (auto extension : {".jsonl", ".ndjson", ".json"})
    if (stem.ends_with(extension) && !stem.ends_with(std::string{"/"} + extension)) {
      stem.remove_suffix(std::string_view{extension}.size());
      break;
    }
  return std::string{stem};
}

/// How long a lock that is held is asked for again: what a process that was killed had just forked
/// holds it as well, until it is the program that it was forked for.
constexpr auto lock_patience = std::chrono::milliseconds{1000};

bool lock_patiently(int fd) {
  const auto until = std::chrono::steady_clock::now() + lock_patience;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > until)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

result<file> open_locked_journal(const job_paths& paths) {
  auto journal = file::open_regular(paths.journal, read_append_create);
  if (!journal)
    return journal;
  if (lock_patiently(journal->fd()))
    return journal;
  if (errno == EWOULDBLOCK)
    return error{errc::invalid_argument, "another process is running the job of " + paths.output +
                                             " (it holds the lock of " + paths.journal + ")"};
  return disk_error("lock", paths.journal, errno);
}

std::array<const std::string*, 4> all_of(const job_paths& paths) {
  return {&paths.output, &paths.dead, &paths.summary, &paths.journal};
}

// The journal goes last: while it is there under its name, so is its lock.
result<void> move_aside(const job_paths& paths) {
  auto suffix = std::string{};
  for (auto n = 1; suffix.empty(); ++n) {
    auto candidate = ".old-" + std::to_string(n);
    auto is_free = true;
    for (const auto* path : all_of(paths))
      is_free = is_free && !exists(*path + candidate);
    if (is_free)
      suffix = std::move(candidate);
  }
  for (const auto* path : all_of(paths))
    if (exists(*path) && ::rename(path->c_str(), (*path + suffix).c_str()) != 0)
      return disk_error("move aside", *path, errno);
  return sync_folder_of(paths.output);
}

std::uint64_t size_of(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

result<void> check_files(const batch_options& options) {
  auto files = paths_written_by(options.output);
  files.push_back({"the input", options.input, used_file::use::read});
  return check_distinct_files(files);
}

/// The parts in which the job now differs from the one that the journal belongs to.
std::string differences(const job_header& before, const job_header& now) {
  auto out = std::string{};
  auto compare = [&out](std::string_view name, const std::string& a, const std::string& b) {
    if (a != b)
      out.append(out.empty() ? "" : ", ").append(name);
  };
  compare("the agent", before.agent, now.agent);
  compare("the tools", before.tools, now.tools);
  compare("the model", before.model, now.model);
  compare("the parameters", before.parameters, now.parameters);
  compare("the input", before.input, now.input);
  return out;
}

result<void> write_header(job_files& files, const job_header& header) {
  auto text = std::string{};
  append_job(text, header);
  if (auto written = files.journal.append(text); !written)
    return written;
  if (auto synced = files.journal.sync(); !synced)
    return synced;
  files.content.header = header;
  return sync_folder_of(files.paths.output);
}

result<void> begin_job(job_files& files, const job_header& wanted) {
  for (const auto* path : {&files.paths.output, &files.paths.dead})
    if (size_of(*path) > 0) {
      ::unlink(files.paths.journal.c_str()); // it says nothing; most likely it was just created
      return error{errc::invalid_argument, *path + " exists but its journal " +
                                               files.paths.journal +
                                               " does not; --fresh moves it aside and starts anew"};
    }
  if (auto cut = files.journal.cut(0); !cut)
    return cut;
  auto output = file::open_regular(files.paths.output, read_append_create);
  if (!output) {
    ::unlink(files.paths.journal.c_str());
    return output.error();
  }
  files.output = std::move(*output);
  files.content = journal_content{};
  return write_header(files, wanted);
}

result<void> resume_job(job_files& files, const batch_options& options, const job_header& wanted) {
  files.is_resumed = true;
  auto differ = differences(*files.content.header, wanted);
  if (!differ.empty() && !options.force)
    return error{errc::invalid_argument, files.paths.journal +
                                             " belongs to another job: different are " + differ +
                                             "; --fresh starts anew, --force goes on all the same"};
  auto output = file::open_regular(files.paths.output, read_append_create);
  if (!output)
    return output.error();
  files.output = std::move(*output);
  if (exists(files.paths.dead) || files.content.dead_end > 0)
    if (auto opened = files.need_dead(); !opened)
      return opened;
  if (auto recovered = recover(files); !recovered || differ.empty())
    return recovered;
  auto now = wanted;
  now.run_id = files.content.header->run_id;
  now.created = files.content.header->created;
  if (now.input != files.content.header->input)
    files.content.bad_lines.clear();
  return write_header(files, now);
}

} // namespace

job_paths paths_of(const std::string& output) {
  auto name = stem_of(output);
  return {.output = output,
          .dead = name + ".dead.jsonl",
          .journal = name + ".journal",
          .summary = name + ".summary.json"};
}

result<void> job_files::need_dead() {
  if (dead.is_open())
    return {};
  auto opened = file::open_regular(paths.dead, read_append_create);
  if (!opened)
    return opened.error();
  dead = std::move(*opened);
  return sync_folder_of(paths.dead);
}

result<job_files> open_job(const batch_options& options, const job_header& wanted) {
  auto files = job_files{};
  files.paths = paths_of(options.output);
  struct stat info {};
  if (::stat(options.output.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return error{errc::invalid_argument,
                 "the output " + options.output + " is a directory; name a file in it"};
  if (auto checked = check_files(options); !checked)
    return checked.error();
  if (::stat(options.output.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    if (auto output = file::open_regular(options.output, O_WRONLY); !output)
      return output.error(); // before a journal stands beside a device
  auto journal = open_locked_journal(files.paths);
  if (journal && options.fresh) {
    if (auto moved = move_aside(files.paths); !moved)
      return moved.error();
    journal = open_locked_journal(files.paths);
  }
  if (!journal)
    return journal.error();
  files.journal = std::move(*journal);
  auto content = read_journal(files.journal);
  if (!content)
    return content.error();
  files.content = std::move(*content);
  auto opened =
      files.content.header ? resume_job(files, options, wanted) : begin_job(files, wanted);
  if (!opened)
    return opened.error();
  return files;
}

} // namespace superstep::detail

namespace superstep {

std::vector<used_file> paths_written_by(const std::string& output) {
  using use = used_file::use;
  auto paths = detail::paths_of(output);
  return {{"the output", std::move(paths.output), use::written},
          {"the dead letters", std::move(paths.dead), use::written},
          {"the journal", std::move(paths.journal), use::written},
          {"the summary", std::move(paths.summary), use::written}};
}

std::string checkpoints_path_of(const std::string& output) {
  return detail::stem_of(output) + ".job.db";
}

} // namespace superstep
