// SPDX-License-Identifier: Apache-2.0
// Batch jobs end to end, on fake runners: output, dead letters, resume, limits, drain, abort,
// invalid input.
#include "job_fixture.hpp"
#include "support/file_size_limit.hpp"

#include <superstep/batch/batch.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <vector>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(batch)

using namespace superstep;
using namespace superstep::testing;

BOOST_AUTO_TEST_CASE(job_writes_output_dead_letters_and_summary) {
  auto job = testing::job{chat_lines(20)};
  auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 2);
  BOOST_TEST(summary->ok == 18U);
  BOOST_TEST(summary->failed == 2U);
  BOOST_TEST(summary->left() == 0U);
  BOOST_TEST(summary->model_calls == 20U);
  BOOST_TEST(summary->total_tokens == 100);
  BOOST_TEST(summary->row_times.count() == 20U);
  auto rows = job.output();
  BOOST_TEST(rows.size() == 20U);
  BOOST_TEST(rows["row-3"]["status"].as_string() == "ok");
  BOOST_TEST(rows["row-6"]["status"].as_string() == "error");
  auto dead = rows_of(job.file("out.dead.jsonl"));
  BOOST_TEST(dead.size() == 2U);
  BOOST_TEST(dead["row-6"]["error"].at("kind").as_string() == "node_failed");
  auto written = parse_json(job.file("out.summary.json")).value();
  BOOST_TEST(written.at("rows").at("ok").as_int64() == 18);
  BOOST_TEST(written.at("exit_code").as_int64() == 2);
}

BOOST_AUTO_TEST_CASE(job_without_failures_has_no_dead_letter_file) {
  auto job = testing::job{chat_lines(5)};
  BOOST_TEST(static_cast<int>(job.run().value().code) == 0);
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
}

BOOST_AUTO_TEST_CASE(rerun_of_finished_job_runs_nothing) {
  auto job = testing::job{chat_lines(20)};
  BOOST_TEST(job.run().has_value());
  auto before = job.file("out.jsonl");
  job.runner.runs.clear();
  auto again = job.run();
  BOOST_REQUIRE(again.has_value());
  BOOST_TEST(again->already_finished);
  BOOST_TEST((again->code == exit_code::dead_rows)); // as in the first run
  BOOST_TEST(again->ok == 18U);
  BOOST_TEST(has(to_text(*again), "nothing to do"));
  BOOST_TEST(job.runner.runs.empty());
  BOOST_TEST(job.file("out.jsonl") == before);
}

BOOST_AUTO_TEST_CASE(dead_letter_file_as_input_reruns_failed_rows) {
  auto first = testing::job{chat_lines(20)};
  BOOST_TEST(first.run().has_value());
  auto second = testing::job{first.file("out.dead.jsonl")};
  auto summary = second.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->rows == 2U);
  // The rows fail again, and each dead letter contains one error, not both.
  auto letters = rows_of(second.file("out.dead.jsonl"));
  BOOST_TEST(letters.size() == 2U);
  BOOST_TEST(letters["row-6"].size() == 3U);
  BOOST_TEST(letters["row-6"]["error"].at("line").as_int64() == 1);
}

BOOST_AUTO_TEST_CASE(row_without_id_gets_line_number_as_id) {
  auto first = testing::job{"\n"
                            R"({"messages":[{"role":"user","content":"fine"}]})"
                            "\n"
                            R"({"messages":[{"role":"user","content":"fail"}]})"
                            "\n"};
  BOOST_REQUIRE(first.run().has_value());
  auto rows = rows_of(first.file("out.jsonl"));
  BOOST_REQUIRE(rows.size() == 2U);
  BOOST_TEST(rows["2"]["id"].as_string() == "2");
  BOOST_TEST(rows["2"]["status"].as_string() == "ok");
  auto second = testing::job{first.file("out.dead.jsonl")};
  BOOST_REQUIRE(second.run().has_value());
  BOOST_TEST(second.runner.runs.contains("3"));
}

