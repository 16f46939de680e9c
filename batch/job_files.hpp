// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "journal.hpp"
#include "row_source.hpp"

#include <superstep/batch/batch.hpp>

#include <functional>
#include <string>
#include <vector>

namespace superstep::detail {

/// The paths of a job's files: out.jsonl, out.dead.jsonl, out.journal, out.summary.json.
struct job_paths {
  std::string output; ///< the whole lines of rows: the output, or the rows file
  std::string view;   ///< the output if it is derived from the rows file, else empty
  std::string dead;
  std::string journal;
  std::string summary;
};
[[nodiscard]] job_paths paths_of(const batch_options& options);
/// Whether the output is derived from a rows file, because it does not have the whole lines of rows
/// in the order in which they end.
[[nodiscard]] bool has_view(const batch_options& options);

/// The open files of a job. This process holds a lock on the journal, so that no other process runs
/// the same job.
struct job_files {
  job_paths paths;
  file output;
  file dead; ///< the dead letters; created and opened when the first row fails
  file journal;
  journal_content content; ///< results of earlier runs, including the valid sizes of the files
  bool is_resumed = false;
  bool is_piped = false; ///< whether the output is standard output, so that the files have no names
  bool is_journal_new = false;    ///< whether this process created the journal
  std::vector<std::string> notes; ///< texts for the user about files moved aside and repairs

  /// Opens out.dead.jsonl if it is not open.
  [[nodiscard]] result<void> need_dead();
};

/// Returns the finished rows that the input of the job has.
using row_finder = std::function<result<finished_rows>(const journal_content& done)>;

/// Opens or creates the files of a job, and repairs them after a crash: finished lines that the
/// journal does not mention are kept, and incomplete lines are cut off.
/// @param wanted describes the job that the caller wants to run; its `job_id` and `created` are
///   used only for a new job
/// @param find finds the rows that --retry-dead may run again
[[nodiscard]] result<job_files> open_job(const batch_options& options, const job_header& wanted,
                                         const row_finder& find);

/// Removes the summary of an earlier run, which is outdated. A file with the same name that is not
/// the summary of a job is moved aside instead.
[[nodiscard]] result<void> drop_summary(const job_paths& paths, std::vector<std::string>& notes);

} // namespace superstep::detail
