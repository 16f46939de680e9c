// SPDX-License-Identifier: Apache-2.0
// Writes the file of `superstep run --trace`. The spans of a row are kept until the row ends,
// because only then it is known which tool call of a super-step was the last one.
#include "cli/trace_log.hpp"

#include "base/error_words.hpp"
#include "cli/file_start.hpp"

#include <superstep/base/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace superstep::cli {

namespace {

constexpr auto trace_start = std::string_view{
    R"([{"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"superstep)"};

/// Ends the file. The next write replaces it.
constexpr auto trace_end = std::string_view{"\n]\n"};

/// Spans of one row that are kept; a row may make any number of calls.
constexpr auto spans_max = std::size_t{20'000};

/// Tracks of a slot: one for the row, the others for tool calls that run at the same time.
constexpr auto tracks_of_slot = std::size_t{1'000};

constexpr auto trace_flush_bytes = std::size_t{256} * 1024;
constexpr auto trace_flush_every = std::chrono::milliseconds{500};

/// Room for the tracks' names and the last event, below the limit of the file.
constexpr auto reserve_bytes = std::uint64_t{4'096};

/// Returns the id of a track. Track 0 of a slot is that of its rows.
std::size_t track_id(std::size_t slot, std::size_t track) noexcept {
  return (slot + 1) * tracks_of_slot + track;
}

/// Returns nanoseconds as microseconds, the unit of the format.
std::string micros(std::int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1'000, ns % 1'000);
}

/// Appends a complete event. @param args JSON members, may be empty
void append_span(std::string& out, std::size_t thread, std::string_view kind, std::string_view name,
                 std::int64_t begin, std::int64_t end, std::string_view args = {}) {
  out += ",\n{\"name\":";
  append_quoted(out, name);
  out +=
      fmt::format(R"(,"cat":"{}","ph":"X","pid":1,"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", kind,
                  thread, micros(begin), micros(std::max<std::int64_t>(end - begin, 0)), args);
}

void append_text_arg(std::string& out, std::string_view name, std::string_view text) {
  out += out.empty() ? "\"" : ",\"";
  out += name;
  out += "\":";
  append_quoted(out, text);
}

error trace_error(const std::string& path, int number) {
  return {errc::io_failed, "--trace: '" + path + "' cannot be written: " + std::strerror(number) +
                               "; use a path that you may write to"};
}

} // namespace

row_trace::row_trace(trace_log& log, std::string key)
    : log_{log}, key_{std::move(key)}, slot_{log.take_slot()}, begin_{log.now()} {}

/// Whether the row may have one more span.
bool row_trace::has_room() noexcept {
  const auto has = steps_.size() + models_.size() + tools_.size() + instants_.size() < spans_max;
  skipped_ += has ? 0U : 1U;
  return has;
}

void row_trace::end_step(std::int64_t now) {
  if (!steps_.empty() && steps_.back().end < 0)
    steps_.back().end = now;
}

void row_trace::push(detail::run_event event) {
  const auto* const data = event.data.if_object();
  const auto* const kind = data != nullptr ? data->if_contains("event") : nullptr;
  if (event.mode != stream_mode::debug || event.path || kind == nullptr || !kind->is_string())
    return;
  const auto now = log_.now();
  const auto lock = std::scoped_lock{mutex_};
  end_step(now);
  if (kind->get_string() != "step" || !has_room())
    return;
  auto step = step_span{};
  step.number = event.step;
  step.begin = now;
  if (const auto* const active = data->if_contains("activated"); active && active->is_array()) {
    const auto& all = active->get_array();
    if (!all.empty() && all.front().is_string())
      step.tasks = all.front().get_string();
    if (all.size() > 1)
      step.tasks += fmt::format(" and {} more", all.size() - 1);
  }
  steps_.push_back(std::move(step));
}

void row_trace::observe(std::string_view event, std::string_view call_id) {
  const auto now = log_.now();
  const auto lock = std::scoped_lock{mutex_};
  auto& calls = event.starts_with("model_") ? models_ : tools_;
  if (event == "model_start" || event == "tool_start") {
    if (has_room())
      calls.push_back({std::string{call_id}, now, -1});
  } else if (event == "model_end" || event == "tool_end") {
    const auto open = std::ranges::find_if(
        calls, [&](const call_span& one) { return one.end < 0 && one.id == call_id; });
    if (open != calls.end())
      open->end = now;
  } else if (has_room()) {
    instants_.push_back({std::string{event} + ' ' + std::string{call_id}, now});
  }
}

void row_trace::end(std::string_view status, const std::vector<call_time>& tools) {
  const auto now = log_.now();
  const auto lock = std::scoped_lock{mutex_};
  end_step(now);
  for (auto* calls : {&models_, &tools_})
    for (auto& call : *calls)
      if (call.end < 0)
        call.end = now;
  const auto thread = track_id(slot_, 0);
  auto out = std::string{};
  auto args = std::string{};
  append_text_arg(args, "status", status);
  if (skipped_ > 0)
    args += fmt::format(",\"events_not_shown\":{}", skipped_);
  append_span(out, thread, "row", "row " + key_, begin_, now, args);
  for (const auto& step : steps_)
    append_span(out, thread, "step", fmt::format("step {}: {}", step.number, step.tasks),
                step.begin, step.end);
  for (const auto& call : models_)
    append_span(out, thread, "model", "model call " + call.id, call.begin, call.end);
  for (const auto& one : instants_) {
    out += ",\n{\"name\":";
    append_quoted(out, one.name);
    out += fmt::format(R"(,"cat":"note","ph":"i","s":"t","pid":1,"tid":{},"ts":{}}})", thread,
                       micros(one.at));
  }
  log_.add_row(slot_, append_tools(tools, out), out);
}

/// Appends the tool calls. Each track shows one call at a time: a call is assigned to the first
/// track that is free.
/// @return the number of tracks
std::size_t row_trace::append_tools(const std::vector<call_time>& tools, std::string& out) {
  std::ranges::stable_sort(tools_, {}, &call_span::begin);
  auto names = std::map<std::string_view, std::string_view>{};
  for (const auto& tool : tools)
    names.emplace(tool.call_id, tool.tool);
  auto free_at = std::vector<std::int64_t>{}; // by track
  for (const auto& call : tools_) {
    auto track = static_cast<std::size_t>(
        std::ranges::find_if(free_at, [&](auto at) { return at <= call.begin; }) - free_at.begin());
    if (track + 2 >= tracks_of_slot)
      continue;
    if (track == free_at.size())
      free_at.push_back(0);
    const auto step = std::ranges::find_if(steps_, [&](const step_span& one) {
      return one.begin <= call.begin && call.end <= one.end;
    });
    // The calls of a step end at its barrier. The last one keeps the others waiting.
    const auto in_step = [&](const call_span& one) {
      return step->begin <= one.begin && one.end <= step->end;
    };
    const auto last =
        step == steps_.end() ? call.end : std::ranges::max(tools_, {}, [&](const call_span& one) {
                                            return in_step(one) ? one.end : -1;
                                          }).end;
    const auto name = names.find(call.id);
    auto of_call = std::string{};
    append_text_arg(of_call, "call_id", call.id);
    const auto is_alone = step == steps_.end() || std::ranges::count_if(tools_, in_step) < 2;
    if (!is_alone && call.end == last)
      of_call += ",\"straggler\":true";
    append_span(out, track_id(slot_, track + 1), "tool",
                name != names.end() ? name->second : std::string_view{"tool"}, call.begin, call.end,
                of_call);
    free_at[track] = call.end;
    if (is_alone || call.end >= last)
      continue;
    append_span(out, track_id(slot_, track + 1), "barrier", "barrier wait", call.end, last);
    free_at[track] = last;
  }
  return free_at.size();
}

trace_log::~trace_log() {
  if (fd_ >= 0)
    ::close(fd_);
}

result<void> trace_log::set_path(std::string path, std::uint64_t bytes_max) {
  namespace fs = std::filesystem;
  path_ = std::move(path);
  bytes_max_ = bytes_max;
  if (auto checked = check_folder_of("--trace", path_); !checked)
    return checked;
  auto failed = std::error_code{};
  if (!fs::exists(path_, failed))
    return {};
  if (!fs::is_regular_file(path_, failed))
    return error{errc::invalid_argument,
                 "--trace: '" + path_ + "' is not a file; use another path"};
  const auto start = file_start(path_, trace_start.size());
  if (!start || (!start->empty() && *start != trace_start))
    return error{errc::invalid_argument, "--trace: '" + path_ +
                                             "' exists and is not a trace of superstep; it is not "
                                             "overwritten. Use another file"};
  return ::access(path_.c_str(), W_OK) == 0 ? result<void>{} : trace_error(path_, errno);
}

result<void> trace_log::open() {
  constexpr auto owner_only = 0600;
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, owner_only);
  if (fd_ < 0)
    return trace_error(path_, errno);
  opened_ = std::chrono::steady_clock::now();
  flushed_ = opened_;
  buffer_ = std::string{trace_start} + R"("}})";
  const auto lock = std::scoped_lock{mutex_};
  flush();
  return has_failed_ ? trace_error(path_, errno) : result<void>{};
}