BOOST_AUTO_TEST_CASE(job_stopped_by_row_limit_completes_on_rerun) {
  auto job = testing::job{chat_lines(6)};
  job.options.limit = 4;
  auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 0);
  BOOST_TEST(summary->left() == 2U);
  job.options.limit = 1; // less than the rows that are done
  BOOST_REQUIRE(job.run().has_value());
  BOOST_TEST(job.progress.last.done == 4U);
  BOOST_TEST(job.progress.last.rows == 4U);
  job.options.limit.reset();
  summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->rows_this_run == 2U);
  BOOST_TEST(summary->resumed == 4U);
  BOOST_TEST(job.output().size() == 6U);
  for (auto& [key, count] : job.runner.runs)
    BOOST_TEST(count == 1, key << " ran " << count << " times");
}

BOOST_AUTO_TEST_CASE(rows_in_flight_never_exceed_the_concurrency) {
  auto job = testing::job{chat_lines(40)};
  auto runner = held_runner{};
  auto most = std::size_t{0};
  runner.on_submit = [&](std::size_t held) { most = std::max(most, held); };
  job.options.concurrency = 4;
  auto releaser = std::jthread{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      runner.release();
      std::this_thread::yield();
    }
  }};
  auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->ok + summary->failed == 40U);
  BOOST_TEST(most <= 4U);
  BOOST_TEST(job.progress.last.done == 40U);
  BOOST_TEST(job.progress.last.in_flight == 0U);
}

BOOST_AUTO_TEST_CASE(drain_finishes_started_rows_and_starts_no_more) {
  auto job = testing::job{chat_lines(40)};
  auto runner = held_runner{};
  job.options.concurrency = 3;
  runner.on_submit = [&](std::size_t held) {
    if (held == 3)
      job.stop.request();
  };
  job.progress.on_update = [&](const batch_progress& now) {
    if (now.draining)
      runner.release();
  };
  auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->ok == 3U);
  BOOST_TEST(summary->left() == 37U);
  BOOST_TEST(has(job.file("out.summary.json"), "drained"));
}

BOOST_AUTO_TEST_CASE(rows_cancelled_by_abort_run_again_on_resume) {
  auto job = testing::job{chat_lines(10)};
  auto runner = held_runner{};
  job.options.concurrency = 3;
  runner.on_submit = [&](std::size_t held) {
    if (held == 3) {
      job.stop.request();
      job.stop.request();
    }
  };
  auto summary = run_batch(job.options, runner, job.progress, job.stop);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 3);
  BOOST_TEST(summary->left() == 10U);
  BOOST_TEST(job.file("out.jsonl").empty());
  auto fresh = stop_request{};
  summary = run_batch(job.options, job.runner, job.progress, fresh);
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->left() == 0U);
  BOOST_TEST(has(job.file("out.jsonl"), "\"attempt\":2"));
}

BOOST_AUTO_TEST_CASE(changed_agent_fingerprint_is_rejected_unless_forced) {
  auto job = testing::job{chat_lines(4)};
  job.options.limit = 2;
  BOOST_TEST(job.run().has_value());
  job.options.limit.reset();
  job.options.fingerprint.model = "another";
  job.options.fingerprint.tools = "others";
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "(changed: tools, model);"));
  job.options.force = true;
  auto forced = job.run();
  BOOST_REQUIRE(forced.has_value());
  BOOST_TEST(forced->rows_this_run == 2U);
  BOOST_REQUIRE(!job.progress.notes.empty());
  BOOST_TEST(has(job.progress.notes.front(),
                 "the job has changed (tools, model), and --force resumes it: 2 rows that are "
                 "done will not run again and keep the earlier results. --fresh runs all"));
  job.options.force = false;
  BOOST_TEST(job.run().value().already_finished);
}

BOOST_AUTO_TEST_CASE(changed_keys_of_agent_file_are_named) {
  auto job = testing::job{chat_lines(4)};
  auto& print = job.options.fingerprint;
  print.keys = {{"prompt", "\"a\""}, {"tools.0.command.argv", "[]"}, {"limits.rpm", "1"}};
  BOOST_TEST(job.run().has_value());
  print.keys = {{"prompt", "\"b\""}, {"limits.rpm", "2"}, {"model.temperature", "0.5"}};
  BOOST_TEST(job.run().has_value()); // the digests decide
  print.agent = "another";
  print.tools = "none";
  print.model = "warmer";
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "(changed: agent (prompt), tools "
                                       "(tools.0.command.argv), model (model.temperature));"),
             refused.error().text);
  print.keys = {{"prompt", "\"a\""}, {"tools.0.command.argv", "[]"}};
  print.agent = "a";
  print.tools = "t";
  const auto other_file = job.run();
  BOOST_REQUIRE(!other_file.has_value());
  BOOST_TEST(has(other_file.error().text,
                 "(changed: model (the content of a file that the agent file names))"));
}

