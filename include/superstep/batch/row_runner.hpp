// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/run_config.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

/// One row of a batch, ready to run. Owned by whoever runs it.
struct row_request {
  std::string key;       ///< the row's id: what `recorded` looks up and what message ids start with
  message_list messages; ///< the conversation so far; may be empty in native rows
  json::object input;    ///< further state of native rows, `messages` taken out
  json::object parameters; ///< overrides of the model's parameters: the body of OpenAI-shaped rows
  run_config config;       ///< run_id is the key; deadline is batch_options::row_deadline
  std::string job;         ///< names the job over all its runs: batch_summary::job_id
};

/// What ended a row. `kind` is a short stable word (timed_out, model_error, recursion_limit, …).
struct row_error {
  std::string kind;
  std::string message;
  std::string node;      ///< empty: not inside a node
  std::int64_t step = 0; ///< 0: before the first super-step
  std::uint32_t attempts = 1;
};

enum class row_status : std::uint8_t { ok, error, cancelled };

/// A fault outside the row that kept it from ending. Such a row is neither done nor failed.
struct row_fault {
  enum class kind : std::uint8_t {
    shortage, ///< of descriptors, processes or memory: the row runs again, with fewer beside it
    broken,   ///< checkpoints or a recording cannot be written, or a tool cannot be started at all:
              ///< the job stops
  };
  kind what = kind::shortage;
  std::string text;
};

/// How a row ended. With an error, messages and state are what was there when it happened.
struct row_outcome {
  row_status status = row_status::ok;
  message_list messages;          ///< the whole history
  json::object state;             ///< the rest of the state; written beside `messages`
  std::optional<row_error> error; ///< set unless status is ok
  std::optional<row_fault> fault; ///< set: nothing else counts, and the row stays undone
  token_usage usage;              ///< summed over the row's model calls
  std::string model;              ///< what answered, for OpenAI-shaped output; may be empty
  std::uint32_t steps = 0;
  std::uint32_t model_calls = 0;
  std::uint32_t tool_calls = 0;
  std::uint32_t failed_tool_calls = 0; ///< of these, answered with an error
  std::vector<std::chrono::nanoseconds> tool_times; ///< one per tool call, for the percentiles
  std::chrono::nanoseconds barrier_wait{0}; ///< time that finished calls waited for siblings
};

/// A row that was submitted. Destroying it does not end the row.
class running_row {
public:
  virtual ~running_row() = default;
  /// Asks for the end: the row reports `cancelled` soon. No effect once it has reported.
  virtual void cancel() noexcept = 0;
};

/// Runs rows: the agent and its engine in production, a few lines in tests. The batch runner knows
/// nothing else about agents.
class row_runner {
public:
  virtual ~row_runner() = default;
  using done_function = std::function<void(row_outcome)>;

  /// Called once per run of a job, before its first row and after its files are open and locked.
  /// An error ends the run before any row starts. The default does nothing.
  /// @param job the job's id, the same in all its runs
  [[nodiscard]] virtual result<void> begin_job(const std::string& job);

  /// Starts a row. `done` is called exactly once, on any thread, possibly before submit() returns;
  /// it is short and does not throw. submit() itself does not block on the row. A row that cannot
  /// be started reports an error like any other.
  [[nodiscard]] virtual std::unique_ptr<running_row> submit(row_request request,
                                                            done_function done) = 0;
};

} // namespace superstep
