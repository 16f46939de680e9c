// SPDX-License-Identifier: Apache-2.0
// Opens, locks and creates the files of a job, and decides whether an existing job is resumed. If
// it is, recover.cpp repairs files that a crash left incomplete.
#include "job_files.hpp"

#include "adopt.hpp"
#include "base/error_words.hpp"
#include "base/hex.hpp"
#include "job_changes.hpp"
#include "recover.hpp"
#include "written_line.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace superstep::detail {
namespace {

constexpr auto read_append_create = O_RDWR | O_APPEND | O_CREAT;
constexpr auto rows_ending = ".rows.jsonl"; ///< ending of the rows file

/// Returns the output's path without its extension. The paths of the job's other files begin with
/// it.
std::string stem_of(const std::string& output) {
  auto stem = std::string_view{output};
  for (auto extension : {".jsonl", ".ndjson", ".json", ".csv"})
    if (stem.ends_with(extension) && !stem.ends_with(std::string{"/"} + extension)) {
      stem.remove_suffix(std::string_view{extension}.size());
      break;
    }
  return std::string{stem};
}

/// Timeout for a lock that another process holds. A child process inherits the lock and
/// holds it until it calls exec, even if its parent was killed in the meantime.
constexpr auto lock_timeout = std::chrono::milliseconds{1000};

bool lock_patiently(int fd) {
  const auto until = std::chrono::steady_clock::now() + lock_timeout;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > until)
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return true;
}

/// Opens or creates the journal. O_EXCL detects whether this process creates the file.
/// @param is_created set to whether the journal did not exist before
result<file> open_journal(const job_paths& paths, bool& is_created) {
  // Otherwise the first error would name the journal, whose path the user has not specified.
  if (auto checked = check_folder_of("--output", paths.output); !checked)
    return checked.error();
  auto journal = file::open_regular(paths.journal, read_append_create | O_EXCL);
  is_created = journal.has_value();
  if (!journal)
    journal = file::open_regular(paths.journal, read_append_create);
  const auto parent = std::filesystem::path{paths.output}.parent_path();
  const auto folder = parent.empty() ? std::string{"."} : parent.string();
  if (!journal && ::access(folder.c_str(), W_OK | X_OK) != 0)
    return error{journal.error().code, "--output: no files can be created in the folder " + folder +
                                           "; check its permissions, or use another folder"};
  return journal;
}

/// Opens or creates the journal, and locks it. While this process waits for the lock, another one
/// may rename the journal (--fresh). The lock of such a file protects nothing, so the next one at
/// the path is opened.
/// @param is_created set to whether the journal did not exist before
result<file> open_locked_journal(const job_paths& paths, bool& is_created) {
  while (true) {
    auto journal = open_journal(paths, is_created);
    if (!journal)
      return journal;
    if (lock_patiently(journal->fd())) {
      if (journal->has_its_name())
        return journal;
      continue;
    }
    if (errno == EWOULDBLOCK)
      return error{errc::invalid_argument, "another process is running the job of " + paths.output +
                                               " (it holds the lock of " + paths.journal +
                                               "); wait until it ends, or use another --output"};
    return disk_error("lock", paths.journal, errno);
  }
}

/// Returns the paths of a job's files; the journal is the last.
std::vector<const std::string*> all_of(const job_paths& paths) {
  auto out = std::vector<const std::string*>{&paths.output};
  if (!paths.view.empty())
    out.push_back(&paths.view);
  out.insert(out.end(), {&paths.dead, &paths.summary, &paths.journal});
  return out;
}

std::uint64_t size_of(const std::string& path) noexcept {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
}

/// Returns a suffix that can be appended to all file names of the job without meeting an existing
/// file.
std::string free_suffix(const job_paths& paths) {
  for (auto n = 1;; ++n) {
    auto candidate = ".old-" + std::to_string(n);
    auto is_free = true;
    for (const auto* path : all_of(paths))
      is_free = is_free && !exists(*path + candidate);
    if (is_free)
      return candidate;
  }
}