BOOST_AUTO_TEST_CASE(changed_input_is_rejected_unless_forced) {
  auto job = testing::job{chat_lines(4)};
  BOOST_TEST(job.run().has_value());
  write_file(job.options.input, chat_lines(6));
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "(changed: input)"), refused.error().text);
  job.options.force = true;
  BOOST_TEST(job.run().value().rows_this_run == 2U);
  BOOST_TEST(job.output().size() == 6U);
}

BOOST_AUTO_TEST_CASE(forced_job_with_fewer_rows_reports_earlier_rows) {
  auto job = testing::job{chat_lines(6)};
  BOOST_TEST(job.run().has_value());
  write_file(job.options.input, chat_lines(2) + chat_line("new", "hi"));
  job.options.force = true;
  const auto summary = job.run().value();
  BOOST_TEST(summary.rows_this_run == 1U);
  const auto note = std::ranges::find_if(
      job.progress.notes, [](const auto& text) { return text.starts_with("resumed: "); });
  BOOST_REQUIRE((note != job.progress.notes.end()));
  BOOST_TEST(*note == "resumed: 2 of 3 rows done; the files also have 4 rows of an earlier input");
  BOOST_TEST(has(to_text(summary), "3 rows: 7 ok, 0 failed, 6 done before this run (4 of an "
                                   "earlier input)"),
             to_text(summary));
}

// The journal counts rows of both inputs, so numbers alone do not show what is left.
BOOST_AUTO_TEST_CASE(forced_job_runs_each_row_of_a_changed_input) {
  const auto other_lines = [](int from, int to) {
    auto out = std::string{};
    for (auto i = from; i < to; ++i)
      out += chat_line("other-" + std::to_string(i), "hi");
    return out;
  };
  auto job = testing::job{chat_lines(5)};
  BOOST_TEST(job.run().value().left() == 0U);
  write_file(job.options.input, chat_line("row-1", "hi") + other_lines(0, 4));
  job.options.force = true;
  job.options.limit = 2;
  const auto part = job.run().value();
  BOOST_TEST(part.rows_this_run == 1U); // the first of the two rows was done
  BOOST_TEST(part.left() == 3U);
  job.options.limit.reset();
  job.options.force = false;
  const auto all = job.run().value();
  BOOST_TEST(all.rows_this_run == 3U);
  BOOST_TEST(all.left() == 0U);
  BOOST_TEST(all.other == 4U);
  BOOST_TEST(job.run().value().rows_this_run == 0U);
  BOOST_TEST(job.output().size() == 9U);
}

BOOST_AUTO_TEST_CASE(line_in_dead_letters_is_not_run_with_a_higher_limit) {
  auto job = testing::job{chat_line("long", std::string(300, 'x')) + chat_lines(3)};
  job.options.bad_lines = on_bad_line::dead_letter;
  job.options.line_bytes_max = 200;
  job.options.limit = 2;
  BOOST_TEST(job.run().value().rows_this_run == 1U);
  job.options.limit.reset();
  job.options.line_bytes_max = 2'000;
  const auto rest = job.run().value();
  BOOST_TEST(rest.rows_this_run == 2U);
  BOOST_TEST(rest.bad_lines == 1U);
  BOOST_TEST(job.output().size() == 3U);
}

BOOST_AUTO_TEST_CASE(finished_row_is_not_repeated_with_a_lower_limit) {
  auto job = testing::job{chat_line("long", std::string(300, 'x')) + chat_lines(3)};
  job.options.bad_lines = on_bad_line::dead_letter;
  job.options.limit = 2;
  BOOST_TEST(job.run().value().rows_this_run == 2U);
  job.options.limit.reset();
  job.options.line_bytes_max = 200;
  const auto rest = job.run().value();
  BOOST_TEST(rest.rows_this_run == 2U);
  BOOST_TEST(rest.bad_lines == 0U);
  BOOST_TEST(rest.left() == 0U);
  BOOST_TEST(job.output().size() == 4U);
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
}

