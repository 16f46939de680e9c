// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/runtime/run_config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep {

struct batch_progress;

/// One row of a batch, ready to run. docs/batch-files.md describes the forms of input lines: native
/// rows, and rows of OpenAI's batch API.
struct row_request {
  std::string key{};       ///< the row's id, unique in its job; also the prefix of its message ids
  message_list messages{}; ///< the conversation so far; may be empty in native rows
  object_box input{};      ///< other members of the state; only native rows have any
  object_box parameters{}; ///< overrides of the model's parameters, from the body of openai rows
  run_config config{};     ///< run_id is the key; the deadline is batch_options::row_deadline
  std::string job{};       ///< id of the job, the same in all its runs: batch_summary::job_id
  /// Number of this sample of the row, from 1. Samples of a row must not share cached answers.
  std::uint32_t sample = 1;
  std::uint32_t attempt = 1; ///< number of starts of the row, including this one, over all runs
  std::optional<std::uint64_t> seed{}; ///< seed for the model; set if the row is repeated
};

/// The error that ended a row.
struct row_error {
  std::string kind; ///< a short stable name: timed_out, model_error, recursion_limit, …
  /// A stable name within the kind, e.g. rate_limited for a model_error; empty: the kind itself.
  std::string code{};
  int http_status = 0;        ///< status of the HTTP answer that reported the error; 0: none
  std::string message;        ///< text for the user
  std::string node;           ///< name of the failed node; empty if none failed
  std::int64_t step = 0;      ///< super-step; 0: before the first
  std::uint32_t attempts = 0; ///< attempts of the node; 0: the row failed before a node ran
  /// Text of the model's last answer if the row failed because of it and `messages` does not
  /// contain it, for example because it was cut. At most row_error_answer_max bytes.
  std::string answer{};
};

/// Maximum size of row_error::answer in bytes. Longer answers are cut there.
inline constexpr std::size_t row_error_answer_max = std::size_t{64} << 10;

/// The kind of a row's end.
enum class row_status : std::uint8_t {
  ok,        ///< the row succeeded
  error,     ///< the row failed; see row_outcome::error
  cancelled, ///< the row was cancelled by running_row::cancel()
};

/// A problem outside the row, because of which the row could not end. The row counts neither as
/// done nor as failed.
struct row_fault {
  /// The consequence for the job.
  enum class kind : std::uint8_t {
    shortage, ///< a shortage of the machine: the row runs again with less concurrency
    /// A checkpoint or recording cannot be written, or a tool cannot be started: the job stops.
    broken,
    quota, ///< the quota of the provider's account is exhausted: the job waits, and the row runs
           ///< again
    overtaken, ///< another process has just run the row: it runs again, without a pause
  };
  kind what = kind::shortage; ///< consequence for the job
  std::string text;           ///< text for the user
};

/// The outcome of a row. After an error, messages and state are those before the error.
struct row_outcome {
  row_status status = row_status::ok; ///< kind of the row's end
  message_list messages;              ///< the whole conversation
  object_box state;                   ///< the rest of the state; written beside `messages`
  std::optional<row_error> error;     ///< set unless status is ok
  std::optional<row_fault> fault;     ///< if set, all other members are ignored
  token_usage usage;                  ///< sum over the row's model calls
  /// Whether the model's server did not report the tokens of a call, so that `usage` is too low.
  bool is_usage_unknown = false;
  /// Cost of the model calls in billionths of a US dollar; nullopt if the prices are not known.
  std::optional<std::int64_t> cost{};
  std::string model;             ///< name of the answering model, for openai output; may be empty
  std::uint32_t steps = 0;       ///< super-steps
  std::uint32_t model_calls = 0; ///< calls of the model
  std::uint32_t tool_calls = 0;  ///< calls of tools, failed ones included
  std::uint32_t failed_tool_calls = 0;              ///< tool calls that were answered with an error
  std::vector<std::chrono::nanoseconds> tool_times; ///< duration of each tool call
  std::chrono::nanoseconds barrier_wait{0}; ///< time that finished tool calls waited for others
};

/// A handle to a submitted row.
class running_row {
public:
  /// Destroys the handle, which does not cancel the row. May be called by any thread.
  virtual ~running_row() = default;
  /// Requests cancellation: the row soon reports its outcome as `cancelled`. Has no effect if the
  /// row has already reported its outcome. May be called by any thread.
  virtual void cancel() noexcept = 0;
};

/// The interface through which run_batch() runs rows. `superstep run` implements it with an agent
/// and an engine. run_batch() calls all members on its own thread, except submit() if can_chain().
class row_runner {
public:
  virtual ~row_runner() = default;
  /// A function that receives the outcome of a row.
  using done_function = std::function<void(row_outcome)>;

  /// Prepares a run of a job. Called once, after the job's files were opened and locked and before
  /// its first row. Does nothing by default.
  /// @param job the id of the job, the same in all its runs
  /// @return an error to end the run before any row starts; run_batch() returns the same error
  [[nodiscard]] virtual result<void> begin_job(const std::string& job);

  /// Whether the thread that ends a row may also call submit() for the next one. Then rows start
  /// without a wake-up of run_batch()'s thread. False by default. Must not change.
  [[nodiscard]] virtual bool can_chain() const noexcept { return false; }

  /// Adds to a progress report what only the runner knows: repeated and waiting calls, and their
  /// latest error, which replaces that of the rows. Does nothing by default.
  virtual void complete(batch_progress& now) const;

  /// Starts a row without waiting for its end. With can_chain(), it may be called by several
  /// threads at the same time, also within a call of another row's `done`.
  /// @param request the row
  /// @param done called exactly once with the outcome, by any thread, possibly before submit()
  /// returns. It is short and does not throw. A row that cannot be started also reports its error
  /// by this call. Instead, submit() may throw std::bad_alloc; the row is then submitted again
  /// @return a handle to cancel the row
  [[nodiscard]] virtual std::unique_ptr<running_row> submit(row_request request,
                                                            done_function done) = 0;
};

} // namespace superstep