/// Renames the files of an earlier job. Its journal is renamed last: until then, another process
/// that opens it by name finds it locked. A journal that this process has just created stays.
result<void> move_aside(job_files& files) {
  const auto& paths = files.paths;
  const auto suffix = free_suffix(paths);
  auto moved = false;
  for (const auto* path : all_of(paths)) {
    if (!exists(*path) || (path == &paths.journal && files.is_journal_new))
      continue;
    moved = moved || size_of(*path) > 0;
    if (::rename(path->c_str(), (*path + suffix).c_str()) != 0)
      return disk_error("move aside", *path, errno);
  }
  if (moved)
    files.notes.push_back("moved the earlier job's files aside, to " + paths.output + suffix +
                          " etc.");
  return sync_folder_of(paths.output);
}

result<void> check_files(const batch_options& options) {
  auto files = paths_written_by(options);
  files.push_back({"the input", options.input, used_file::use::read});
  return check_distinct_files(files);
}

/// Fails if the whole lines of the job's rows are not where this command expects them. The user can
/// derive further outputs from the lines of a job, but not replace its lines by such an output.
result<void> find_rows_file(job_files& files, const batch_options& options) {
  const auto is_beside = files.content.header->layout == rows_layout;
  auto& paths = files.paths;
  if (is_beside == !paths.view.empty())
    return {};
  if (is_beside)
    return error{errc::invalid_argument,
                 paths.journal + " belongs to a job whose whole lines are in " +
                     stem_of(options.output) + rows_ending +
                     "; repeat its options --output, --fields, --output-format and --order, or use "
                     "another --output"};
  paths.output = stem_of(options.output) + ".jsonl";
  if (paths.output == paths.view)
    return error{errc::invalid_argument,
                 paths.output +
                     " has the whole lines of its job, so it cannot have other fields or "
                     "another order; use another name with the same beginning, such as " +
                     stem_of(options.output) + ".csv, or --fresh"};
  return check_distinct_files(
      std::vector<used_file>{{"the rows file", paths.output, used_file::use::written},
                             {"the input", options.input, used_file::use::read}});
}

result<void> write_header(job_files& files, const job_header& header) {
  auto text = std::string{};
  append_job(text, header);
  auto written = files.journal.append(text);
  if (written)
    written = files.journal.sync();
  if (!written) { // remove an incomplete header: the next run would not recognise it as a journal
    static_cast<void>(files.journal.cut(files.content.valid_bytes));
    return written;
  }
  files.content.valid_bytes += text.size();
  files.content.set_header(header);
  return files.is_piped ? result<void>{} : sync_folder_of(files.paths.output);
}

/// Whether a file with these first bytes can be a journal whose first write was interrupted by a
/// power failure: only zeros, or the beginning of a header.
bool is_torn_header(std::string_view bytes) noexcept {
  constexpr auto digits = std::size_t{8};
  constexpr auto rest = std::string_view{" [\"job\",{"};
  if (bytes.find_first_not_of(std::string_view{"\0\n", 2}) == std::string_view::npos)
    return true;
  const auto sum = bytes.substr(0, digits);
  const auto text = bytes.substr(sum.size());
  return sum.find_first_not_of(hex_digits) == std::string_view::npos &&
         (text.starts_with(rest) || rest.starts_with(text));
}

