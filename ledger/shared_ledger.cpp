// SPDX-License-Identifier: Apache-2.0
// Connects a ledger_worker, which decides, with a ledger_db, which acts: a thread runs one
// statement at a time, while rows start and end on other threads.
#include "shared_ledger.hpp"

#include "batch/row_table.hpp"
#include "batch/written_line.hpp"

#include <superstep/base/detail/assert.hpp>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

namespace superstep::detail {
namespace {

// A group of this size is committed at once.
constexpr auto group_bytes_max = std::size_t{8} << 20U;
/// A group exceeds this number by the rows that the writer takes at a time, and should fit into one
/// commit.
constexpr auto group_rows_max = std::size_t{3'072};
// With so many bytes of input lines, the worker leases chunks only when it has run out of rows.
constexpr auto text_bytes_max = std::size_t{64} << 20U;
// The indexes of two sums in chunk_sums.
constexpr auto tokens_sum = std::size_t{7};
constexpr auto cost_sum = std::size_t{9};

ledger_time now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void add_sums(chunk_sums& to, const chunk_sums& more) {
  for (auto i = std::size_t{0}; i < to.size(); ++i)
    to[i] += more[i];
}

void count_spent(spent_sums& to, const chunk_sums& sums) {
  to.cost += sums[cost_sum];
  to.tokens += sums[tokens_sum];
}

ledger_facts facts_of(const shared_job& job) {
  return {.identity = {job.header.job_id, job.header.created},
          .rows = job.rows,
          .wanted = job.rows,
          .ok = job.ok(),
          .dead = job.dead(),
          .bad_lines = 0,
          .counts = counts_of(job.sums),
          .rows_with_failed_calls = static_cast<std::uint64_t>(job.sums.back())};
}

} // namespace

shared_ledger::shared_ledger(const shared_job& job, ledger_db& db,
                             const ledger_worker_options& worker, const row_repeats& repeats,
                             const batch_options& options, std::function<bool()> must_give_up,
                             std::optional<part_files> parts, line_cipher cipher,
                             std::function<result<shared_job>()> job_now)
    : name_{job.name}, db_{db}, repeats_{repeats}, options_{options},
      must_give_up_{std::move(must_give_up)}, parts_{std::move(parts)}, cipher_{std::move(cipher)},
      job_now_{std::move(job_now)}, facts_{facts_of(job)},
      has_foreign_ids_{!job.header.id_field.empty()},
      parser_{row_format{std::nullopt, options.input_template, job.header.id_field}},
      worker_{worker}, stored_{facts_.ok + facts_.dead, facts_.dead},
      spent_elsewhere_{.cost = facts_.counts.cost, .tokens = facts_.counts.total_tokens} {}

shared_ledger::~shared_ledger() {
  if (thread_.joinable()) // the job failed before its first row
    end_thread();
}

result<void> shared_ledger::start() {
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& e) {
    return error{e.code(), "cannot start the ledger's thread (check the process limit, ulimit "
                           "-u): " +
                               e.code().message()};
  }
  return {};
}

// --- the ledger's thread ---

/// Whether no further statement is useful.
bool shared_ledger::is_over() const {
  return is_stopped_ || failure_;
}

void shared_ledger::run() {
  auto held = lock{mutex_};
  while (!is_over() && !must_give_up_()) {
    const auto action = worker_.next(now());
    if (const auto* pause = std::get_if<pause_action>(&action))
      wait(held, pause->until);
    else if (std::holds_alternative<stop_action>(action))
      is_stopped_ = true;
    else
      execute(held, action);
    forget_settled();
    // Another worker runs the rows of the lost chunks again, and cannot count this run of them.
    if (unstored_spent_ && worker_.rows().chunks().empty())
      settle_spent();
  }
  is_stopped_ = true;
  settled_.notify_all();
}

void shared_ledger::wait(lock& held, ledger_time until) {
  constexpr auto longest = std::chrono::milliseconds{200}; // a signal cannot wake the thread
  const auto left = std::min<ledger_time>(until - now(), longest);
  if (left.count() > 0)
    changed_.wait_for(held, left);
}

/// Runs a statement without the lock, and reports its answer to the worker.
template <class Statement, class Report>
void shared_ledger::execute_statement(lock& held, Statement statement, Report report) {
  held.unlock();
  auto answer = statement();
  held.lock();
  if (answer)
    return report(*answer);
  lose_statement(answer.error());
}

/// Handles a statement without an answer.
void shared_ledger::lose_statement(const error& why) {
  if (why.code != errc::io_failed) {
    failure_ = why;
    return;
  }
  absence_ = why.text;
  worker_.failed(now());
}

void shared_ledger::execute(lock& held, const ledger_action& action) {
  if (const auto* lease = std::get_if<lease_action>(&action))
    return execute_statement(
        held, [&] { return db_.lease(lease->count, lease->may_split, lease->starting); },
        [this](const lease_answer& answer) {
          note_spent(answer.spent);
          worker_.leased(answer, now());
        });
  if (const auto* read = std::get_if<read_action>(&action))
    return execute_read(held, *read);
  if (const auto* commit = std::get_if<commit_action>(&action))
    return execute_commit(held, *commit);
  if (const auto* resolve = std::get_if<resolve_action>(&action))
    return execute_statement(
        held, [&] { return db_.resolve(resolve->chunks); },
        [this](const resolve_answer& answer) {
          note_spent(answer.spent);
          worker_.resolved(answer, now());
        });
  if (const auto* release = std::get_if<release_action>(&action)) {
    held.unlock();
    const auto released = db_.release(release->chunks);
    held.lock();
    if (released)
      return worker_.released();
    absence_ = released.error().text;
    return worker_.failed(now());
  }
  const auto with_counts = std::get<beat_action>(action).with_counts;
  execute_statement(
      held, [&] { return db_.beat(with_counts); },
      [this, with_counts](const beat_answer& answer) {
        if (with_counts)
          std::tie(stored_.done, stored_.dead) = std::tie(answer.done, answer.dead);
        note_spent(answer.spent);
        worker_.beaten(answer, now());
      });
}

/// Decrypts the lines of an answer.
result<std::vector<input_text>> shared_ledger::opened(result<std::vector<input_text>> lines) const {
  if (!lines || !cipher_.is_on())
    return lines;
  for (auto& line : *lines) {
    auto text = cipher_.open(line_kind::input, line.row, line.text);
    if (!text)
      return error{text.error().code, "row " + std::to_string(line.row) + " of the job " + name_ +
                                          " cannot be decrypted: it was changed in the database"};
    line.text = *std::move(text);
  }
  return lines;
}

void shared_ledger::execute_read(lock& held, const read_action& action) {
  execute_statement(
      held, [&] { return opened(db_.read(action.chunks)); },
      [this](std::vector<input_text>& lines) {
        // A row of these lines may have ended under an earlier lease while they were read. What is
        // kept of it must go first, or the next run of the row would lose its text.
        forget_settled();
        auto rows = std::vector<std::uint64_t>{};
        rows.reserve(lines.size());
        for (auto& line : lines) {
          rows.push_back(line.row);
          const auto size = line.text.size();
          if (texts_.try_emplace(line.row, std::move(line)).second)
            text_bytes_ += size;
        }
        worker_.read(rows, now());
        worker_.allow_ahead(text_bytes_ < text_bytes_max);
      });
}

/// Adds the lines and sums to a commit.
commit_request shared_ledger::request_of(const commit_action& action) const {
  auto out = commit_request{action.parts, {}};
  if (unstored_spent_)
    add_sums(out.parts.front().sums, *unstored_spent_);
  for (auto part = std::size_t{0}; part < action.parts.size(); ++part) {
    for (const auto row : action.rows[part]) {
      const auto& end = ends_.at(row);
      add_sums(out.parts[part].sums, end.sums);
      out.rows.push_back({.row = row,
                          .part = part,
                          .is_dead = end.is_dead,
                          .is_final = end.is_final,
                          .is_unpriced = end.sums[10] > 0,
                          .has_failed_calls = end.sums.back() > 0,
                          .line = end.line,
                          .dead = end.dead});
    }
  }
  return out;
}

void shared_ledger::execute_commit(lock& held, const commit_action& action) {
  auto request = request_of(action);
  const auto has_spent = unstored_spent_.has_value(); // until then, commit() of the writer waits
  held.unlock(); // the lines stay until their rows are settled, which only this thread does
  auto places = std::deque<std::string>{};
  auto stored = result<void>{};
  if (parts_) {
    for (auto& row : request.rows) {
      const auto& part = request.parts[row.part];
      auto place = parts_->append(part.first, part.fence, row.line);
      stored = place ? result<void>{} : place.error();
      if (!stored)
        break;
      row.line = places.emplace_back(place_text(*place));
      row.is_in_part = true;
    }
    if (stored)
      stored = parts_->sync();
  }
  auto answer = stored ? db_.commit(request) : result<commit_answer>{stored.error()};
  held.lock();
  if (answer) {
    note_spent(answer->spent);
    if (has_spent && answer->parts.front().what == part_answer::verdict::stored) {
      count_spent(stored_.spent, *unstored_spent_);
      settle_spent();
    }
    worker_.committed(*answer, now());
  } else if (stored) {
    lose_statement(answer.error());
  } else {
    failure_ = answer.error();
  }
}

/// Stores what other workers have spent, if an answer contains it.
void shared_ledger::note_spent(const std::optional<spent_sums>& spent) {
  if (spent)
    spent_elsewhere_ = *spent;
}

/// Forgets the sums of add_spent() that are stored, and wakes the writer thread.
void shared_ledger::settle_spent() {
  unstored_spent_.reset();
  worker_.set_extra_sums(false);
  settled_.notify_all();
}

/// Removes what is kept of rows that are settled, and wakes the writer thread.
void shared_ledger::forget_settled() {
  const auto rows = worker_.take_settled();
  for (const auto& row : rows) {
    if (row.is_stored) {
      const auto& end = ends_.at(row.row);
      ++stored_.done;
      stored_.dead += end.is_dead ? 1U : 0U;
      count_spent(stored_.spent, end.sums);
    }
    ends_.erase(row.row);
    if (const auto text = texts_.find(row.row); text != texts_.end()) {
      text_bytes_ -= text->second.text.size();
      texts_.erase(text);
    }
  }
  if (rows.empty())
    return;
  worker_.allow_ahead(text_bytes_ < text_bytes_max);
  settled_.notify_all();
}

// --- the feeding thread ---

row_expenses shared_ledger::spent_elsewhere() const {
  const auto guard = std::lock_guard{mutex_};
  return {.cost = spent_elsewhere_.cost, .tokens = spent_elsewhere_.tokens};
}

bool shared_ledger::is_ready() {
  const auto guard = std::lock_guard{mutex_};
  return worker_.has_row(now()) || is_over();
}

bool shared_ledger::is_at_end() const {
  const auto guard = std::lock_guard{mutex_};
  return is_over();
}

bool shared_ledger::is_out_of_rows() const {
  const auto guard = std::lock_guard{mutex_};
  return worker_.is_out_of_rows();
}

/// Parses the text of a row. The ledger has the text once for each sample, and `row.offset` is the
/// number of the row in it.
result<input_row> shared_ledger::parse(const row_origin& row, std::string_view text) {
  auto parsed = parser_.parse(text, row.line);
  if (!parsed)
    return error{parsed.error().code, "line " + std::to_string(row.line) + " of the job " + name_ +
                                          ": " + parsed.error().text};
  const auto sample = static_cast<std::uint32_t>(row.offset % repeats_.samples) + 1;
  return sample_of(*std::move(parsed), sample, repeats_);
}

result<std::optional<ledger_item>> shared_ledger::next() {
  auto text = std::string{};
  auto origin = row_origin{};
  {
    const auto guard = std::lock_guard{mutex_};
    if (failure_)
      return *failure_;
    const auto row = worker_.take(now());
    if (!row)
      return std::optional<ledger_item>{};
    if (!worker_.has_row(now()))
      changed_.notify_one();
    const auto& kept = texts_.at(*row);
    text = kept.text;
    origin.offset = *row;
    origin.size = text.size();
    origin.line = kept.line;
    origin.attempt = kept.attempt;
  }
  auto row = parse(origin, text);
  if (!row)
    return row.error();
  describe(origin, *row);
  origin.sample = repeats_.samples > 1 ? row->request.sample : 0;
  origin.has_foreign_key = has_foreign_ids_ || row->shape == row_shape::columns;
  return std::optional{ledger_item{std::move(origin), *std::move(row)}};
}

result<input_row> shared_ledger::reread(const row_origin& row) {
  auto text = std::string{};
  {
    const auto guard = std::lock_guard{mutex_};
    text = texts_.at(row.offset).text;
  }
  return parse(row, text);
}

/// Returns what is stored of the job, as far as this process knows.
shared_ledger::stored_counts shared_ledger::stored() const {
  if (job_at_end_ && *job_at_end_) {
    const auto& job = **job_at_end_;
    return {job.ok() + job.dead(),
            job.dead(),
            {.cost = job.sums[cost_sum], .tokens = job.sums[tokens_sum]}};
  }
  auto out = stored_;
  out.spent.cost += spent_elsewhere_.cost;
  out.spent.tokens += spent_elsewhere_.tokens;
  return out;
}

void shared_ledger::complete(batch_progress& progress) const {
  const auto guard = std::lock_guard{mutex_};
  const auto now = stored();
  progress.done = now.done;
  progress.failed = now.dead;
  progress.tokens = now.spent.tokens;
  if (progress.cost || now.spent.cost > 0)
    progress.cost = static_cast<double>(now.spent.cost) / 1e9;
  if (progress.cost && now.done > 0)
    progress.cost_projected =
        *progress.cost * static_cast<double>(progress.rows) / static_cast<double>(now.done);
  if (const auto before = facts_.ok + facts_.dead; now.done > before && progress.rows >= now.done)
    progress.eta_seconds = progress.elapsed_seconds *
                           static_cast<double>(progress.rows - now.done) /
                           static_cast<double>(now.done - before);
  if (worker_.job() == shared_job_state::paused)
    progress.paused = "the job is paused";
  else if (worker_.is_waiting_for_server())
    progress.paused = "the ledger is not available: " + absence_;
}

// --- the writer thread ---

result<void> shared_ledger::add(const finished_row& row) {
  SUPERSTEP_ASSERT(!row.bad_line); // all lines were checked when the job was submitted
  auto end = end_of_row{};
  end.line = row.line;
  end.line.pop_back(); // the newline
  end.line = cipher_.seal(line_kind::output, row.origin.offset, std::move(end.line));
  end.is_dead = row.error.has_value();
  end.sums = sums_of(row.counts, end.is_dead);
  if (end.is_dead) {
    const auto guard = std::lock_guard{mutex_};
    append_dead_line(end.dead, row.origin, texts_.at(row.origin.offset).text, *row.error);
    end.dead.pop_back();
    end.dead = cipher_.seal(line_kind::dead, row.origin.offset, std::move(end.dead));
    end.is_final = !is_kind_retried(row.error->kind);
  }
  group_bytes_ += end.line.size() + end.dead.size();
  group_.emplace_back(row.origin.offset, std::move(end));
  return {};
}

void shared_ledger::add_spent(const row_counts& counts) {
  auto sums = sums_of(counts, false);
  sums.front() = sums.back() = 0; // the row has no output
  if (!group_spent_)
    group_spent_.emplace();
  add_sums(*group_spent_, sums);
}

bool shared_ledger::is_full() const noexcept {
  if (group_bytes_ >= group_bytes_max || group_.size() >= group_rows_max)
    return true;
  // If all rows that run are in the group and none may start, waiting gains nothing.
  const auto guard = std::lock_guard{mutex_};
  return group_.size() == worker_.rows().running() && !worker_.has_row(now());
}

std::chrono::nanoseconds shared_ledger::commit_interval() const {
  const auto guard = std::lock_guard{mutex_};
  return worker_.commit_interval();
}

/// Hands the group to the worker and waits until its rows are settled. If this process does not
/// take part in the job any more, the rows run again on another worker.
result<void> shared_ledger::commit() {
  auto held = lock{mutex_};
  for (auto& [row, end] : group_) {
    ends_.insert_or_assign(row, std::move(end));
    worker_.ended(row);
  }
  worker_.await_commit();
  group_.clear();
  group_bytes_ = 0;
  if (group_spent_) {
    unstored_spent_ = std::exchange(group_spent_, std::nullopt);
    worker_.set_extra_sums(true);
  }
  changed_.notify_one();
  settled_.wait(held, [this] { return is_over() || (ends_.empty() && !unstored_spent_); });
  if (failure_)
    return *failure_;
  return {};
}

// --- after the writer thread has ended ---

void shared_ledger::end_thread() {
  {
    const auto guard = std::lock_guard{mutex_};
    worker_.abandon_running();
    worker_.drain();
    changed_.notify_one();
  }
  thread_.join();
}

result<void> shared_ledger::finish() {
  end_thread();
  if (worker_.has_given_up())
    return {};
  // Otherwise `superstep jobs` would count this process for a minute. If this fails, it does so.
  static_cast<void>(db_.release({}));
  job_at_end_ = job_now_();
  return {};
}

error shared_ledger::rescue(const error& why) {
  return {why.code, why.text + "; stored rows are safe, fix this and run the command again"};
}

void shared_ledger::complete(batch_summary& summary) const {
  const auto guard = std::lock_guard{mutex_};
  summary.output = "the job " + name_;
  summary.retry = retry_command;
  summary.refused = worker_.rows().refused();
  if (worker_.has_given_up() || worker_.job() == shared_job_state::cancelled) {
    summary.code = exit_code::drained;
    summary.stop = {stop_cause::ledger,
                    worker_.has_given_up()
                        ? "the ledger was not available for too long: " + absence_
                        : "the job was cancelled"};
  }
  if (!job_at_end_ || !*job_at_end_) {
    const auto known = stored(); // rows that have ended and are not stored run again
    summary.failed = known.dead;
    summary.ok = known.done - known.dead;
  }
  if (!job_at_end_)
    return;
  const auto& job = *job_at_end_;
  if (!job && summary.stop.cause == stop_cause::none) {
    summary.code = exit_code::drained; // the rows of other workers may have failed
    summary.stop = {stop_cause::ledger,
                    "the rows of other processes could not be counted: " + job.error().text};
  }
  if (!job)
    return;
  summary.ok = job->ok();
  summary.failed = job->dead();
  summary.rows_with_failed_calls = static_cast<std::uint64_t>(job->sums.back());
  set_counts(summary, counts_of(job->sums));
}

} // namespace superstep::detail
