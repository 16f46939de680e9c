// SPDX-License-Identifier: Apache-2.0
// Derives a new journal from the output and the dead letters; rebuild.hpp states when and why.
// Lines that do not belong to a finished row are dropped from both files at the same time.
#include "rebuild.hpp"

#include "output_line.hpp"
#include "written_line.hpp"

#include <filesystem>
#include <optional>

#include <fcntl.h>

namespace superstep::detail {
namespace {

using line_kind = written_lines::found;

constexpr auto block_bytes = std::size_t{1} << 20U;

/// A filtered copy of a file under a temporary name. finish() replaces the file with the copy, but
/// only if a line was dropped; otherwise the copy is deleted.
class rewritten_file {
public:
  /// @param old the file to filter; if it is not open, it has no lines
  rewritten_file(file& old, std::vector<std::string>& notes) : old_{old}, notes_{notes} {}

  void keep(std::string_view line) {
    bytes_ += line;
    bytes_ += '\n';
    size_ += line.size() + 1;
  }
  void drop() noexcept { has_dropped_ = true; }
  /// Drops a line that the job did not write. finish() then keeps the old file under another name.
  void drop_foreign() noexcept { has_dropped_ = has_foreign_ = true; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// Writes the collected lines to the copy once they exceed `bytes_max`.
  result<void> flush(std::size_t bytes_max) {
    if (bytes_.size() <= bytes_max || !old_.is_open())
      return {};
    if (!fresh_.is_open()) {
      auto opened = file::open_temporary(old_);
      if (!opened)
        return opened.error();
      fresh_ = std::move(*opened);
    }
    auto written = fresh_.append(bytes_);
    bytes_.clear();
    return written;
  }
  result<void> finish() {
    if (!old_.is_open() || !has_dropped_)
      return fresh_.remove();
    if (!fresh_.is_open()) { // no line was kept, so flush() has not created the copy
      auto opened = file::open_temporary(old_);
      if (!opened)
        return opened.error();
      fresh_ = std::move(*opened);
    }
    if (has_foreign_) {
      auto aside = copy_aside(old_, ".damaged", 0);
      if (!aside)
        return aside.error();
      notes_.push_back(old_.path() +
                       " had lines that this job did not write; the original is kept "
                       "as " +
                       *aside);
    }
    return fresh_.replace(old_);
  }

private:
  file& old_;
  std::vector<std::string>& notes_;
  file fresh_;
  std::string bytes_;
  std::uint64_t size_ = 0;
  bool has_dropped_ = false;
  bool has_foreign_ = false;
};

/// Performs one rebuild. run() calls the steps in order.
class rebuilding {
public:
  rebuilding(job_files& files, const boost::unordered_flat_set<key_digest>* retried)
      : files_{files}, retried_{retried}, output_{files.output, files.notes},
        dead_{files.dead, files.notes} {}

  result<void> run() {
    if (auto begun = begin(); !begun)
      return begun;
    for (auto step : {&rebuilding::read_letters, &rebuilding::copy_output, &rebuilding::copy_dead,
                      &rebuilding::replace_files, &rebuilding::finish})
      if (auto done = (this->*step)(); !done)
        return done;
    return {};
  }

private:
  /// Voids the journal's records of rows. If the process dies before finish(), the next run finds
  /// this record without its end and repeats the rebuild.
  result<void> begin() {
    auto& content = files_.content;
    if (auto cut = files_.journal.cut(content.valid_bytes); !cut)
      return cut;
    append_rebuild(records_);
    if (auto written = put(0); !written)
      return written;
    if (!content.needs_rebuild && content.damaged_lines == 0)
      known_bad_lines_ = content.bad_lines;
    content.begin_rebuild();
    return files_.journal.sync();
  }

  /// Appends the collected records to the journal once they exceed `bytes_max`.
  result<void> put(std::size_t bytes_max) {
    if (records_.size() <= bytes_max)
      return {};
    auto written = files_.journal.append(records_);
    records_.clear();
    return written;
  }