/// Handles a file that has the journal's name but contains no valid record. If a crash can have
/// left the file, it is moved aside and a new journal is created. Any other file belongs to the
/// user, and the job is rejected.
result<void> refuse_or_move_foreign(job_files& files) {
  auto start = std::string{};
  constexpr auto start_bytes = std::size_t{4096};
  if (auto read = files.journal.read_at(0, start_bytes, start); !read)
    return read;
  if (start.empty())
    return {};
  if (!is_torn_header(start))
    return error{errc::invalid_argument, files.paths.journal +
                                             " exists but is not the journal of a job; nothing was "
                                             "changed. Move it away, use another --output, or let "
                                             "--fresh move it aside"};
  const auto aside = free_name(files.paths.journal, ".damaged");
  if (::rename(files.paths.journal.c_str(), aside.c_str()) != 0)
    return disk_error("move aside", files.paths.journal, errno);
  files.notes.push_back(files.paths.journal +
                        " contains only the beginning of a header; it is kept as " + aside);
  auto journal = open_locked_journal(files.paths, files.is_journal_new);
  if (!journal)
    return journal.error();
  files.journal = std::move(*journal);
  return {};
}

/// Returns the job id in the first line of the output; empty if the line has none.
std::string job_id_in(const file& output) {
  auto lines = written_lines{output, 0};
  auto id = std::string_view{};
  if (auto line = lines.next(); !line || *line != written_lines::found::object)
    return {};
  for (const auto* name : {"job_id", "run_id"}) // earlier versions wrote `run_id`
    if (lines.object().at_key(name).get(id) == simdjson::SUCCESS)
      return std::string{id};
  return {};
}

/// Replaces a damaged header of the journal. Without the old header it is unknown whether the job
/// had the same agent and input, so this requires --force. Lines of the output still contain the
/// job id.
result<void> replace_header(job_files& files, const batch_options& options, job_header wanted) {
  if (!options.force)
    return error{errc::invalid_argument,
                 files.paths.journal + ":1: the header is damaged, so the job's agent, model and "
                                       "input are unknown. Use --force to resume it with those of "
                                       "this command, or --fresh to move it aside and start again"};
  auto output = file::open_regular(files.paths.output, read_append_create);
  if (!output)
    return output.error();
  if (auto id = job_id_in(*output); !id.empty())
    wanted.job_id = std::move(id);
  if (auto cut = files.journal.cut(files.content.valid_bytes); !cut)
    return cut;
  return write_header(files, wanted);
}

/// Deletes the journal if this process created it, so that a rejected job leaves no new file.
void remove_new_journal(const job_files& files) noexcept {
  if (files.is_journal_new)
    ::unlink(files.paths.journal.c_str());
}

/// Whether the output was written by OpenAI or vLLM, and can be read.
bool is_from_other_tool(const std::string& output) {
  auto known = is_batch_output(output);
  return known && *known;
}

/// Starts a new job. Rejects an output or dead letters without a journal: they may belong to a job
/// whose journal was lost. --retry-dead needs an earlier job, or an output of OpenAI or vLLM.
result<void> begin_job(job_files& files, const batch_options& options, const job_header& wanted,
                       const row_finder& find) {
  const auto is_empty = size_of(files.paths.journal) == 0 && size_of(files.paths.dead) == 0;
  if (options.retry_dead && is_empty && size_of(files.paths.output) > 0) {
    auto is_batch = is_batch_output(files.paths.output);
    if (!is_batch)
      return is_batch.error();
    if (*is_batch) {
      auto adopted = adopt_output(files, wanted);
      return adopted ? recover(files, options, find) : adopted;
    }
  }
  for (const auto* path : {&files.paths.output, &files.paths.view, &files.paths.dead})
    if (size_of(*path) > 0) {
      remove_new_journal(files);
      const auto* const why = size_of(files.paths.journal) > 0
                                  ? " is not the journal of a job; --fresh moves both aside and "
                                  : " does not exist or is empty; --fresh moves it aside and ";
      auto text = *path + " exists but " + files.paths.journal + why + "starts again";
      if (is_empty && !options.retry_dead && is_from_other_tool(*path))
        text += ", --retry-dead keeps its answers and runs its failed rows";
      return error{errc::invalid_argument, std::move(text)};
    }
  if (options.retry_dead) { // a new job would run all rows, and pay for them
    remove_new_journal(files);
    return error{errc::invalid_argument, "--retry-dead: there is no earlier job at " +
                                             options.output +
                                             "; correct --output, or run without --retry-dead"};
  }
  if (auto owned = refuse_or_move_foreign(files); !owned)
    return owned;
  auto output = file::open_regular(files.paths.output, read_append_create);
  if (!output) {
    remove_new_journal(files);
    return output.error();
  }
  files.output = std::move(*output);
  files.content = journal_content{};
  if (auto written = write_header(files, wanted); !written) {
    remove_new_journal(files);
    return written;
  }
  return {};
}

