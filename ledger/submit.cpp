// SPDX-License-Identifier: Apache-2.0
// Stores the rows of a job in a ledger. Each transaction stores a number of rows and how many there
// are, so that an interrupted submit continues where it stopped.
#include "submit.hpp"

#include "base/ascii_text.hpp"
#include "base/error_words.hpp"
#include "batch/input_file.hpp"
#include "batch/job_changes.hpp"
#include "batch/row_source.hpp"
#include "batch/scan.hpp"
#include "line_cipher.hpp"
#include "schema.hpp"
#include "statements.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::detail {
namespace {

constexpr auto load_bytes_max = std::size_t{32} << 20U; // of a transaction
constexpr auto rows_max = std::uint64_t{100'000'000};
constexpr auto chunks_max = std::uint64_t{1'000'000};

/// The loading of one job.
class loader {
public:
  loader(pg_connection& connection, const shared_job& job, const line_cipher& cipher,
         const submit_options& submit)
      : connection_{connection}, job_{job.number}, stored_{job.rows}, cipher_{cipher},
        submit_{submit} {}

  [[nodiscard]] std::uint64_t stored() const noexcept { return stored_; }

  /// Adds a row, and stores the collected rows if there are enough.
  [[nodiscard]] result<void> add(std::uint64_t line, std::string text) {
    text = cipher_.seal(line_kind::input, stored_ + lines_.size(), std::move(text));
    bytes_ += text.size();
    lines_.push_back(static_cast<std::int64_t>(line));
    texts_.push_back(std::move(text));
    return lines_.size() >= submit_.load_rows || bytes_ >= load_bytes_max ? store()
                                                                          : result<void>{};
  }

  /// Stores the collected rows and their number in one transaction.
  [[nodiscard]] result<void> store() {
    while (!lines_.empty())
      if (auto done = store_once(); !done)
        return done;
    return {};
  }

  /// Divides the rows into chunks and opens the job.
  [[nodiscard]] result<void> open() {
    const auto size = submit_.chunk_rows > 0
                          ? submit_.chunk_rows
                          : chunk_rows_of(stored_, bytes_read_ / std::max(rows_read_, 1UL));
    auto given = pg_parameters{};
    given.add(job_);
    given.add(static_cast<std::int32_t>(size));
    const auto done = run_again(connection_, "select superstep.open_job($1, $2)", given);
    return done ? result<void>{} : done.error();
  }

private:
  /// Stores the collected rows, unless an interrupted submit has just stored some of them: then
  /// these are removed from the collected ones.
  [[nodiscard]] result<void> store_once() {
    auto given = pg_parameters{};
    given.add(job_);
    given.add(static_cast<std::int64_t>(stored_));
    given.add(std::span<const std::int64_t>{lines_});
    const auto texts = std::vector<std::string_view>{texts_.begin(), texts_.end()};
    given.add(std::span<const std::string_view>{texts});
    const auto answer = run_again(connection_, "select superstep.load($1, $2, $3, $4)", given);
    if (!answer)
      return answer.error();
    const auto stored = static_cast<std::uint64_t>(answer->number(0, 0));
    if (stored <= stored_)
      return error{errc::io_failed, "the ledger has lost rows of the job, for example because a "
                                    "replica replaced the server; run the command again"};
    const auto settled = static_cast<std::ptrdiff_t>(std::min(stored - stored_, lines_.size()));
    stored_ = stored;
    rows_read_ += static_cast<std::uint64_t>(settled);
    lines_.erase(lines_.begin(), lines_.begin() + settled);
    texts_.erase(texts_.begin(), texts_.begin() + settled);
    bytes_read_ += bytes_;
    bytes_ = 0;
    return {};
  }

