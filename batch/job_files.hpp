// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "journal.hpp"

#include <superstep/batch/batch.hpp>

#include <string>
#include <vector>

namespace superstep::detail {

/// The paths of a job's files: out.jsonl, out.dead.jsonl, out.journal, out.summary.json.
struct job_paths {
  std::string output;
  std::string dead;
  std::string journal;
  std::string summary;
};
[[nodiscard]] job_paths paths_of(const std::string& output);

/// The open files of a job. The journal is locked, so only this process writes them.
struct job_files {
  job_paths paths;
  file output;
  file dead; ///< opened when it gets its first line; without failed rows there is no file
  file journal;
  journal_content content; ///< the results of earlier runs; its ends are the sizes of the files
  bool is_resumed = false;
  bool is_journal_new = false;    ///< whether this process created the journal
  std::vector<std::string> notes; ///< for the user: files moved aside, repairs

  /// Opens out.dead.jsonl if it is not open.
  [[nodiscard]] result<void> need_dead();
};

/// Opens or creates the files of a job and repairs them according to the journal: finished lines
/// that the journal lacks are kept, incomplete ones are cut.
/// @param wanted describes the job as of now; job_id and created are used only for a new job
[[nodiscard]] result<job_files> open_job(const batch_options& options, const job_header& wanted);

/// Removes the summary of an earlier run, which is outdated. A file with that name that no job
/// wrote is moved aside instead.
[[nodiscard]] result<void> drop_summary(const job_paths& paths, std::vector<std::string>& notes);

} // namespace superstep::detail