/// Resumes the job in the journal. If --force accepts a changed job, the journal gets a new header,
/// which later runs are compared with.
result<void> resume_job(job_files& files, const batch_options& options, const job_header& wanted,
                        const row_finder& find) {
  files.is_resumed = true;
  if (auto found = find_rows_file(files, options); !found)
    return found;
  auto differ = differences(*files.content.header, wanted);
  if (!differ.empty() && !options.force && !options.follows_input)
    return error{errc::invalid_argument, files.paths.journal +
                                             " belongs to a different job (changed: " + differ +
                                             "); --fresh starts again, --force resumes it anyway"};
  auto output = file::open_regular(files.paths.output, read_append_create);
  if (!output)
    return output.error();
  files.output = std::move(*output);
  if (exists(files.paths.dead) || files.content.dead_end > 0)
    if (auto opened = files.need_dead(); !opened)
      return opened;
  if (auto recovered = recover(files, options, find); !recovered || differ.empty())
    return recovered;
  if (const auto done = files.content.ok + files.content.dead; options.force && done > 0)
    files.notes.push_back(
        "the job has changed (" + differ + "), and --force resumes it: " + counted(done, "row") +
        (done == 1 ? " that is" : " that are") + " done will not run again and " +
        (done == 1 ? "keeps" : "keep") + " the earlier results. --fresh runs all rows again");
  auto now = wanted; // the job keeps its id, its start time and the place of its rows
  now.layout = files.content.header->layout;
  now.job_id = files.content.header->job_id;
  now.created = files.content.header->created;
  return write_header(files, now);
}

} // namespace

bool has_view(const batch_options& options) {
  return !options.fields.empty() || options.format == output_format::csv ||
         options.order == row_order::input || options.output == "-";
}

job_paths paths_of(const batch_options& options) {
  auto name = stem_of(options.output);
  const auto is_derived = has_view(options);
  return {.output = is_derived ? name + rows_ending : options.output,
          .view = is_derived ? options.output : std::string{},
          .dead = name + ".dead.jsonl",
          .journal = name + ".journal",
          .summary = name + ".summary.json"};
}

result<void> job_files::need_dead() {
  if (dead.is_open())
    return {};
  if (is_piped) {
    auto nameless = file::open_nameless(paths.dead);
    if (nameless)
      dead = std::move(*nameless);
    return nameless ? result<void>{} : nameless.error();
  }
  auto opened = file::open_regular(paths.dead, read_append_create);
  if (!opened)
    return opened.error();
  dead = std::move(*opened);
  return sync_folder_of(paths.dead);
}

namespace {

/// Opens the files of a job that writes to standard output. They have no names, so they disappear
/// when the job ends.
result<job_files> open_piped_job(const job_header& wanted) {
  auto failed = std::error_code{};
  const auto folder = std::filesystem::temp_directory_path(failed);
  if (failed)
    return error{errc::io_failed, "no folder for temporary files: " + failed.message() +
                                      "; set the environment variable TMPDIR"};
  auto files = job_files{};
  files.is_piped = true;
  const auto name = (folder / "superstep").string();
  files.paths = {.output = name + ".rows",
                 .view = {},
                 .dead = name + ".dead",
                 .journal = name + ".journal",
                 .summary = {}};
  auto rows = file::open_nameless(files.paths.output);
  if (!rows)
    return rows.error();
  files.output = std::move(*rows);
  auto journal = file::open_nameless(files.paths.journal);
  if (!journal)
    return journal.error();
  files.journal = std::move(*journal);
  if (auto written = write_header(files, wanted); !written)
    return written.error();
  return files;
}

} // namespace

