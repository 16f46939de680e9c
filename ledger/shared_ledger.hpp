// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "batch/job_ledger.hpp"
#include "batch/row_selection.hpp"
#include "ledger_worker.hpp"
#include "line_cipher.hpp"
#include "part_files.hpp"
#include "shared_job.hpp"

#include <superstep/batch/batch.hpp>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace superstep::detail {

/// The ledger of a job that several processes share. Its own thread runs the statements that a
/// ledger_worker chooses. The feeding thread takes rows from it, and the writer thread waits until
/// the rows that it commits are settled.
class shared_ledger final : public job_ledger {
public:
  /// All references must outlive the ledger.
  /// @param db used by the ledger's thread only
  /// @param repeats of the job: the samples of a row follow each other in the ledger
  /// @param must_give_up whether to run no further statement, although rows may not be stored;
  /// called by the ledger's thread
  /// @param parts see part_files; nullopt to store lines in the database
  /// @param cipher encrypts the lines of the job
  /// @param job_now returns the job again, for the summary; called after the thread has ended
  shared_ledger(const shared_job& job, ledger_db& db, const ledger_worker_options& worker,
                const row_repeats& repeats, const batch_options& options,
                std::function<bool()> must_give_up, std::optional<part_files> parts,
                line_cipher cipher, std::function<result<shared_job>()> job_now);
  ~shared_ledger() override;
  shared_ledger(const shared_ledger&) = delete;
  shared_ledger& operator=(const shared_ledger&) = delete;

  /// Starts the thread. Fails if the system has no thread left.
  [[nodiscard]] result<void> start();

  [[nodiscard]] const ledger_facts& facts() const noexcept override { return facts_; }
  /// Those of other processes, as of the last answer of the database, with those of earlier ones.
  [[nodiscard]] row_expenses spent_elsewhere() const override;
  [[nodiscard]] bool is_ready() override;
  [[nodiscard]] result<std::optional<ledger_item>> next() override;
  [[nodiscard]] bool is_at_end() const override;
  [[nodiscard]] bool is_out_of_rows() const override;
  /// A row that is read becomes this worker's, so it must start soon.
  [[nodiscard]] bool can_read_ahead() const override { return false; }
  [[nodiscard]] result<input_row> reread(const row_origin& row) override;
  void complete(batch_progress& now) const override;

  void add_starts(const std::string& /*records*/) override {}
  [[nodiscard]] result<void> add(const finished_row& row) override;
  /// The sums are stored with one of the chunks that this worker holds. If an answer of the
  /// database is lost, they may be stored twice, so that a budget is never exceeded.
  void add_spent(const row_counts& counts) override;
  [[nodiscard]] bool has_pending() const noexcept override {
    return !group_.empty() || group_spent_;
  }
  [[nodiscard]] bool is_full() const noexcept override;
  [[nodiscard]] std::chrono::nanoseconds commit_interval() const override;
  [[nodiscard]] result<void> commit() override;

  [[nodiscard]] result<void> finish() override;
  [[nodiscard]] result<void> verify() const override { return {}; }
  [[nodiscard]] error rescue(const error& why) override;
  void complete(batch_summary& summary) const override;

private:
  /// A row that has ended and is not settled.
  struct end_of_row {
    bool is_dead = false;
    bool is_final = false; ///< see row_end
    std::string line;
    std::string dead;
    chunk_sums sums{};
  };
  /// Rows that are stored, as far as this process knows, and what they have used.
  struct stored_counts {
    std::uint64_t done = 0;
    std::uint64_t dead = 0; ///< failed rows among them
    spent_sums spent{};
  };
  using lock = std::unique_lock<std::mutex>;

  void run();
  void end_thread();
  [[nodiscard]] stored_counts stored() const;
  [[nodiscard]] bool is_over() const;
  void wait(lock& held, ledger_time until);
  void execute(lock& held, const ledger_action& action);
  void lose_statement(const error& why);
  void execute_read(lock& held, const read_action& action);
  void execute_commit(lock& held, const commit_action& action);
  template <class Statement, class Report>
  void execute_statement(lock& held, Statement statement, Report report);
  [[nodiscard]] commit_request request_of(const commit_action& action) const;
  [[nodiscard]] result<std::vector<input_text>> opened(result<std::vector<input_text>> lines) const;
  void forget_settled();
  void note_spent(const std::optional<spent_sums>& spent);
  void settle_spent();
  [[nodiscard]] result<input_row> parse(const row_origin& row, std::string_view text);

  std::string name_; ///< of the job
  ledger_db& db_;
  row_repeats repeats_;
  const batch_options& options_;
  std::function<bool()> must_give_up_;
  std::optional<part_files> parts_;
  line_cipher cipher_;
  std::function<result<shared_job>()> job_now_;
  ledger_facts facts_;
  bool has_foreign_ids_;
  row_parser parser_; ///< used by the feeding thread

  std::vector<std::pair<std::uint64_t, end_of_row>> group_; ///< used by the writer thread
  std::size_t group_bytes_ = 0;                             ///< used by the writer thread
  std::optional<chunk_sums> group_spent_; ///< see add_spent(); used by the writer thread

  mutable std::mutex mutex_; ///< protects the members below
  std::condition_variable changed_;
  std::condition_variable settled_;
  ledger_worker worker_;
  std::unordered_map<std::uint64_t, input_text> texts_; ///< of the rows that are not settled
  std::size_t text_bytes_ = 0;
  std::unordered_map<std::uint64_t, end_of_row> ends_;
  std::optional<chunk_sums> unstored_spent_; ///< committed by the writer thread and not stored
  std::optional<error> failure_;             ///< the first error that ends the job in this process
  std::string absence_;                      ///< why the latest statement had no answer
  stored_counts stored_;                     ///< `spent`: by this process
  spent_sums spent_elsewhere_;
  bool is_stopped_ = false; ///< whether the thread runs no further statement
  std::thread thread_;

  std::optional<result<shared_job>> job_at_end_; ///< set by finish() if the server was available
};

} // namespace superstep::detail
