// SPDX-License-Identifier: Apache-2.0
// Brings the files of an interrupted job into a consistent state. Output and dead letters may be
// longer than the journal records, because the writer thread writes the journal last
// (row_writer.hpp).
#include "recover.hpp"

#include "base/error_words.hpp"
#include "rebuild.hpp"
#include "stop_decision.hpp"
#include "written_line.hpp"

#include <algorithm>

namespace superstep::detail {
namespace {

using line_kind = written_lines::found;

/// Fails if a file is shorter than the journal has recorded. A crash cannot cause this, because the
/// journal is written after the file was synced. So another program has changed the file.
result<void> expect_promised_bytes(const file& opened, const std::string& path,
                                   std::uint64_t promised) {
  auto size = opened.is_open() ? opened.size() : result<std::uint64_t>{0};
  if (!size)
    return size.error();
  if (*size < promised)
    return error{
        errc::invalid_argument,
        path + " has " + counted(*size, "byte") + ", but the job has written " +
            std::to_string(promised) +
            ": it was changed, replaced or deleted. Restore it, use --force to run the rows of the "
            "missing lines again, or use --fresh to start again"};
  return {};
}

/// Continues to read the dead letters. Appends records of the invalid input lines to `records`.
/// Returns whether the next dead letter of a row has the key `key`.
result<bool> find_letter(job_files& files, written_lines& dead, std::string_view key,
                         std::string& records) {
  while (files.dead.is_open()) {
    auto more = dead.next();
    if (!more)
      return more.error();
    if (*more != line_kind::object)
      return false;
    const auto line = bad_line_of(dead.object());
    if (line == 0)
      return key_of(dead.object()) == key;
    files.content.bad_lines.insert(line);
    files.content.dead_end = dead.end();
    append_bad(records, line, dead.end());
  }
  return false;
}

/// Reads the complete lines after the end that the journal records, and marks their rows as
/// finished. Returns the missing journal records.
///
/// The dead letters and the output lines of failed rows have the same order, and a dead letter is
/// written first. So the next output line of a failed row must belong to the next dead letter. At
/// the first line for which that is not true, the search ends, and the rows of the remaining lines
/// run again. Running a row again is always correct.
result<std::string> keep_finished_lines(job_files& files) {
  auto& content = files.content;
  auto records = std::string{};
  auto written = written_lines{files.output, content.output_end};
  // Without dead letters, `dead` is not read: find_letter() checks that the file is open.
  auto dead = written_lines{files.dead.is_open() ? files.dead : files.output, content.dead_end};
  while (true) {
    auto more = written.next();
    if (!more)
      return more.error();
    auto key = *more == line_kind::object ? key_of(written.object()) : std::string_view{};
    if (key.empty() || content.done.contains(digest_of(key)))
      return records;
    const auto counts = counts_of(written.object());
    const auto is_dead = has_failed(written.object());
    if (is_dead) {
      auto letter = find_letter(files, dead, key, records);
      if (!letter)
        return letter.error();
      if (!*letter)
        return records;
      content.dead_end = dead.end();
      append_dead(records, key, written.end(), content.dead_end, counts);
      ++content.dead;
    } else {
      append_ok(records, key, written.end(), counts);
      ++content.ok;
    }
    content.output_end = written.end();
    content.add(counts);
    content.mark_done(digest_of(key), is_dead);
  }
}

/// Whether all bytes after `end` can come from this job: complete JSON lines, zeros, or an
/// incomplete last line. Such bytes are cut off without keeping a copy.
result<bool> is_torn_from(const file& opened, std::uint64_t end) {
  auto lines = written_lines{opened, end};
  while (true) {
    auto line = lines.next();
    if (!line)
      return line.error();
    if (*line == line_kind::end || *line == line_kind::foreign)
      return *line == line_kind::end;
  }
}

/// Truncates a file to `end` bytes. If another program wrote some of the removed bytes, they are
/// copied to another file first.
result<void> cut_and_sync(job_files& files, file& opened, std::uint64_t end) {
  auto size = opened.size();
  if (!size)
    return size.error();
  if (*size == end)
    return {};
  auto is_torn = is_torn_from(opened, end);
  if (!is_torn)
    return is_torn.error();
  if (!*is_torn) {
    auto aside = copy_aside(opened, ".cut", end);
    if (!aside)
      return aside.error();
    files.notes.push_back(opened.path() + " ended with " + counted(*size - end, "byte") +
                          " that this job did not write, now in " + *aside);
  }
  if (auto cut = opened.cut(end); !cut)
    return cut;
  return opened.sync();
}

/// Rebuilds a damaged journal. A copy of the damaged one is kept, and the user is informed.
result<void> repair_damage(job_files& files) {
  auto aside = copy_aside(files.journal, ".damaged", 0);
  if (!aside)
    return aside.error();
  const auto& content = files.content;
  files.notes.push_back(files.paths.journal + ":" + std::to_string(content.first_damaged_line) +
                        ": " + counted(content.damaged_lines, "damaged line") +
                        "; the journal was rebuilt from " + files.paths.output +
                        ", and the damaged one is kept as " + *aside);
  return rebuild(files, nullptr);
}

/// Rebuilds the journal if it is damaged, if an earlier rebuild was interrupted, or if --force
/// accepts that lines of the output are missing. Returns whether the journal was rebuilt.
result<bool> rebuild_if_needed(job_files& files, const batch_options& options) {
  auto& content = files.content;
  auto done = result<void>{};
  if (content.needs_rebuild) {
    done = rebuild(files, nullptr); // recover() removes the lines of failed rows afterwards
  } else if (content.damaged_lines > 0) {
    done = repair_damage(files);
  } else {
    auto whole = expect_promised_bytes(files.output, files.paths.output, content.output_end);
    if (whole)
      whole = expect_promised_bytes(files.dead, files.paths.dead, content.dead_end);
    if (whole)
      return false;
    if (!options.force)
      return whole.error();
    const auto before = content.ok + content.dead;
    done = rebuild(files, nullptr);
    const auto missing = before - std::min(before, content.ok + content.dead);
    files.notes.push_back(files.paths.output + ": the output of " + counted(missing, "row") +
                          " is missing; " + (missing == 1 ? "it runs" : "they run") + " again");
  }
  if (!done)
    return done.error();
  return true;
}

} // namespace

result<void> recover(job_files& files, const batch_options& options, const row_finder& find) {
  auto& content = files.content;
  if (auto is_rebuilt = rebuild_if_needed(files, options); !is_rebuilt)
    return is_rebuilt.error();
  // After a rebuild, the next steps find nothing to do, because the journal covers all lines.
  auto records = keep_finished_lines(files);
  if (!records)
    return records.error();
  // The journal is written last: if the process dies here, the next run recovers the same lines.
  if (files.dead.is_open())
    if (auto cut = cut_and_sync(files, files.dead, content.dead_end); !cut)
      return cut;
  if (auto cut = cut_and_sync(files, files.output, content.output_end); !cut)
    return cut;
  if (auto cut = files.journal.cut(content.valid_bytes); !cut)
    return cut;
  content.valid_bytes += records->size();
  if (auto kept = files.journal.append(*records); !kept)
    return kept;
  if (auto synced = files.journal.sync(); !synced || !options.retry_dead || content.dead == 0)
    return synced;
  // With a spent budget no row would run, so the lines of failed rows stay.
  if (const auto stop = decide_stop(
          options.rules, {}, {.cost = content.counts.cost, .tokens = content.counts.total_tokens}))
    return error{errc::invalid_argument, "--retry-dead: " + stop->text + "; nothing was changed"};
  const auto of_input = find(content);
  if (!of_input)
    return of_input.error();
  const auto failed = content.dead; // the rebuild resets the counts
  if (auto retried = rebuild(files, &of_input->keys); !retried)
    return retried;
  const auto again = failed - content.dead;
  files.notes.push_back(std::to_string(again) + " of " + counted(failed, "failed row") +
                        (again == 1 ? " runs again" : " run again"));
  return {};
}

} // namespace superstep::detail
