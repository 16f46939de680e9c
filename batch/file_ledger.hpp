// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input_file.hpp"
#include "job_files.hpp"
#include "job_ledger.hpp"
#include "row_source.hpp"
#include "row_view.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace superstep::detail {

/// The ledger of a job in files: the input, the output, the dead letters and the journal.
///
/// recover() relies on the order of writes within a group: journal (started rows), dead letters,
/// sync, output, sync, journal (finished rows), sync. A row counts as done only after the last
/// sync. Then the rows are passed to the view, if the job has one.
///
/// After a disk error, the files are in the same state as after a crash, which recover() repairs.
class file_ledger final : public job_ledger {
public:
  /// All arguments must outlive the ledger.
  /// @param done the finished rows that the input has
  /// @param view the output, if it is derived from the rows file; may be null
  file_ledger(job_files& files, const input_file& input, const input_facts& facts,
              const finished_numbers& done, const batch_options& options, row_view* view);

  [[nodiscard]] const ledger_facts& facts() const noexcept override { return facts_; }

  [[nodiscard]] bool is_ready() override { return source_.is_ready(); }
  [[nodiscard]] result<std::optional<ledger_item>> next() override;
  [[nodiscard]] bool is_at_end() const override { return is_at_end_; }
  [[nodiscard]] bool can_read_ahead() const override { return !source_.groups(); }
  [[nodiscard]] result<input_row> reread(const row_origin& row) override;
  [[nodiscard]] std::shared_ptr<prefix_groups> groups() const override { return source_.groups(); }

  void add_starts(const std::string& records) override { starts_ += records; }
  [[nodiscard]] result<void> add(const finished_row& row) override;
  void add_spent(const row_counts& counts) override { append_spent(done_, counts); }
  [[nodiscard]] bool has_pending() const noexcept override;
  [[nodiscard]] bool is_full() const noexcept override;
  [[nodiscard]] std::chrono::nanoseconds commit_interval() const override;
  [[nodiscard]] result<void> commit() override;

  [[nodiscard]] result<void> finish() override;
  [[nodiscard]] result<void> verify() const override;
  [[nodiscard]] error rescue(const error& why) override;
  using job_ledger::complete;
  void complete(batch_summary& summary) const override;

private:
  [[nodiscard]] bool is_done(const input_item& item);
  [[nodiscard]] result<std::optional<ledger_item>> item_of(input_item&& item);
  [[nodiscard]] result<void> add_bad_line(const finished_row& row);
  [[nodiscard]] result<void> read_json_line(const row_origin& row);
  result<void> place_rest();
  result<void> write_group();
  result<void> put(file& into, std::string& bytes, std::string_view name);
  result<void> put_start_records();
  void step(std::string_view name) const;

  job_files& files_;
  const input_file& input_;
  const input_facts& scanned_;
  const batch_options& options_;
  row_view* view_; ///< null if the output has the whole lines of rows
  ledger_facts facts_;
  row_source source_;
  bool is_at_end_ = false;
  // Bytes of the current group, by file: start records, output, dead letters, records of ends.
  std::string starts_;
  std::string output_;
  std::string dead_;
  std::string done_;
  // Sizes that the files will have after the current group.
  std::uint64_t output_end_;
  std::uint64_t dead_end_;
  // Sizes of the files after the last written group.
  std::uint64_t output_size_;
  std::uint64_t dead_size_;
  std::string input_line_;        ///< the input line of the row that is rendered
  std::vector<written_row> rows_; ///< rows of the current group, for the view
};

/// Stores the paths of the files of a job.
void set_paths(batch_summary& summary, const job_files& files);

} // namespace superstep::detail