result<void> trace_log::close() {
  const auto lock = std::scoped_lock{mutex_};
  if (fd_ < 0)
    return {};
  if (rows_skipped_ > 0)
    buffer_ += fmt::format(
        R"(,{}{{"name":"the trace is full: {} rows are not shown","ph":"i","s":"g","pid":1,"tid":0,"ts":{}}})",
        '\n', rows_skipped_, micros(now()));
  flush();
  if (::close(std::exchange(fd_, -1)) != 0)
    has_failed_ = true;
  if (has_failed_)
    return error{errc::io_failed, "--trace: '" + path_ +
                                      "' is incomplete, because a write failed; check the disk. "
                                      "The results of the job are not affected"};
  return {};
}

std::shared_ptr<row_trace> trace_log::begin_row(std::string key) {
  return std::make_shared<row_trace>(*this, std::move(key));
}

std::int64_t trace_log::now() const noexcept {
  return std::chrono::nanoseconds{std::chrono::steady_clock::now() - opened_}.count();
}

std::size_t trace_log::take_slot() {
  const auto lock = std::scoped_lock{mutex_};
  ++rows_;
  count_rows();
  if (free_slots_.empty())
    return slots_++;
  return free_slots_.extract(free_slots_.begin()).value();
}

/// Adds the number of rows in flight as a counter.
void trace_log::count_rows() {
  if (size_ + buffer_.size() + reserve_bytes <= bytes_max_)
    buffer_ += fmt::format(
        R"(,{}{{"name":"rows in flight","ph":"C","pid":1,"tid":0,"ts":{},"args":{{"rows":{}}}}})",
        '\n', micros(now()), rows_);
}