BOOST_AUTO_TEST_CASE(existing_output_without_journal_requires_fresh_option) {
  auto job = testing::job{chat_lines(4)};
  write_file(job.folder / "out.jsonl", "precious\n");
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "--fresh"));
  BOOST_TEST(job.file("out.jsonl") == "precious\n");
  job.options.fresh = true;
  BOOST_TEST(job.run().has_value());
  BOOST_TEST(job.output().size() == 4U);
  BOOST_TEST(job.file("out.jsonl.old-1") == "precious\n");
  BOOST_TEST(job.run().has_value());
  BOOST_TEST(rows_of(job.file("out.jsonl.old-2")).size() == 4U);
  BOOST_TEST(std::filesystem::exists(job.folder / "out.journal.old-2"));
}

BOOST_AUTO_TEST_CASE(fresh_option_moves_nothing_without_earlier_job) {
  auto job = testing::job{chat_lines(4)};
  job.options.fresh = true;
  BOOST_TEST(job.run().has_value());
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.journal.old-1"));
}

BOOST_AUTO_TEST_CASE(job_locked_by_another_process_is_rejected) {
  auto job = testing::job{chat_lines(4)};
  BOOST_TEST(job.run().has_value());
  auto fd = ::open((job.folder / "out.journal").c_str(), O_RDWR);
  BOOST_TEST(::flock(fd, LOCK_EX) == 0);
  auto refused = job.run();
  ::close(fd);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "another process is running the job"));
}

BOOST_AUTO_TEST_CASE(invalid_line_becomes_one_dead_letter_across_reruns) {
  auto text = chat_line("a", "1") + "{broken\n\n" + chat_line("a", "2") + "{\"id\":\"\xFF\"}\n" +
              chat_line("b", "3");
  auto job = testing::job{text};
  job.options.bad_lines = on_bad_line::dead_letter;
  job.options.limit = 1;
  BOOST_TEST(job.run().has_value());
  job.options.limit.reset();
  auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(static_cast<int>(summary->code) == 2);
  BOOST_TEST(summary->ok == 2U);
  BOOST_TEST(summary->bad_lines == 3U);
  BOOST_TEST(summary->left() == 0U);
  BOOST_TEST(job.output().size() == 2U);
  auto dead = job.file("out.dead.jsonl");
  BOOST_TEST(std::count(dead.begin(), dead.end(), '\n') == 3);
  BOOST_TEST(has(dead, R"({"text":"{broken")"));
  BOOST_TEST(has(dead, R"("kind":"duplicate_key")"));
  BOOST_TEST(has(dead, R"("line":5})"));
  BOOST_TEST(job.run().value().already_finished);
}

struct bad_input {
  std::string_view name;
  std::string text;
  std::string_view expected;
};
std::ostream& operator<<(std::ostream& out, const bad_input& c) {
  return out << c.name;
}

const auto bad_inputs = std::vector<bad_input>{
    {"broken JSON", chat_line("a", "1") + "{\"custom_id\":\n", "line 2: not JSON"},
    {"a duplicate id", chat_line("a", "1") + "\n" + chat_line("a", "2"),
     R"(line 3: the row id "a" is already used on line 1; give each row its own id)"},
    {"a duplicate member", chat_line("a", "1") + R"({"id":"b","stars":[],"stars":1,"messages":[]})",
     R"(line 2: duplicate member "stars")"},
    {"damaged gzip data", "\x1f\x8b\b\n\xff\n",
     "ends in the middle of its gzip data; nothing was run"},
    {"UTF-16", std::string{"\xff\xfe{\0\n\0}\0", 8}, "is UTF-16, not UTF-8; convert it"},
    {"bytes that are not UTF-8", chat_line("a", "1") + chat_line("b", "\xC3\x28"),
     "line 2: is not UTF-8"},
    {"an id that is no text", R"({"id":7,"messages":[{"role":"user","content":"x"}]})",
     R"(line 1: "id" must be)"},
    {"a line number that is another row's id",
     R"({"id":"2","messages":[{"role":"user","content":"x"}]})"
     "\n"
     R"({"messages":[{"role":"user","content":"y"}]})",
     R"(line 2: the row id "2" is already used on line 1; give each row its own id)"},
    {"a line that is too long", chat_line("a", "1") + chat_line("b", std::string(5000, 'x')),
     "line 2: the line has 5059 bytes, more than the 1000 that --max-line-bytes allows"},
    {"another shape", chat_line("a", "1") + R"({"id":"b","input":{}})",
     "line 2: a native row in a file that begins with a chat row"},
    {"a bare value", "3\n", "line 1: must be a JSON object"},
};

BOOST_DATA_TEST_CASE(invalid_input_is_reported_before_any_row_runs,
                     boost::unit_test::data::make(bad_inputs), c) {
  auto job = testing::job{c.text};
  job.options.line_bytes_max = 1000;
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, c.expected), refused.error().text);
  BOOST_TEST(job.runner.runs.empty());
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.jsonl"));
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.journal"));
}