result<job_files> open_job(const batch_options& options, const job_header& wanted,
                           const row_finder& find) {
  if (options.output == "-")
    return open_piped_job(wanted);
  auto files = job_files{};
  files.paths = paths_of(options);
  struct stat info {};
  if (::stat(options.output.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
    return error{errc::invalid_argument,
                 "the output " + options.output + " is a directory; specify a file in it"};
  if (auto checked = check_files(options); !checked)
    return checked.error();
  // Reject a device or a pipe now: later, a journal would already have been created beside it.
  if (::stat(options.output.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    if (auto output = file::open_regular(options.output, O_WRONLY); !output)
      return output.error();
  // The lock must be held before any file is renamed, so that no running job loses its files.
  auto journal = open_locked_journal(files.paths, files.is_journal_new);
  if (journal && options.fresh) {
    if (auto moved = move_aside(files); !moved)
      return moved.error();
    if (!files.is_journal_new)
      journal = open_locked_journal(files.paths, files.is_journal_new);
  }
  if (!journal)
    return journal.error();
  files.journal = std::move(*journal);
  auto content = read_journal(files.journal);
  if (!content)
    return content.error();
  files.content = std::move(*content);
  if (options.follows_input && !options.fresh && files.content.header) {
    const auto differ = differences(*files.content.header, wanted);
    if (!differ.empty() && differ != "input") {
      files.journal = file{}; // releases the lock
      auto again = options;
      again.fresh = true;
      return open_job(again, wanted, find);
    }
  }
  if (!files.content.header && files.content.has_records)
    if (auto replaced = replace_header(files, options, wanted); !replaced)
      return replaced.error();
  auto opened = files.content.header ? resume_job(files, options, wanted, find)
                                     : begin_job(files, options, wanted, find);
  if (!opened)
    return opened.error();
  return files;
}

result<void> drop_summary(const job_paths& paths, std::vector<std::string>& notes) {
  auto opened = file::open_regular(paths.summary, O_RDONLY);
  if (!opened && !exists(paths.summary))
    return {};
  auto text = std::string{};
  constexpr auto summary_bytes_max = std::size_t{1} << 20U;
  if (opened)
    static_cast<void>(opened->read_at(0, summary_bytes_max, text));
  const auto parsed = parse_json(text);
  const auto* members = parsed ? parsed->if_object() : nullptr;
  const auto has_id = // earlier versions wrote `run_id`
      members != nullptr && (members->contains("job_id") || members->contains("run_id"));
  if (has_id && members->contains("exit_code")) {
    const auto is_gone = ::unlink(paths.summary.c_str()) == 0 || errno == ENOENT;
    return is_gone ? result<void>{} : disk_error("remove", paths.summary, errno);
  }
  const auto aside = free_name(paths.summary, ".old");
  if (::rename(paths.summary.c_str(), aside.c_str()) != 0)
    return disk_error("move aside", paths.summary, errno);
  notes.push_back(paths.summary + " is not the summary of a job; it was moved to " + aside);
  return {};
}

} // namespace superstep::detail

namespace superstep {

std::vector<used_file> paths_written_by(const batch_options& options) {
  if (options.output == "-")
    return {};
  using use = used_file::use;
  auto paths = detail::paths_of(options);
  const auto* name = paths.view.empty() ? "the output" : "the rows file";
  return {{"the output", std::move(paths.view), use::written},
          {name, std::move(paths.output), use::written},
          {"the dead letters", std::move(paths.dead), use::written},
          {"the journal", std::move(paths.journal), use::written},
          {"the summary", std::move(paths.summary), use::written}};
}

std::string checkpoints_path_of(const std::string& output) {
  return detail::stem_of(output) + ".job.db";
}

} // namespace superstep