void trace_log::add_row(std::size_t slot, std::size_t tracks, const std::string& events) {
  const auto lock = std::scoped_lock{mutex_};
  --rows_;
  free_slots_.insert(slot);
  if (fd_ < 0)
    return;
  if (named_tracks_.size() <= slot)
    named_tracks_.resize(slot + 1);
  auto names = std::string{};
  for (auto& track = named_tracks_[slot]; track <= tracks; ++track) {
    const auto thread = track_id(slot, track);
    const auto name = track == 0 ? fmt::format("slot {}", slot + 1)
                                 : fmt::format("slot {} tools {}", slot + 1, track);
    names += fmt::format(
        R"(,{0}{{"name":"thread_name","ph":"M","pid":1,"tid":{1},"args":{{"name":"{2}"}}}},{0}{{"name":"thread_sort_index","ph":"M","pid":1,"tid":{1},"args":{{"sort_index":{1}}}}})",
        '\n', thread, name);
  }
  if (size_ + buffer_.size() + names.size() + events.size() + reserve_bytes > bytes_max_) {
    ++rows_skipped_;
    return;
  }
  buffer_ += names;
  buffer_ += events;
  count_rows();
  const auto time = std::chrono::steady_clock::now();
  if (buffer_.size() >= trace_flush_bytes || time - flushed_ >= trace_flush_every) {
    flushed_ = time;
    flush();
  }
}

/// Writes the buffer over the closing bracket, and a new bracket. If a write fails, nothing more is
/// written.
void trace_log::flush() {
  const auto added = buffer_.size();
  buffer_ += trace_end;
  auto rest = std::string_view{buffer_};
  auto at = size_;
  while (!rest.empty() && !has_failed_) {
    const auto written = ::pwrite(fd_, rest.data(), rest.size(), static_cast<off_t>(at));
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
      at += static_cast<std::uint64_t>(written);
    } else if (written == 0 || errno != EINTR) {
      has_failed_ = true;
    }
  }
  size_ += added;
  buffer_.clear();
}

} // namespace superstep::cli
