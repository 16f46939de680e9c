// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "journal.hpp"

#include <superstep/batch/batch.hpp>

#include <string>
#include <vector>

namespace superstep::detail {

/// The names of a job's files: out.jsonl, out.dead.jsonl, out.journal, out.summary.json.
struct job_paths {
  std::string output;
  std::string dead;
  std::string journal;
  std::string summary;
};
[[nodiscard]] job_paths paths_of(const std::string& output);

/// The open files of a job that this process alone may write: the journal is locked.
struct job_files {
  job_paths paths;
  file output;
  file dead; ///< opened with its first line: no file says that nothing has failed
  file journal;
  journal_content content; ///< what earlier runs did; its ends are the sizes of the files
  bool is_resumed = false;
  bool is_journal_new = false;    ///< this process created the journal
  std::vector<std::string> notes; ///< what the user should know: files moved aside, repairs

  /// Opens out.dead.jsonl unless it is open.
  [[nodiscard]] result<void> need_dead();
};

/// Opens or creates the files of a job and brings them to the state that the journal promises:
/// finished lines that the journal has not seen are kept, torn ones are cut. `wanted` is what the
/// job is now; its job_id and created count only when the job is new.
[[nodiscard]] result<job_files> open_job(const batch_options& options, const job_header& wanted);

/// Removes the summary of an earlier run, which is not true any more. A file of the same name that
/// no job wrote is moved aside instead.
[[nodiscard]] result<void> drop_summary(const job_paths& paths, std::vector<std::string>& notes);

} // namespace superstep::detail