  /// Calls `see` for each line with a JSON object. Drops all other lines from `into`, if it is
  /// given.
  template <class See>
  static result<void> for_each(const file& from, rewritten_file* into, See see) {
    if (!from.is_open())
      return {};
    auto lines = written_lines{from, 0};
    while (true) {
      const auto end_before = lines.end();
      auto line = lines.next();
      if (!line)
        return line.error();
      if (*line == line_kind::end)
        return into != nullptr ? into->flush(0) : result<void>{};
      if (into != nullptr && lines.begin() != end_before)
        into->drop(); // a byte order mark
      if (*line == line_kind::object)
        see(lines);
      else if (into != nullptr)
        *line == line_kind::torn ? into->drop() : into->drop_foreign();
      if (into != nullptr)
        if (auto written = into->flush(block_bytes); !written)
          return written;
    }
  }

  /// Collects the failed rows that stay failed. A failed row needs both an output line and a dead
  /// letter.
  result<void> read_letters() {
    return for_each(files_.dead, nullptr, [&](const written_lines& at) {
      const auto key = key_of(at.object());
      const auto digest = digest_of(key);
      const auto runs_again =
          retried_ != nullptr && retried_->contains(digest) && may_succeed_again(at.object());
      if (bad_line_of(at.object()) == 0 && !key.empty() && !runs_again)
        letters_.insert(digest);
    });
  }

  /// Keeps one output line per row. The line of a failed row is dropped if the row has no dead
  /// letter or is to run again.
  result<void> copy_output() {
    auto& content = files_.content;
    return for_each(files_.output, &output_, [&](const written_lines& at) {
      const auto key = key_of(at.object());
      const auto digest = digest_of(key);
      if (key.empty() || content.done.contains(digest))
        return output_.drop_foreign();
      const auto is_dead = has_failed(at.object());
      if (is_dead && !letters_.contains(digest))
        return output_.drop();
      output_.keep(at.text());
      rows_.push_back({std::string{key}, output_.size(), counts_of(at.object()), is_dead});
      if (is_dead)
        failed_.insert(digest);
      content.mark_done(digest, is_dead);
    });
  }

  /// Keeps one dead letter for each failed row in the output, and those of invalid input lines. A
  /// letter may be about a line of an earlier input. Its number is then not one of this input.
  result<void> copy_dead() {
    return for_each(files_.dead, &dead_, [&](const written_lines& at) {
      const auto line = bad_line_of(at.object());
      if (line == 0 && failed_.erase(digest_of(key_of(at.object()))) == 0)
        return dead_.drop();
      dead_.keep(at.text());
      if (line != 0 && (!known_bad_lines_ || known_bad_lines_->contains(line)))
        files_.content.bad_lines.insert(line);
    });
  }

  result<void> replace_files() {
    if (auto replaced = output_.finish(); !replaced)
      return replaced;
    if (auto replaced = dead_.finish(); !replaced)
      return replaced;
    return sync_folder_of(files_.paths.output);
  }

  /// Writes a record for each kept line. The last record marks the rebuild as complete.
  result<void> finish() {
    auto& content = files_.content;
    content.output_end = output_.size();
    content.dead_end = dead_.size();
    for (auto line : content.bad_lines)
      append_bad(records_, line, content.dead_end);
    for (const auto& row : rows_) {
      if (row.is_dead)
        append_dead(records_, row.key, row.end, content.dead_end, row.counts);
      else
        append_ok(records_, row.key, row.end, row.counts);
      ++(row.is_dead ? content.dead : content.ok);
      content.add(row.counts);
      if (auto written = put(block_bytes); !written)
        return written;
    }
    append_rebuilt(records_, content.output_end, content.dead_end);
    if (auto written = put(0); !written)
      return written;
    auto size = files_.journal.size();
    if (!size)
      return size.error();
    content.valid_bytes = *size;
    content.end_rebuild();
    return files_.journal.sync();
  }

  struct kept_row {
    std::string key;
    std::uint64_t end;
    row_counts counts;
    bool is_dead;
  };

  job_files& files_;
  const boost::unordered_flat_set<key_digest>* retried_;
  rewritten_file output_;
  rewritten_file dead_;
  std::string records_;
  std::vector<kept_row> rows_;
  /// The invalid lines of the input. Not set if the journal is damaged, so that they are not known.
  std::optional<boost::unordered_flat_set<std::uint64_t>> known_bad_lines_;
  boost::unordered_flat_set<key_digest> letters_; ///< rows with a dead letter that stay failed
  boost::unordered_flat_set<key_digest> failed_; ///< failed rows whose dead letter is still to copy
};

} // namespace

result<void> rebuild(job_files& files, const boost::unordered_flat_set<key_digest>* retried) {
  return rebuilding{files, retried}.run();
}

} // namespace superstep::detail
