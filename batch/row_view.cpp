// SPDX-License-Identifier: Apache-2.0
// Derives the output of a job from its rows file. The rows file itself serves as the spill file of
// --order input: a row that waits for an earlier one occupies no memory except its position.
#include "row_view.hpp"

#include "written_line.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace superstep::detail {
namespace {

constexpr auto block_bytes = std::uint64_t{1} << 18U;
constexpr auto flush_bytes = std::size_t{1} << 20U;

/// Returns a text that identifies the form of an output.
std::string form_of(const std::optional<std::vector<output_column>>& columns,
                    const batch_options& options) {
  auto out = std::string{options.format == output_format::csv ? "csv" : "jsonl"};
  out += options.order == row_order::input ? " input" : " completion";
  if (columns)
    for (const auto& column : *columns)
      out.append(" ").append(column.name).append("=").append(column.path);
  return out;
}

/// Calls a function after each complete line of a rows file. An error that it returns ends the
/// loop.
template <class F>
result<void> for_each_row(const file& rows, F see) {
  auto lines = written_lines{rows, 0};
  while (true) {
    const auto line = lines.next();
    if (!line)
      return line.error();
    if (*line == written_lines::found::end)
      return {};
    if (*line != written_lines::found::object)
      continue;
    if (result<void> seen = see(lines); !seen)
      return seen;
  }
}

} // namespace

row_view::row_view(job_files& files, const batch_options& options,
                   std::optional<std::vector<output_column>> columns, const stop_request& stop)
    : files_{files}, is_in_input_order_{options.order == row_order::input},
      is_piped_{options.output == "-"}, form_{form_of(columns, options)}, stop_{stop} {
  if (columns)
    fields_.emplace(*std::move(columns), options.format);
}

/// Whether the file at the output's path is the one that the journal describes. After a crash, its
/// last write may be missing.
bool row_view::is_of_this_job() const {
  const auto& known = files_.content.view;
  struct stat info {};
  if (!known || ::stat(files_.paths.view.c_str(), &info) != 0 || info.st_ino != known->inode)
    return false;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  return size == known->size || (known->form.empty() && size == known->size_before);
}

bool row_view::is_current() const {
  return !is_piped_ && is_of_this_job() && files_.content.view->form == form_;
}

result<void> row_view::begin() {
  if (auto opened = open(); !opened)
    return opened;
  if (fields_)
    fields_->append_header(bytes_);
  auto done = is_in_input_order_ ? find_earlier_rows() : write_earlier_rows();
  return done ? flush() : done;
}

result<void> row_view::open() {
  if (is_piped_) {
    auto opened = file::open_standard_output();
    if (opened)
      out_ = std::move(*opened);
    return opened ? result<void>{} : opened.error();
  }
  const auto& path = files_.paths.view;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0 && info.st_size > 0 && !is_of_this_job()) {
    const auto aside = free_name(path, ".old");
    if (::rename(path.c_str(), aside.c_str()) != 0)
      return disk_error("move aside", path, errno);
    files_.notes.push_back(path + " was changed or was not written by this job; it was moved to " +
                           aside);
  }
  auto opened = file::open_regular(path, O_RDWR | O_APPEND | O_CREAT);
  if (!opened)
    return opened.error();
  out_ = std::move(*opened);
  // The record comes first: if the process dies after it, the next run knows that it may write this
  // file again.
  if (auto recorded = record(0, {}); !recorded)
    return recorded;
  if (auto cut = out_.cut(0); !cut)
    return cut;
  return sync_folder_of(path);
}

/// Appends a record that describes the output to the journal.
result<void> row_view::record(std::uint64_t size, std::string_view form) {
  struct stat info {};
  if (::fstat(out_.fd(), &info) != 0)
    return disk_error("read the size of", out_.path(), errno);
  auto text = std::string{};
  append_view(text, info.st_ino, size, form);
  return files_.journal.append(text);
}

result<void> row_view::write_earlier_rows() {
  return for_each_row(files_.output,
                      [this](const written_lines& line) { return put_line(line.text()); });
}

result<void> row_view::find_earlier_rows() {
  return for_each_row(files_.output, [this](const written_lines& line) -> result<void> {
    earlier_[digest_of(key_of(line.object()))] = {line.begin(), line.end()};
    return {};
  });
}

std::uint64_t row_view::expect() {
  if (!is_in_input_order_)
    return 0;
  const auto guard = std::lock_guard{mutex_};
  waiting_.emplace_back();
  return first_ + waiting_.size() - 1;
}

