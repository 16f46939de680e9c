// SPDX-License-Identifier: Apache-2.0
// Runs the rows of a job without an agent: each row ends at once with an answer of 400 bytes. It
// shows what a ledger costs. `scripts/soak ledger_rate` starts it.
//
//   ledger_driver file FOLDER         the job of FOLDER/in.jsonl, in files
//   ledger_driver submit URL FOLDER   stores this job in a ledger
//   ledger_driver shared URL          rows of the job in the ledger
//
// Prints the number of rows, the seconds and the microseconds of processor time per row.
#include "ledger/run_shared.hpp"
#include "ledger/submit.hpp"

#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <chrono>
#include <iostream>
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