  pg_connection& connection_;
  std::int64_t job_;
  std::uint64_t stored_;
  const line_cipher& cipher_;
  const submit_options& submit_;
  std::vector<std::int64_t> lines_; ///< numbers of the lines of the collected rows
  std::vector<std::string> texts_;  ///< of the collected rows
  std::uint64_t bytes_ = 0;         ///< of these texts
  std::uint64_t rows_read_ = 0;     ///< by this process
  std::uint64_t bytes_read_ = 0;    ///< of the texts of these rows
};

/// Creates an empty job.
result<void> create_job(pg_connection& connection, const std::string& name,
                        const job_header& header, const submit_options& submit) {
  auto given = pg_parameters{};
  const auto text = header_text(header, key_check_of(header.job_id, submit.key));
  given.add(std::string_view{name});
  given.add(std::string_view{header.job_id});
  given.add(header.created);
  given.add(std::string_view{text});
  given.add(std::string_view{submit.agent});
  given.add(static_cast<std::int32_t>(submit.chunk_rows));
  const auto done =
      run_again(connection, "select superstep.create_job($1, $2, $3, $4, $5, $6)", given);
  return done ? result<void>{} : done.error();
}

/// Stores the rows that are not stored yet.
result<void> load(loader& into, const input_file& input, const input_facts& facts,
                  const batch_options& options, const stop_request& stop) {
  auto source = row_source{input, facts, options};
  auto position = std::uint64_t{0};
  while (true) {
    if (stop.current() != stop_request::none)
      return error{errc::cancelled, "stopped while rows were stored; run the command again to "
                                    "continue"};
    auto item = source.next();
    if (!item)
      return item.error();
    if (!*item)
      return into.store();
    if (!(*item)->row)
      return error{errc::parse_failed,
                   "line " + std::to_string((*item)->line.number) +
                       " of the input was changed while it was read: " + (*item)->row.error().text};
    if (position++ < into.stored())
      continue;
    auto text = std::string{(*item)->line.text};
    if (input.format.columns) {
      auto converted = input.format.columns->to_json(text);
      if (!converted)
        return converted.error();
      text = *std::move(converted);
    }
    // The position counts the rows that add() has collected.
    if (auto added = into.add((*item)->line.number, std::move(text)); !added)
      return added;
  }
}

/// Returns the job of this name. Creates it if there is none, and fails if another job has the
/// name.
result<shared_job> job_of(pg_connection& connection, const std::string& name,
                          const job_header& header, const submit_options& submit) {
  auto found = find_shared_job(connection, name);
  if (!found && found.error().code == errc::not_found) {
    auto created = create_job(connection, name, header, submit);
    // Another process may have created a job of this name in the meantime.
    if (!created && !has_sqlstate(created.error(), "23505"))
      return created.error();
    found = find_shared_job(connection, name);
  }
  if (!found)
    return found;
  if (const auto differ = differences(found->header, header); !differ.empty())
    return error{errc::invalid_argument,
                 "the ledger has another job \"" + name + "\" (different: " + differ +
                     "); choose another --job, or remove it with superstep jobs drop"};
  return found;
}

/// Fails unless another process, which has submitted the same job at the same time, has stored all
/// its rows.
result<void> check_submitted_by_other(pg_connection& connection, const shared_job& job,
                                      std::uint64_t rows) {
  const auto now = find_shared_job(connection, job.name);
  if (now && now->number == job.number && now->rows == rows)
    return {};
  return error{errc::invalid_argument, "another process has changed the job \"" + job.name +
                                           "\" while its rows were stored; see superstep jobs "
                                           "show"};
}

} // namespace