void row_view::skip(key_digest key) {
  const auto found = earlier_.find(key);
  if (found == earlier_.end())
    return;
  const auto line = found->second;
  earlier_.erase(found);
  const auto guard = std::lock_guard{mutex_};
  waiting_.push_back(line);
}

result<void> row_view::add(std::span<const written_row> rows) {
  if (!is_in_input_order_) {
    auto lines = std::vector<line_place>{};
    lines.reserve(rows.size());
    for (const auto& row : rows)
      lines.push_back({row.begin, row.end});
    auto written = put(lines);
    return written ? flush() : written;
  }
  {
    const auto guard = std::lock_guard{mutex_};
    for (const auto& row : rows)
      waiting_[row.place - first_] = {row.begin, row.end};
  }
  auto written = put(take_ready(false));
  return written ? flush() : written;
}

/// Takes the lines whose turn it is out of the queue. If `is_last` is set, takes all lines, because
/// no further row will end.
std::vector<row_view::line_place> row_view::take_ready(bool is_last) {
  auto out = std::vector<line_place>{};
  const auto guard = std::lock_guard{mutex_};
  while (!waiting_.empty() && (is_last || waiting_.front().end != 0)) {
    if (waiting_.front().end != 0)
      out.push_back(waiting_.front());
    waiting_.pop_front();
    ++first_;
  }
  return out;
}

result<void> row_view::put(std::span<const line_place> lines) {
  for (const auto& place : lines) {
    auto line = read(place);
    if (!line)
      return line.error();
    if (auto written = put_line(*line); !written)
      return written;
  }
  return {};
}

/// Reads a line without its newline. Neighbouring lines are read with one call of the system.
result<std::string_view> row_view::read(line_place line) {
  if (line.begin < block_at_ || line.end > block_at_ + block_.size()) {
    const auto size = std::max(line.end - line.begin, block_bytes);
    if (auto got = files_.output.read_at(line.begin, size, block_); !got)
      return got.error();
    block_at_ = line.begin;
  }
  if (line.end > block_at_ + block_.size())
    return error{errc::io_failed, files_.output.path() + " is shorter than expected"};
  return std::string_view{block_}.substr(line.begin - block_at_, line.end - line.begin - 1);
}

result<void> row_view::put_line(std::string_view line) {
  if (fields_) {
    if (auto row = fields_->append_row(bytes_, line); !row)
      return row;
  } else {
    bytes_.append(line) += '\n';
  }
  return bytes_.size() >= flush_bytes ? flush() : result<void>{};
}

result<void> row_view::flush() {
  if (bytes_.empty())
    return {};
  auto written = is_piped_ ? append_to_pipe() : append_to_file();
  has_failed_ = !written;
  size_ += bytes_.size();
  bytes_.clear();
  return written;
}

result<void> row_view::append_to_pipe() {
  return out_.append_to_stream(bytes_, [this] { return stop_.current() == stop_request::abort; });
}

/// The record comes first: if the process dies, the next run knows which size the output may have.
result<void> row_view::append_to_file() {
  if (auto same = expect_untouched(); !same)
    return same;
  if (auto recorded = record(size_ + bytes_.size(), {}); !recorded)
    return recorded;
  auto written = out_.append(bytes_);
  if (!written)
    if (const auto size = out_.size())
      static_cast<void>(record(*size, {})); // part of the bytes may have been written
  return written;
}

/// Fails if another process has removed, replaced or changed the output.
result<void> row_view::expect_untouched() const {
  const auto now = out_.size();
  if (!now)
    return now.error();
  if (*now == size_ && out_.has_its_name())
    return {};
  return error{errc::invalid_argument,
               out_.path() +
                   " was removed, replaced or changed while the job ran; finished rows are "
                   "safe in " +
                   files_.output.path() + ", rerun to write it again"};
}

result<void> row_view::finish() {
  if (has_failed_) // the failure was reported
    return {};
  auto written = put(take_ready(true));
  // Rows of an earlier input.
  auto rest = std::vector<line_place>{};
  for (const auto& [key, line] : earlier_)
    rest.push_back(line);
  std::ranges::sort(rest, {}, &line_place::begin);
  if (written)
    written = put(rest);
  if (written)
    written = flush();
  if (!written || is_piped_)
    return written;
  if (auto same = expect_untouched(); !same)
    return same;
  if (auto synced = out_.sync(); !synced)
    return synced;
  if (auto recorded = record(size_, form_); !recorded)
    return recorded;
  return files_.journal.sync();
}

} // namespace superstep::detail
