// SPDX-License-Identifier: Apache-2.0
// Runs the rows of a job without an agent: each row ends at once with an answer of 400 bytes. It
// shows what a ledger costs. `scripts/soak ledger_rate` starts it.
//
//   ledger_driver file FOLDER         the job of FOLDER/in.jsonl, in files
//   ledger_driver submit URL FOLDER   stores this job in a ledger
//   ledger_driver shared URL          rows of the job in the ledger
//
// Prints the number of rows, the seconds and the microseconds of processor time per row.
//
//   ledger_driver costs URL JOB BYTES
//
// Stores the rows of a job that no other process runs, with lines of BYTES. Prints the microseconds
// of the server's processor time for a commit and for each row of it, and for a statement that
// reads rows and for each of its rows. The server must run on this machine.
#include "ledger/pg_ledger_db.hpp"
#include "ledger/run_shared.hpp"
#include "ledger/submit.hpp"

#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/resource.h>

namespace {

namespace ss = superstep;

constexpr auto job_name = "rate";

class ended_row final : public ss::running_row {
public:
  void cancel() noexcept override {}
};

/// Ends every row when it starts.
class answering_runner final : public ss::row_runner {
public:
  std::unique_ptr<ss::running_row> submit(ss::row_request request, done_function done) override {
    constexpr auto answer_bytes = std::size_t{400};
    auto out = ss::row_outcome{};
    out.messages = std::move(request.messages);
    out.messages.push_back(ss::ai_message(std::string(answer_bytes, 'x')));
    out.steps = 1;
    out.model_calls = 1;
    done(std::move(out));
    return std::make_unique<ended_row>();
  }
};

class no_progress final : public ss::progress_sink {
public:
  [[nodiscard]] std::chrono::milliseconds interval() const noexcept override {
    return std::chrono::seconds{1};
  }
  void update(const ss::batch_progress&) override {}
  void note(std::string_view) override {}
  void finish(const ss::batch_progress&) override {}
};

double processor_us() {
  auto used = rusage{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(used.ru_utime) + us(used.ru_stime);
}

/// Fits a time for each statement and one for each of its rows to measured times.
class fitted_times {
public:
  void add(std::size_t rows, double us) {
    const auto x = static_cast<double>(rows);
    ++count_;
    x_ += x;
    xx_ += x * x;
    y_ += us;
    xy_ += x * us;
  }
  [[nodiscard]] double per_row() const {
    return (count_ * xy_ - x_ * y_) / (count_ * xx_ - x_ * x_);
  }
  [[nodiscard]] double fixed() const { return (y_ - per_row() * x_) / count_; }

private:
  double count_ = 0, x_ = 0, xx_ = 0, y_ = 0, xy_ = 0;
};

/// Measures statements of a worker in the processor time of its server process.
class statement_costs {
public:
  statement_costs(ss::detail::pg_connection& connection, std::int64_t job, std::size_t bytes)
      : db_{connection, {.job = job, .worker = "costs", .host = "costs", .lease = lease}},
        line_(bytes, 'x') {
    const auto process = connection.run("select pg_backend_pid()");
    if (process)
      times_ = "/proc/" + std::string{process->text(0, 0)} + "/schedstat";
  }

  /// Stores all rows, up to `chunks` chunks at a time, in commits of several sizes.
  void run() {
    constexpr auto chunks = std::uint32_t{16};
    constexpr auto sizes = std::array<std::size_t, 5>{16, 64, 256, 1'024, 2'048};
    auto leased = need(db_.lease(1, false, 0));
    for (auto round = std::uint32_t{0}; !leased.chunks.empty(); ++round) {
      const auto begin = server_us();
      const auto rows = need(db_.read(leased.chunks));
      read_.add(rows.size(), server_us() - begin);
      store(leased.chunks, rows, sizes[round % sizes.size()]);
      leased = need(db_.lease(1 + round % chunks, false, 0));
    }
  }

  void print() const {
    std::cout << fmt::format("{:.1f} {:.3f} {:.1f} {:.3f}\n", commit_.fixed(), commit_.per_row(),
                             read_.fixed(), read_.per_row());
  }

private:
  static constexpr auto lease = std::chrono::milliseconds{60'000};

  template <class Value>
  static Value need(ss::result<Value> from) {
    if (!from)
      throw std::runtime_error{from.error().text};
    return *std::move(from);
  }

  /// Returns the processor time of the server process.
  [[nodiscard]] double server_us() const {
    auto file = std::ifstream{times_};
    auto ns = 0.0;
    if (!(file >> ns))
      throw std::runtime_error{"cannot read " + times_ + ": the server must run on this machine"};
    return ns / 1e3;
  }

  /// Stores the rows of some chunks in commits of `size` rows. Each renews all of these chunks.
  void store(std::vector<ss::detail::leased_chunk> chunks,
             const std::vector<ss::detail::input_text>& rows, std::size_t size) {
    for (auto first = std::size_t{0}; first < rows.size(); first += size) {
      auto request = ss::detail::commit_request{};
      for (const auto& each : chunks)
        request.parts.push_back({.first = each.first, .fence = each.fence, .next = each.bound});
      for (auto i = first; i < std::min(first + size, rows.size()); ++i) {
        auto part = std::size_t{0};
        while (rows[i].row >= chunks[part].bound)
          ++part;
        ++request.parts[part].sums[0];
        request.rows.push_back({.row = rows[i].row, .part = part, .line = line_});
      }
      const auto begin = server_us();
      need(db_.commit(request));
      commit_.add(request.rows.size(), server_us() - begin);
      const auto last = request.rows.back().row;
      std::erase_if(chunks, [last](const auto& each) { return each.bound <= last + 1; });
    }
  }

  ss::detail::pg_ledger_db db_;
  std::string line_;
  std::string times_;
  fitted_times commit_;
  fitted_times read_;
};

int fail(const ss::error& why) {
  std::cerr << why.text << '\n';
  return 1;
}

int run(const std::vector<std::string>& given) {
  auto options = ss::batch_options{};
  options.concurrency = 256;
  const auto stop = ss::stop_request{};
  if (given.at(0) == "submit") {
    auto connection = ss::detail::pg_connection{*ss::detail::check_address(given.at(1), false)};
    options.input = given.at(2) + "/in.jsonl";
    auto submit = ss::detail::submit_options{};
    submit.agent = "-";
    const auto stored = ss::detail::submit_job(connection, job_name, options, submit, stop);
    return stored ? 0 : fail(stored.error());
  }
  if (given.at(0) == "costs") {
    auto connection = ss::detail::pg_connection{*ss::detail::check_address(given.at(1), false)};
    const auto job = ss::detail::find_shared_job(connection, given.at(2));
    if (!job)
      return fail(job.error());
    auto costs = statement_costs{connection, job->number, std::stoul(given.at(3))};
    costs.run();
    costs.print();
    return 0;
  }
  auto runner = answering_runner{};
  auto progress = no_progress{};
  const auto begin = std::chrono::steady_clock::now();
  const auto used = processor_us();
  auto ended = ss::result<ss::batch_summary>{ss::batch_summary{}};
  if (given.at(0) == "file") {
    options.input = given.at(1) + "/in.jsonl";
    options.output = given.at(1) + "/out.jsonl";
    ended = ss::run_batch(options, runner, progress, stop);
  } else {
    const auto address = ss::detail::check_address(given.at(1), false);
    auto shared = ss::detail::shared_run_options{};
    shared.force = true; // the job has no agent
    ended =
        ss::detail::run_shared_batch(*address, job_name, options, shared, runner, progress, stop);
  }
  if (!ended)
    return fail(ended.error());
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin);
  const auto rows = ended->rows_this_run;
  std::cout << fmt::format("{} {:.3f} {:.2f}\n", rows, seconds.count(),
                           (processor_us() - used) /
                               static_cast<double>(std::max(rows, std::uint64_t{1})));
  return 0;
}

} // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
