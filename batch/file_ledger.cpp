// SPDX-License-Identifier: Apache-2.0
// The ledger of a job in files. file_ledger.hpp states the order of writes, on which recover()
// relies.
#include "file_ledger.hpp"

#include "journal.hpp"
#include "row_table.hpp"

#include <algorithm>
#include <utility>

namespace superstep::detail {
namespace {

// A group of this size is written at once, without waiting for the sync interval.
constexpr auto group_bytes_max = std::size_t{8} << 20U;

/// Fails if another process has removed or replaced an open file, or changed its size. Rows written
/// afterwards would be lost, although the journal records them as done.
result<void> expect_untouched(const file& opened, std::uint64_t size) {
  if (!opened.is_open())
    return {};
  auto now = opened.size();
  if (!now)
    return now.error();
  if (!opened.has_its_name())
    return error{errc::invalid_argument,
                 opened.path() + " was removed or replaced while the job ran"};
  if (*now != size)
    return error{errc::invalid_argument,
                 opened.path() + " was changed while the job ran: it has " + std::to_string(*now) +
                     " bytes instead of " + std::to_string(size) +
                     (*now < size ? "; restore it, or use --force to run the rows "
                                    "of the missing lines again"
                                  : "; remove what was added, then rerun to "
                                    "resume")};
  return {};
}

row_origin origin_of(const input_item& item) {
  auto origin = row_origin{};
  origin.line = item.line.number;
  origin.offset = item.line.offset;
  origin.size = item.line.size;
  // An invalid line may have an `error` member. For a valid line, item_of() sets the correct value.
  origin.has_error = true;
  return origin;
}

ledger_facts facts_of(const journal_content& content, const input_facts& input,
                      const finished_numbers& of_input) {
  const auto failed = content.dead + content.bad_lines.size();
  return {.identity = {content.header->job_id, content.header->created},
          .rows = input.rows.all,
          .wanted = input.rows.wanted,
          .ok = content.ok,
          .dead = content.dead,
          .bad_lines = content.bad_lines.size(),
          .other = content.ok + failed - of_input.all,
          .other_failed = failed - of_input.failed,
          .counts = content.counts,
          .rows_with_failed_calls = content.rows_with_failed_calls};
}

} // namespace

file_ledger::file_ledger(job_files& files, const input_file& input, const input_facts& facts,
                         const finished_numbers& done, const batch_options& options, row_view* view)
    : files_{files}, input_{input}, scanned_{facts}, options_{options}, view_{view},
      facts_{facts_of(files.content, facts, done)}, source_{input, facts, options},
      output_end_{files.content.output_end}, dead_end_{files.content.dead_end},
      output_size_{output_end_}, dead_size_{dead_end_} {}

/// Whether an earlier run has finished the row or invalid line. If so, skips it.
bool file_ledger::is_done(const input_item& item) {
  const auto& done = files_.content;
  // An earlier run may have written the dead letter of this line already. The line may be valid
  // now, because --max-line-bytes was raised.
  if (done.bad_lines.contains(item.line.number))
    return true;
  const auto key = done.done.empty() ? std::nullopt : source_.key_of(item);
  if (!key || !done.done.contains(*key))
    return false;
  if (view_ != nullptr)
    view_->skip(*key);
  return true;
}

result<std::optional<ledger_item>> file_ledger::item_of(input_item&& item) {
  auto out = result<std::optional<ledger_item>>{};
  if (!item.row && options_.bad_lines == on_bad_line::fail) {
    out = error{errc::parse_failed,
                "line " + std::to_string(item.line.number) +
                    " of the input was changed while the job ran: " + item.row.error().text};
    return out;
  }
  auto& made = out->emplace(origin_of(item), std::move(item.row), item.is_duplicate, item.group);
  if (!made.row)
    return out;
  auto& origin = made.origin;
  auto& row = *made.row;
  describe(origin, row);
  origin.sample = options_.repeat > 1 ? row.request.sample : 0;
  origin.has_foreign_key = !options_.id_field.empty() || row.shape == row_shape::columns;
  if (const auto& starts = files_.content.starts; !starts.empty())
    if (auto before = starts.find(digest_of(row.request.key)); before != starts.end())
      origin.attempt = before->second + 1;
  if (view_ != nullptr)
    origin.place = view_->expect();
  return out;
}

result<std::optional<ledger_item>> file_ledger::next() {
  auto item = source_.next();
  if (!item)
    return item.error();
  is_at_end_ = !*item;
  if (is_at_end_ || is_done(**item))
    return std::optional<ledger_item>{};
  return item_of(std::move(**item));
}

result<input_row> file_ledger::reread(const row_origin& row) {
  return source_.reread(row.line, row.offset, row.size, row.sample);
}

bool file_ledger::has_pending() const noexcept {
  return !done_.empty() || !starts_.empty();
}

bool file_ledger::is_full() const noexcept {
  return output_.size() + dead_.size() >= group_bytes_max;
}

std::chrono::nanoseconds file_ledger::commit_interval() const {
  return options_.sync_interval;
}

result<void> file_ledger::add(const finished_row& row) {
  if (row.bad_line)
    return add_bad_line(row);
  output_ += row.line;
  const auto begin = output_end_;
  output_end_ += row.line.size();
  if (view_ != nullptr)
    rows_.push_back({row.origin.place, begin, output_end_});
  if (!row.error) {
    append_ok(done_, row.origin.key, output_end_, row.counts);
    return {};
  }
  const auto dead_before = dead_.size();
  if (auto line = read_json_line(row.origin); !line)
    return line;
  append_dead_line(dead_, row.origin, input_line_, *row.error);
  dead_end_ += dead_.size() - dead_before;
  append_dead(done_, row.origin.key, output_end_, dead_end_, row.counts);
  return {};
}

/// Reads a valid line of the input into `input_line_`, as JSON. Input lines are not kept in memory.
result<void> file_ledger::read_json_line(const row_origin& row) {
  if (auto read = input_.bytes.read_at(row.offset, row.size, input_line_); !read)
    return read;
  if (row.offset == 0)
    input_line_.erase(0, input_line_.size() - without_byte_order_mark(input_line_).size());
  if (!input_.format.columns)
    return {};
  auto converted = input_.format.columns->to_json(input_line_);
  if (!converted)
    return converted.error();
  input_line_ = std::move(*converted);
  return {};
}

result<void> file_ledger::add_bad_line(const finished_row& row) {
  const auto before = dead_.size();
  constexpr auto read_bytes_max = std::uint64_t{4096};
  const auto& origin = row.origin;
  // A duplicate line is valid otherwise, so its dead letter contains all of it. Any other invalid
  // line may have any length, and its dead letter contains an excerpt.
  if (auto line = row.is_duplicate
                      ? read_json_line(origin)
                      : input_.bytes.read_at(origin.offset, std::min(origin.size, read_bytes_max),
                                             input_line_);
      !line)
    return line;
  if (row.is_duplicate) {
    auto why = row_error{};
    why.kind = duplicate_key_kind;
    why.message = row.bad_line->text;
    append_dead_line(dead_, origin, input_line_, why);
  } else {
    append_bad_line(dead_, origin.line, input_line_, *row.bad_line);
  }
  dead_end_ += dead_.size() - before;
  append_bad(done_, origin.line, dead_end_);
  return {};
}

result<void> file_ledger::commit() {
  auto written = write_group();
  if (!written) {
    // These bytes will never be written.
    starts_.clear();
    done_.clear();
  }
  return written;
}

/// Lets tests inspect the files as a crash at this point would leave them.
void file_ledger::step(std::string_view name) const {
  if (options_.on_disk_step)
    options_.on_disk_step(name);
}

result<void> file_ledger::put(file& into, std::string& bytes, std::string_view name) {
  if (bytes.empty())
    return {};
  step(name);
  if (auto written = into.append(bytes); !written)
    return written;
  bytes.clear();
  step(name);
  if (auto synced = into.sync(); !synced)
    return synced;
  step(name);
  return {};
}

// Start records are not synced. If a crash loses one, the only effect is that the member `attempt`
// of a later output line is too small.
result<void> file_ledger::put_start_records() {
  if (starts_.empty())
    return {};
  if (auto written = files_.journal.append(starts_); !written)
    return written;
  starts_.clear();
  step("start");
  return {};
}

result<void> file_ledger::verify() const {
  if (!files_.journal.has_its_name())
    return error{errc::invalid_argument,
                 files_.journal.path() + " was removed or replaced while the job ran"};
  if (auto same = expect_untouched(files_.output, output_size_); !same)
    return same;
  if (auto same = expect_untouched(files_.dead, dead_size_); !same)
    return same;
  return expect_unchanged(input_, scanned_);
}

/// Writes the collected bytes in the order that the class comment states.
result<void> file_ledger::write_group() {
  if (auto same = verify(); !same)
    return same;
  if (auto written = put_start_records(); !written)
    return written;
  if (!dead_.empty())
    if (auto opened = files_.need_dead(); !opened)
      return opened;
  if (auto written = put(files_.dead, dead_, "dead"); !written)
    return written;
  if (auto written = put(files_.output, output_, "output"); !written)
    return written;
  output_size_ = output_end_;
  dead_size_ = dead_end_;
  if (auto written = put(files_.journal, done_, "journal"); !written || view_ == nullptr)
    return written;
  auto shown = view_->add(rows_);
  rows_.clear();
  step("view");
  return shown;
}

/// Returns the error of a failed job, with advice for the user. If another process has deleted or
/// replaced a file of the job, its content is copied to a new file first: only the open descriptor
/// of this process can still read it.
error file_ledger::rescue(const error& why) {
  auto text = why.text;
  if (files_.is_piped) // nothing can be resumed
    return {why.code, std::move(text)};
  for (const auto* lost : {&files_.output, &files_.dead, &files_.journal}) {
    if (!lost->is_open() || lost->has_its_name())
      continue;
    auto kept = copy_to_free_name(*lost);
    if (!kept)
      return {kept.error().code, text + "; its rows could not be saved: " + kept.error().text};
    text += "; its content was saved as " + *kept;
    if (*kept != lost->path())
      text += ", which must take its place before the job is run again";
  }
  // The error text for a changed file already includes advice; see expect_untouched().
  const auto was_changed = why.code == errc::invalid_argument && text == why.text;
  if (!was_changed)
    text += "; finished rows are safe, fix this and rerun to resume";
  return {why.code, std::move(text)};
}

/// Finds the places of finished rows behind the last row that next() has returned. The job may have
/// stopped before them, or --limit may exclude them.
result<void> file_ledger::place_rest() {
  if (is_at_end_ && !source_.is_limited())
    return {};
  auto options = options_;
  options.limit.reset();
  auto source = row_source{input_, scanned_, options};
  while (view_->has_earlier_rows()) {
    auto item = source.next();
    if (!item)
      return item.error();
    if (!*item)
      return {};
    if (const auto key = source.key_of(**item))
      view_->skip(*key);
  }
  return {};
}

/// Rows that wait for an unfinished row are written even after a failure.
result<void> file_ledger::finish() {
  if (view_ == nullptr)
    return {};
  auto placed = place_rest();
  auto finished = view_->finish();
  return finished ? placed : finished;
}

void file_ledger::complete(batch_summary& summary) const {
  set_paths(summary, files_);
}

void set_paths(batch_summary& summary, const job_files& files) {
  const auto& paths = files.paths;
  summary.output = files.is_piped       ? "standard output"
                   : paths.view.empty() ? paths.output
                                        : paths.view;
  summary.is_resumable = !files.is_piped;
  if (!files.is_piped)
    summary.dead = paths.dead;
}

} // namespace superstep::detail