std::uint64_t chunk_rows_of(std::uint64_t rows, std::uint64_t row_bytes) noexcept {
  constexpr auto rows_min = std::uint64_t{256};
  constexpr auto rows_of_large_job = std::uint64_t{1'024};
  constexpr auto chunks = std::uint64_t{8'192}; // until the chunks of a job become larger
  constexpr auto bytes_max = std::uint64_t{4} << 20U;
  constexpr auto large_rows_min = std::uint64_t{16};
  const auto by_count = std::clamp(rows / chunks, rows_min, rows_of_large_job);
  const auto by_bytes = std::max(bytes_max / std::max<std::uint64_t>(row_bytes, 1), large_rows_min);
  const auto chosen = std::bit_floor(std::min(by_count, by_bytes));
  return std::max(chosen, std::bit_ceil(rows / chunks_max + 1));
}

result<void> prepare_ledger(pg_connection& connection) {
  const auto rows = connection.run("select to_regclass('superstep.format') is not null, "
                                   "pg_encoding_to_char(encoding) "
                                   "from pg_database where datname = current_database()");
  if (!rows)
    return rows.error();
  if (rows->text(0, 1) != "UTF8")
    return error{errc::invalid_argument, "the database " + connection.name() +
                                             " must have the encoding UTF8, not " +
                                             std::string{rows->text(0, 1)}};
  if (rows->text(0, 0) == "f") {
    auto created = connection.create_objects(std::string{ledger_tables()} + ledger_functions() +
                                             admin_functions() + ledger_grants());
    // Another process may have created the tables in the meantime; its version is checked then.
    if (!created && !has_sqlstate(created.error(), "42P07"))
      return created;
  }
  return check_ledger_format(connection);
}

result<submitted_job> submit_job(pg_connection& connection, const std::string& name,
                                 const batch_options& options, const submit_options& submit,
                                 const stop_request& stop) {
  // `jobs list` and other messages print the name in one line.
  if (std::ranges::any_of(name, is_control))
    return error{errc::invalid_argument,
                 "the name of a job must not contain line breaks or other control characters; "
                 "choose another --job"};
  auto input = open_rows(options, stop);
  if (!input)
    return input.error();
  auto facts =
      scan_input(*input, options, stop, "nothing was submitted; correct or remove these lines");
  if (!facts)
    return facts.error();
  const auto rows = facts->rows.wanted;
  if (rows == 0)
    return error{errc::invalid_argument, "the input has no rows: " + input->name};
  if (rows > rows_max || (submit.chunk_rows > 0 && (rows - 1) / submit.chunk_rows >= chunks_max))
    return error{errc::too_large, "the job has " + std::to_string(rows) + " rows; a ledger takes " +
                                      std::to_string(rows_max) + " rows in " +
                                      std::to_string(chunks_max) +
                                      " chunks. Submit several jobs, or use a larger "
                                      "--chunk-rows"};
  if (auto prepared = prepare_ledger(connection); !prepared)
    return prepared.error();
  auto header = new_header(options, facts->digest, facts->format);
  auto job = job_of(connection, name, header, submit);
  if (!job)
    return job.error();
  auto out = submitted_job{.rows = rows, .rows_before = job->rows};
  const auto is_complete = job->state != shared_job_state::loading;
  if (is_complete ? job->rows != rows : job->rows > rows)
    return error{errc::invalid_argument, "the job \"" + name + "\" was submitted with " +
                                             counted(job->rows, "row") +
                                             ", and this command selects " + std::to_string(rows) +
                                             "; repeat its options, or use another name"};
  if (is_complete) {
    out.was_complete = true;
    return out;
  }
  if (job->key_check.empty() && !submit.key.empty())
    return error{errc::invalid_argument,
                 "the first rows of the job \"" + name +
                     "\" were stored without encryption; unset "
                     "SUPERSTEP_CHECKPOINT_KEY, or remove the job with superstep jobs drop"};
  const auto cipher = cipher_of(*job, submit.key);
  if (!cipher)
    return cipher.error();
  auto into = loader{connection, *job, *cipher, submit};
  auto stored = load(into, *input, *facts, options, stop);
  if (stored)
    stored = expect_unchanged(*input, *facts);
  if (stored)
    stored = into.open();
  // The functions reject the rows of a job that is not being loaded.
  if (!stored && has_sqlstate(stored.error(), "P0001"))
    stored = check_submitted_by_other(connection, *job, rows);
  if (!stored)
    return stored.error();
  return out;
}

} // namespace superstep::detail