BOOST_AUTO_TEST_CASE(error_lists_20_invalid_lines_and_counts_all) {
  auto text = std::string{};
  for (auto i = 0; i < 50; ++i)
    text += "?\n";
  auto job = testing::job{text};
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "has 50 invalid lines"));
  BOOST_TEST(has(refused.error().text, "line 20:"));
  BOOST_TEST(!has(refused.error().text, "line 21:"));
  BOOST_TEST(has(refused.error().text, "and 30 more"));
}

BOOST_AUTO_TEST_CASE(changed_prices_are_noted_when_a_job_is_resumed) {
  auto job = testing::job{chat_lines(4)};
  const auto run = [&](const std::string& prices, std::uint64_t limit) {
    job.options.fingerprint.keys = {{"price.m", prices}, {"prices.m", prices}};
    job.options.limit = limit;
    job.progress.notes.clear();
    BOOST_REQUIRE(job.run().has_value());
    return std::ranges::any_of(job.progress.notes, [](const std::string& note) {
      return note.starts_with("the prices of the model have changed since the start");
    });
  };
  BOOST_TEST(!run("1 2", 1));
  BOOST_TEST(!run("1 2", 2));
  BOOST_TEST(run("1 3", 3));
}

BOOST_AUTO_TEST_CASE(error_lists_wrong_encoding_once) {
  auto text = chat_line("a", "1") + "?\n";
  for (auto i = 0; i < 50; ++i)
    text += chat_line("b" + std::to_string(i), "caf\xE9");
  auto job = testing::job{text + "?\n"};
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  const auto& error = refused.error().text;
  BOOST_TEST(has(error, "has 52 invalid lines"), error);
  BOOST_TEST(has(error, "line 3: is not UTF-8: byte 0xE9 at offset "), error);
  BOOST_TEST(has(error, "; convert it, for example with iconv -f latin1 -t utf-8\n"
                        "    49 further lines are not UTF-8 either\n  line 53: "),
             error);
  BOOST_TEST(std::ranges::count(error, '\n') == 4);
}

BOOST_AUTO_TEST_CASE(unusable_input_and_output_paths_are_rejected) {
  auto job = testing::job{chat_lines(3)};
  auto expect = [&](std::string_view part) {
    auto refused = job.run();
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(has(refused.error().text, part), refused.error().text);
  };
  const auto good = job.options;
  job.options.input = job.folder / "missing.jsonl";
  expect("missing.jsonl: No such file");
  job.options.input = job.folder / ".";
  expect("Is a directory");
  job.options = good;
  job.options.output = job.folder / ".";
  expect("is a directory; specify a file in it");
  job.options.output = "/dev/full";
  expect("cannot write /dev/full: it is not a regular file");
  job.options.output = job.folder / "no-such-folder/out.jsonl";
  expect("--output: the folder " + (job.folder / "no-such-folder") +
         " does not exist; create it first");
  job.options.output = good.input + "/out.jsonl";
  expect("--output: " + good.input + " is not a folder; use another path");
  job.options.output = job.options.input;
  expect("the output and the input are the same file");
  BOOST_TEST(job.runner.runs.empty());
}

