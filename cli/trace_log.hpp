// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/base/error.hpp>
#include <superstep/tools/tool.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::cli {

class trace_log;

/// Collects the spans of one row. It belongs to the row's run, and writes its spans to the trace
/// when the row ends.
/// @par Threads
/// All members may be called by any thread.
class row_trace final : public detail::event_sink {
public:
  row_trace(trace_log& log, std::string key);
  /// Receives the starts and barriers of super-steps.
  void push(detail::run_event event) override;
  /// Receives the calls of models and tools; see agent_context::observe.
  void observe(std::string_view event, std::string_view call_id);
  /// Ends the row and writes its spans.
  /// @param status for example `ok` or the kind of the error
  /// @param tools names of the tools that were called, by id of the call
  void end(std::string_view status, const std::vector<call_time>& tools);

private:
  /// One call of a model or tool.
  struct call_span {
    std::string id;
    std::int64_t begin = 0;
    std::int64_t end = -1; ///< -1: has not ended
  };
  /// One super-step.
  struct step_span {
    std::int64_t number = 0;
    std::string tasks;
    std::int64_t begin = 0;
    std::int64_t end = -1;
  };
  /// Another event, such as `tool_discarded`.
  struct instant {
    std::string name;
    std::int64_t at = 0;
  };

  void end_step(std::int64_t now);
  [[nodiscard]] bool has_room() noexcept;
  std::size_t append_tools(const std::vector<call_time>& tools, std::string& out);

  std::mutex mutex_;
  trace_log& log_;
  std::string key_;
  std::size_t slot_ = 0;
  std::int64_t begin_ = 0;
  std::vector<step_span> steps_;
  std::vector<call_span> models_;
  std::vector<call_span> tools_;
  std::vector<instant> instants_;
  std::uint64_t skipped_ = 0; ///< spans beyond the limit of a row
};

/// A file in Chrome's trace event format (JSON array form), which Perfetto and chrome://tracing
/// open. Format: "Trace Event Format", Google, docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQ.
///
/// A row in flight has a slot. A slot has one track for its rows, super-steps and model calls, and
/// further tracks for the tool calls that run at the same time. The file is valid JSON after each
/// write, and has at most the given size. Rows that do not fit are counted.
/// @par Threads
/// All members except set_path(), open() and close() may be called by any thread.
class trace_log {
public:
  trace_log() = default;
  trace_log(const trace_log&) = delete;
  trace_log& operator=(const trace_log&) = delete;
  ~trace_log();

  /// Sets the path and the maximum size. Fails if the path cannot be written, or is an existing
  /// file that is not a trace.
  [[nodiscard]] result<void> set_path(std::string path, std::uint64_t bytes_max);
  /// Clears the trace of an earlier run, or creates the file so that only its owner can read it.
  [[nodiscard]] result<void> open();
  /// Writes what is buffered. Fails if a write failed.
  [[nodiscard]] result<void> close();
  /// Starts the trace of a row.
  [[nodiscard]] std::shared_ptr<row_trace> begin_row(std::string key);
  /// Number of rows that are not in the file because it is full.
  [[nodiscard]] std::uint64_t rows_skipped() const noexcept { return rows_skipped_; }

private:
  friend class row_trace;

  /// Returns the nanoseconds since open().
  [[nodiscard]] std::int64_t now() const noexcept;
  [[nodiscard]] std::size_t take_slot();
  /// Adds the events of a row that has ended, and frees its slot.
  /// @param tracks number of tracks of the row for tool calls
  void add_row(std::size_t slot, std::size_t tracks, const std::string& events);
  void add(const std::string& event);
  void count_rows();
  void flush();

  std::mutex mutex_;
  std::string path_;
  std::uint64_t bytes_max_ = 0;
  int fd_ = -1;
  std::chrono::steady_clock::time_point opened_{};
  std::chrono::steady_clock::time_point flushed_{};
  std::string buffer_;      // events that are not written yet, each with a comma in front
  std::uint64_t size_ = 0;  // bytes before the closing bracket
  bool has_failed_ = false; // whether a write failed
  std::uint64_t rows_skipped_ = 0;
  std::set<std::size_t> free_slots_;
  std::size_t slots_ = 0;                 // slots ever used
  std::size_t rows_ = 0;                  // rows in flight
  std::vector<std::size_t> named_tracks_; // by slot: tracks whose names were written
};

} // namespace superstep::cli
