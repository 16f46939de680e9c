// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "files.hpp"

#include <superstep/batch/batch.hpp>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace superstep::testing {

/// Returns the outcome of a row: an echo of its last message, or an error if the text requests one.
inline row_outcome echo(const row_request& request) {
  auto outcome = row_outcome{};
  outcome.messages = request.messages;
  outcome.state = request.input;
  outcome.steps = 1;
  outcome.model_calls = 1;
  outcome.usage.input_tokens = 3;
  outcome.usage.output_tokens = 2;
  outcome.usage.total_tokens = 5;
  auto text = request.messages.empty() ? std::string{} : request.messages.back().content;
  auto answer = ai_message("echo " + text);
  answer.id = request.key + "-1-0";
  outcome.messages.push_back(std::move(answer));
  if (text.find("fail") == std::string::npos)
    return outcome;
  outcome.status = row_status::error;
  outcome.error.emplace();
  outcome.error->kind = "node_failed";
  outcome.error->message = "asked to \"fail\"";
  outcome.error->node = "agent";
  outcome.error->step = 2;
  outcome.error->attempts = 1;
  return outcome;
}

class no_handle final : public running_row {
public:
  void cancel() noexcept override {}
};

/// Finishes every row inside submit() and counts the runs of each key.
class inline_runner final : public row_runner {
public:
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    ++runs[request.key];
    keys.store(runs.size());
    last = request;
    done(echo(request));
    return std::make_unique<no_handle>();
  }

  std::map<std::string, int> runs;  ///< accessed by the feeding thread, or after the job has ended
  std::atomic<std::size_t> keys{0}; ///< size of `runs`, for other threads
  row_request last;
};

/// Holds rows until release(), which reports them from the calling thread.
class held_runner final : public row_runner {
public:
  std::unique_ptr<running_row> submit(row_request request, done_function done) override {
    const auto guard = std::lock_guard{mutex};
    auto entry = std::make_shared<held>();
    entry->request = std::move(request);
    entry->done = std::move(done);
    rows.push_back(entry);
    on_submit(rows.size());
    return std::make_unique<handle>(entry);
  }
  /// Finishes all rows held so far.
  void release() {
    auto now = std::vector<std::shared_ptr<held>>{};
    {
      const auto guard = std::lock_guard{mutex};
      now.swap(rows);
    }
    for (auto& row : now)
      if (auto done = std::exchange(row->done, nullptr))
        done(echo(row->request));
  }

  struct held {
    row_request request;
    done_function done;
  };
  class handle final : public running_row {
  public:
    explicit handle(std::shared_ptr<held> row) : row_{std::move(row)} {}
    void cancel() noexcept override {
      auto outcome = row_outcome{};
      outcome.status = row_status::cancelled;
      if (auto done = std::exchange(row_->done, nullptr))
        done(std::move(outcome));
    }

  private:
    std::shared_ptr<held> row_;
  };

  std::mutex mutex;
  std::vector<std::shared_ptr<held>> rows;
  std::function<void(std::size_t)> on_submit = [](std::size_t) {};
};

/// Records the progress of a job.
class recorded_progress final : public progress_sink {
public:
  std::chrono::milliseconds interval() const noexcept override {
    return std::chrono::milliseconds{0};
  }
  void update(const batch_progress& now) override {
    ++updates;
    last = now;
    on_update(now);
  }
  void note(std::string_view text) override { notes.emplace_back(text); }
  void finish(const batch_progress& now) override { last = now; }

  std::size_t updates = 0;
  batch_progress last;
  std::vector<std::string> notes;
  std::function<void(const batch_progress&)> on_update = [](const batch_progress&) {};
};

/// Returns the lines of a JSONL text by key; `(twice)` is appended to a repeated key.
inline std::map<std::string, json::object> rows_of(const std::string& text) {
  auto out = std::map<std::string, json::object>{};
  auto in = std::istringstream{text};
  for (auto line = std::string{}; std::getline(in, line);) {
    auto row = parse_json(line).value().as_object();
    auto key = std::string{row.if_contains("custom_id") ? row["custom_id"].as_string()
                                                        : row["id"].as_string()};
    for (auto volatile_member : {"wall_ms", "barrier_wait_ms", "attempt", "job_id"})
      row.erase(volatile_member);
    if (!out.emplace(key, row).second)
      out.emplace(key + " (twice)", row);
  }
  return out;
}

/// A folder with an input, and options that run it without delays.
struct job {
  explicit job(std::string_view input_text) {
    write_file(folder / "in.jsonl", input_text);
    options.input = folder / "in.jsonl";
    options.output = folder / "out.jsonl";
    options.sync_interval = std::chrono::milliseconds{0};
    options.fingerprint = {.agent = "a", .tools = "t", .model = "m", .parameters = "p"};
  }

  result<batch_summary> run() { return run_batch(options, runner, progress, stop); }
  [[nodiscard]] std::string file(std::string_view name) const { return read_file(folder / name); }
  [[nodiscard]] std::map<std::string, json::object> output() const {
    return rows_of(file("out.jsonl"));
  }

  temporary_folder folder;
  batch_options options;
  inline_runner runner;
  recorded_progress progress;
  stop_request stop;
};

inline std::string chat_line(std::string_view key, std::string_view text) {
  return R"({"custom_id":")" + std::string{key} + R"(","messages":[{"role":"user","content":")" +
         std::string{text} + "\"}]}\n";
}

/// Returns `count` chat rows, of which every seventh fails.
inline std::string chat_lines(int count) {
  auto out = std::string{};
  for (auto i = 0; i < count; ++i)
    out += chat_line("row-" + std::to_string(i), i % 7 == 6 ? "fail" : "hi " + std::to_string(i));
  return out;
}

} // namespace superstep::testing
