// SPDX-License-Identifier: Apache-2.0
// Writes the file of `superstep run --events`. Lines are buffered and written at intervals, so that
// the log slows calls down as little as possible.
#include "cli/event_log.hpp"

#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "batch/file.hpp"
#include "cli/file_start.hpp"

#include <superstep/base/json.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

/// Longest text of a rejected answer in the log.
constexpr auto answer_bytes_max = std::size_t{4 * 1024};

constexpr auto line_start = std::string_view{"{\"row\":"};

/// Whether the file may be overwritten: it does not exist, is empty, is an earlier event log, or is
/// a device.
bool is_replaceable(const std::string& path) {
  auto failed = std::error_code{};
  if (!std::filesystem::is_regular_file(path, failed))
    return true; // it does not exist, or is a device
  const auto start = file_start(path, line_start.size());
  return start &&
         line_start.starts_with(*start); // also true for a file that is shorter than line_start
}

bool is_writable(const std::string& path) {
  namespace fs = std::filesystem;
  auto failed = std::error_code{};
  if (fs::exists(path, failed))
    return !fs::is_directory(path, failed) && ::access(path.c_str(), W_OK) == 0;
  // The path is a symbolic link to a file that does not exist. event_log::open() creates the file.
  if (fs::is_symlink(path, failed))
    return true;
  const auto folder = fs::path{path}.parent_path();
  return ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
}

/// Whether the path is a FIFO without a reader. Opening it would wait forever.
bool has_no_reader(const std::string& path) {
  auto failed = std::error_code{};
  if (!std::filesystem::is_fifo(path, failed))
    return false;
  const auto fd = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  const auto code = errno;
  if (fd >= 0)
    ::close(fd);
  return fd < 0 && code == ENXIO;
}

/// Returns the time of day in UTC with milliseconds, in the form of RFC 3339.
std::string time_text() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     now.time_since_epoch().count() % 1'000);
}

/// Appends the members that not every event has.
void append_details(std::string& line, const call_event& event) {
  if (!event.tool.empty()) {
    line += ",\"tool\":";
    append_quoted(line, event.tool);
  }
  if (event.attempt != 0)
    line += fmt::format(",\"attempt\":{}", event.attempt);
  if (event.is_separate)
    line += ",\"request\":\"response\"";
  if (!event.error.empty()) {
    line += ",\"error\":";
    append_quoted(line, event.error);
  }
  if (event.event == "model_rejected") {
    line += ",\"answer\":";
    append_quoted(line, shortened(event.answer, answer_bytes_max));
  }
  if (event.status.empty())
    return;
  line += fmt::format(",\"status\":\"{}\",\"wall_ms\":{}.{:03}", event.status,
                      event.took / std::chrono::milliseconds{1},
                      event.took / std::chrono::microseconds{1} % 1'000);
  if (event.usage != nullptr)
    line += fmt::format(R"(,"usage":{{"input_tokens":{},"output_tokens":{},"total_tokens":{}}})",
                        event.usage->input_tokens, event.usage->output_tokens,
                        event.usage->total_tokens);
}

/// Whether the file is the event log of the job: its first line names the job.
bool is_log_of(const std::string& path, std::string_view job) {
  auto failed = std::error_code{};
  if (!std::filesystem::is_regular_file(path, failed))
    return false;
  constexpr auto line_bytes_max = std::size_t{64} << 10U;
  auto start = std::string(line_bytes_max, '\0');
  auto in = std::ifstream{path, std::ios::binary};
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(std::min(static_cast<std::size_t>(in.gcount()), start.find('\n')));
  const auto line = parse_json(start);
  if (!line || !line->is_object())
    return false;
  const auto* const id = line->get_object().if_contains("job_id");
  return id != nullptr && id->is_string() && std::string_view{id->get_string()} == job;
}

/// Removes the incomplete last line that a killed process may have left.
result<void> remove_torn_line(const std::string& path) {
  auto log = detail::file::open_regular(path, O_RDWR);
  if (!log)
    return log.error();
  const auto size = log->size();
  if (!size)
    return size.error();
  constexpr auto block_bytes = std::uint64_t{64} << 10U;
  auto block = std::string{};
  for (auto end = *size; end > 0;) {
    const auto begin = end - std::min(end, block_bytes);
    if (auto read = log->read_at(begin, static_cast<std::size_t>(end - begin), block); !read)
      return read;
    if (const auto found = block.rfind('\n'); found != std::string::npos) {
      const auto complete = begin + found + 1;
      return complete == *size ? result<void>{} : log->cut(complete);
    }
    end = begin;
  }
  return {};
}

error not_writable(const std::string& path) {
  return {errc::io_failed,
          "--events: '" + path + "' cannot be written; use a path that you may write to"};
}

} // namespace

result<void> event_log::set_path(std::string path) {
  path_ = std::move(path);
  if (!is_replaceable(path_))
    return error{errc::invalid_argument, "--events: '" + path_ +
                                             "' exists and is not an event log; it is not "
                                             "overwritten. Use another file"};
  if (auto checked = check_folder_of("--events", path_); !checked)
    return checked;
  if (!is_writable(path_))
    return not_writable(path_);
  if (has_no_reader(path_))
    return error{errc::invalid_argument,
                 "--events: no process reads the FIFO '" + path_ + "'; start its reader first"};
  return {};
}

result<void> event_log::open(const std::string& job) {
  // Create the file with open(2). A stream would create a file that all users can read.
  if (const auto fd = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600); fd >= 0)
    ::close(fd);
  const auto is_resumed = is_log_of(path_, job);
  if (is_resumed)
    if (auto removed = remove_torn_line(path_); !removed)
      return removed;
  file_.open(path_, is_resumed ? std::ios::app : std::ios::trunc);
  if (!file_)
    return not_writable(path_);
  job_ = job;
  return {};
}

void event_log::add(std::string_view row, std::uint32_t row_attempt, const call_event& event) {
  constexpr auto flush_every = std::int64_t{500'000'000};
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  auto line = std::string{line_start};
  append_quoted(line, row);
  line += fmt::format(",\"row_attempt\":{},\"event\":", row_attempt);
  append_quoted(line, event.event);
  line += ",\"call_id\":";
  append_quoted(line, event.call_id);
  line += ",\"time\":\"" + time_text() + "\",\"t_ns\":" + std::to_string(now);
  append_details(line, event);
  const auto lock = std::scoped_lock{mutex_};
  if (!job_.empty()) { // the first line of this run
    line += ",\"job_id\":";
    append_quoted(line, job_);
    job_.clear();
  }
  file_ << line << "}\n";
  if (now - flushed_ >= flush_every) { // a user may watch the file with `tail -f`
    file_.flush();
    flushed_ = now;
  }
}

result<void> event_log::close() {
  const auto lock = std::scoped_lock{mutex_};
  if (!file_.is_open())
    return {};
  file_.close();
  if (!file_)
    return error{errc::io_failed,
                 "--events: '" + path_ +
                     "' is incomplete, because a write failed; check the disk. The "
                     "results of the job are not affected"};
  return {};
}

} // namespace superstep::cli