// SIGXFSZ would kill the process; here it becomes an error, and finished rows are kept.
BOOST_AUTO_TEST_CASE(job_resumes_after_reaching_file_size_limit) {
  auto job = testing::job{chat_lines(60)};
  {
    const auto limit = file_size_limit{9000};
    auto failed = job.run();
    BOOST_REQUIRE(!failed.has_value());
    BOOST_TEST(has(failed.error().text, "File too large"), failed.error().text);
    BOOST_TEST(has(failed.error().text, "fix this and rerun to resume"));
  }
  auto done_before =
      rows_of(job.file("out.jsonl").substr(0, job.file("out.jsonl").rfind('\n') + 1));
  job.runner.runs.clear();
  auto summary = job.run();
  BOOST_REQUIRE(summary.has_value());
  BOOST_TEST(summary->left() == 0U);
  BOOST_TEST(!done_before.empty());
  for (const auto& [key, row] : done_before)
    BOOST_TEST(job.runner.runs.count(key) == 0U, key << " ran again");
  BOOST_TEST(job.output().size() == 60U);
}

BOOST_AUTO_TEST_CASE(job_that_cannot_open_its_files_advises_rerun) {
  auto job = testing::job{chat_lines(3)};
  const auto failed = [&] {
    const auto limit = file_size_limit{10}; // like a full disk
    return job.run();
  }();
  BOOST_REQUIRE(!failed.has_value());
  BOOST_TEST(has(failed.error().text, "cannot write "), failed.error().text);
  BOOST_TEST(has(failed.error().text, "fix this and rerun to resume"), failed.error().text);
  BOOST_TEST(job.run().has_value());
}

BOOST_AUTO_TEST_CASE(rows_are_read_from_a_pipe) {
  auto job = testing::job{""};
  const auto pipe = job.folder / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  auto feeder = std::jthread{[&] { write_file(pipe, chat_lines(9)); }};
  job.options.input = pipe;
  BOOST_TEST(job.run().value().rows == 9U);
  BOOST_TEST(job.output().size() == 9U);
}

BOOST_AUTO_TEST_CASE(job_can_be_stopped_before_pipe_has_writer) {
  auto job = testing::job{""};
  const auto pipe = job.folder / "pipe";
  BOOST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  job.options.input = pipe;
  job.stop.request();
  BOOST_TEST(job.run().value().stop.text == "stopped on request");
}

BOOST_AUTO_TEST_CASE(truncated_output_is_rejected_on_resume) {
  auto job = testing::job{chat_lines(9)};
  job.options.limit = 5;
  BOOST_TEST(job.run().has_value());
  write_file(job.folder / "out.jsonl", "");
  auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, " bytes, but the job has written "));
}

BOOST_AUTO_TEST_CASE(runner_receives_deadline_and_recursion_limit_of_options) {
  auto job = testing::job{chat_lines(1)};
  job.options.row_deadline = std::chrono::milliseconds{1234};
  job.options.recursion_limit = 7;
  BOOST_TEST(job.run().has_value());
  BOOST_TEST(job.runner.last.config.deadline.value().count() == 1234);
  BOOST_TEST(job.runner.last.config.recursion_limit == 7U);
  BOOST_TEST(job.runner.last.config.run_id == "row-0");
}

// Rows would fail one by one, wait forever, or ignore the option.
BOOST_AUTO_TEST_CASE(options_out_of_range_are_rejected) {
  using std::chrono::milliseconds;
  const auto wrong = std::vector<std::function<void(batch_options&)>>{
      [](auto& o) { o.concurrency = 0; },
      [](auto& o) { o.line_bytes_max = 0; },
      [](auto& o) { o.ready_rows_max = 0; },
      [](auto& o) { o.write_queue_max = 0; },
      [](auto& o) { o.recursion_limit = 0; },
      [](auto& o) { o.row_deadline = milliseconds{-1}; },
      [](auto& o) { o.sync_interval = milliseconds{-1}; },
      [](auto& o) { o.shortage_wait = milliseconds{-1}; },
      [](auto& o) { o.failure_drain = milliseconds{-1}; },
      [](auto& o) { o.time = nullptr; }};
  for (const auto& spoil : wrong) {
    auto job = testing::job{chat_lines(2)};
    spoil(job.options);
    const auto summary = job.run();
    BOOST_TEST_REQUIRE(summary.has_error());
    BOOST_TEST((summary.error().code == errc::invalid_argument));
    BOOST_TEST(!std::filesystem::exists(job.folder / "out.jsonl"));
  }
}

BOOST_AUTO_TEST_SUITE_END()
