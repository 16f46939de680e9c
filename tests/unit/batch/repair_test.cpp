// SPDX-License-Identifier: Apache-2.0
// Batch files that were damaged, replaced or belong to another job: nothing is destroyed and no row
// is lost.
#include "batch/journal.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(repair)

namespace {

using namespace superstep;
using namespace superstep::testing;
namespace fs = std::filesystem;

bool has_note(const job& of, std::string_view part) {
  return std::ranges::any_of(of.progress.notes, [&](const auto& note) { return has(note, part); });
}

std::vector<std::string> lines_of(const std::string& text) {
  auto out = std::vector<std::string>{};
  auto in = std::istringstream{text};
  for (auto line = std::string{}; std::getline(in, line);)
    out.push_back(line);
  return out;
}

/// A job of 16 rows, of which two fail, and an invalid line; `done` rows have run, or all if it
/// is 0.
std::unique_ptr<job> begun_job(std::uint64_t done) {
  auto out = std::make_unique<job>(chat_lines(16) + "no row\n");
  out->options.bad_lines = on_bad_line::dead_letter;
  if (done > 0)
    out->options.limit = done;
  BOOST_TEST(out->run().has_value());
  out->options.limit.reset();
  out->runner.runs.clear();
  out->progress.notes.clear();
  return out;
}

/// Runs the rest; no row in `finished` may run again, and the output must be complete.
void finish_and_check(job& given, const std::map<std::string, json::object>& finished) {
  auto summary = given.run();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  auto whole = job{chat_lines(16) + "no row\n"};
  whole.options.bad_lines = on_bad_line::dead_letter;
  BOOST_TEST(whole.run().has_value());
  BOOST_TEST((given.output() == whole.output()));
  BOOST_TEST(lines_of(given.file("out.dead.jsonl")).size() == 3U);
  BOOST_TEST(summary->ok == 14U);
  BOOST_TEST(summary->failed == 3U);
  for (const auto& [key, row] : finished)
    BOOST_TEST(given.runner.runs.count(key) == 0U, key << " had finished and ran again");
}

} // namespace

BOOST_AUTO_TEST_CASE(damaged_journal_is_repaired_from_output) {
  const auto lines = lines_of(begun_job(9)->file("out.journal")).size();
  BOOST_TEST(lines > 12U);
  for (auto line = std::size_t{1}; line < lines; ++line) // all lines but the header
    for (const auto count : {std::size_t{1}, std::size_t{3}}) {
      auto job = begun_job(9);
      const auto finished = job->output();
      auto text = job->file("out.journal");
      auto at = std::size_t{0};
      for (auto i = std::size_t{0}; i < line; ++i)
        at = text.find('\n', at) + 1;
      for (auto i = std::size_t{0}; i < count && at < text.size(); ++i) {
        text[at + 12] = static_cast<char>(text[at + 12] ^ 4);
        at = text.find('\n', at) + 1;
      }
      write_file(job->folder / "out.journal", text);
      BOOST_TEST_CONTEXT("line " << line + 1 << ", " << count << " lines") {
        finish_and_check(*job, finished);
        if (line + count < lines) { // damage at the end is repaired silently, like after a crash
          BOOST_TEST(has_note(*job, "out.journal:" + std::to_string(line + 1) + ": "));
          BOOST_TEST(job->file("out.journal.damaged-1") == text);
        }
        job->progress.notes.clear();
        BOOST_TEST(job->run().value().already_finished);
        BOOST_TEST(job->progress.notes.empty()); // repaired without a note
      }
    }
}

BOOST_AUTO_TEST_CASE(damaged_journal_header_is_rejected_unless_forced) {
  auto job = begun_job(9);
  const auto finished = job->output();
  auto text = job->file("out.journal");
  text[20] = '#';
  write_file(job->folder / "out.journal", text);
  auto refused = job->run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "out.journal:1: the header is damaged"),
             refused.error().text);
  BOOST_TEST(has(refused.error().text, "--force"));
  BOOST_TEST(job->file("out.journal") == text);
  job->options.force = true;
  finish_and_check(*job, finished);
}

BOOST_AUTO_TEST_CASE(non_journal_file_is_rejected_and_unchanged) {
  for (const auto* content :
       {"mine\n", "mine", "{}\n", "deadbeef [\"jobs\"]\n", "12345678 my list\n"}) {
    auto job = testing::job{chat_lines(2)};
    write_file(job.folder / "out.journal", content);
    auto refused = job.run();
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(has(refused.error().text, "is not the journal of a job"), refused.error().text);
    BOOST_TEST(job.file("out.journal") == content);
    BOOST_TEST(job.runner.runs.empty());
    BOOST_TEST(!fs::exists(job.folder / "out.jsonl"));
    job.options.fresh = true;
    BOOST_TEST(job.run().has_value());
    BOOST_TEST(job.file("out.journal.old-1") == content);
    BOOST_TEST(has_note(job, "out.jsonl.old-1"));
  }
}

BOOST_AUTO_TEST_CASE(job_without_valid_journal_changes_no_existing_file) {
  auto job = testing::job{chat_lines(2)};
  write_file(job.folder / "out.jsonl", "precious\n");
  write_file(job.folder / "out.journal", "");
  BOOST_TEST(has(job.run().error().text, "out.journal does not exist or is empty"));
  BOOST_TEST(fs::exists(job.folder / "out.journal")); // the job did not create it
  write_file(job.folder / "out.journal", "mine\n");
  BOOST_TEST(has(job.run().error().text, "out.journal is not the journal of a job"));
  BOOST_TEST(job.file("out.journal") == "mine\n");
  fs::remove(job.folder / "out.journal");
  BOOST_TEST(!job.run().has_value());
  BOOST_TEST(!fs::exists(job.folder / "out.journal"));
  BOOST_TEST(job.file("out.jsonl") == "precious\n");
}

BOOST_AUTO_TEST_CASE(summary_of_job_never_overwrites_another_file) {
  auto job = testing::job{chat_lines(2)};
  for (const auto* content : {"{}", "mine\n", R"({"run_id":"x"})"}) {
    write_file(job.folder / "out.summary.json", content);
    job.options.fresh = false;
    job.options.limit = 1;
    BOOST_TEST(job.run().has_value());
    BOOST_TEST(has_note(job, "is not the summary of a job"));
    BOOST_TEST(job.file("out.summary.json.old-1") == content);
    for (const auto& entry : fs::directory_iterator{job.folder / "."})
      if (entry.path().filename() != "in.jsonl")
        fs::remove(entry.path());
  }
  write_file(job.folder / "out.summary.json.tmp", "mine");
  job.options.limit.reset();
  BOOST_TEST(job.run().has_value());
  BOOST_TEST(job.file("out.summary.json.tmp") == "mine");
}

BOOST_AUTO_TEST_CASE(lines_not_written_by_job_are_moved_aside) {
  for (const auto* name : {"out.jsonl", "out.dead.jsonl"})
    for (const auto* added : {"# my notes\n", "no end", "{\"id\": broken}\n{\"id\":\"x\"}\n"}) {
      auto job = begun_job(9);
      const auto finished = job->output();
      write_file(job->folder / name, job->file(name) + added);
      BOOST_TEST_CONTEXT(name << " with " << added) {
        finish_and_check(*job, finished);
        BOOST_TEST(job->file(std::string{name} + ".cut-1") == added);
        BOOST_TEST(has_note(*job, ".cut-1"));
      }
    }
}

namespace {

enum class harm : std::uint8_t { remove, replace, truncate, append };

void harm_file(const std::string& path, harm how) {
  if (how == harm::remove || how == harm::replace)
    fs::remove(path);
  if (how == harm::replace)
    write_file(path, "another file\n");
  if (how == harm::truncate)
    fs::resize_file(path, 1);
  if (how == harm::append)
    write_file(path, read_file(path) + "more\n");
}

} // namespace

BOOST_AUTO_TEST_CASE(running_job_fails_when_its_file_is_damaged) {
  for (const auto* name : {"out.jsonl", "out.dead.jsonl", "out.journal"})
    for (const auto how : {harm::remove, harm::replace, harm::truncate, harm::append})
      for (const auto is_last : {false, true}) {
        if (std::string_view{name} == "out.journal" && how >= harm::truncate)
          continue; // such damage is detected only when the job is resumed
        auto job = std::make_unique<testing::job>(chat_lines(16));
        auto steps = 0;
        job->options.on_disk_step = [&](std::string_view step) {
          // Damage the file after the first failed row, or while the last group is written.
          const auto is_due = is_last ? job->runner.keys.load() == 16 && step == "journal"
                                      : step == "journal" && job->runner.keys.load() >= 8;
          if (is_due && fs::exists(job->folder / name) && ++steps == (is_last ? 3 : 1) * 3)
            harm_file(job->folder / name, how);
        };
        job->options.sync_interval = std::chrono::milliseconds{is_last ? 1000 : 0};
        auto ended = job->run();
        if (steps < 3)
          continue; // all rows were written as one group, so nothing was damaged
        BOOST_TEST_CONTEXT(name << ", harm " << static_cast<int>(how) << ", last " << is_last) {
          if (ended.has_value()) {
            BOOST_TEST(is_last); // only damage after the last check may stay undetected
            continue;
          }
          BOOST_TEST(has(ended.error().text, name), ended.error().text);
          BOOST_TEST(has(ended.error().text, "rows of the missing lines") ==
                     (how == harm::truncate));
          BOOST_TEST(has(ended.error().text, "remove what was added") == (how == harm::append));
          if (how == harm::remove)
            BOOST_TEST(fs::exists(job->folder / name));
          if (how == harm::replace)
            fs::rename(job->folder / (std::string{name} + ".rescued-1"), job->folder / name);
          job->options.on_disk_step = nullptr;
          job->options.force = how == harm::truncate || how == harm::append;
          auto again = job->run();
          BOOST_REQUIRE_MESSAGE(again.has_value(), again.error().text);
          auto whole = testing::job{chat_lines(16)};
          BOOST_TEST(whole.run().has_value());
          BOOST_TEST((job->output() == whole.output()));
        }
      }
}

namespace {

/// Makes every further write to a file of this process fail with EBADF, and nothing else.
void make_read_only(const std::string& path) {
  for (const auto& entry : fs::directory_iterator{"/proc/self/fd"}) {
    auto failed = std::error_code{};
    if (fs::read_symlink(entry.path(), failed) != path)
      continue;
    const auto reader = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ::dup2(reader, std::stoi(entry.path().filename()));
    ::close(reader);
    return;
  }
}

} // namespace

// The file is whole, so the advice must not be that for a file with missing lines.
BOOST_AUTO_TEST_CASE(write_error_advises_rerun_without_force) {
  constexpr auto files = std::array<std::pair<const char*, std::string_view>, 3>{
      {{"out.jsonl", "output"}, {"out.dead.jsonl", "dead"}, {"out.journal", "journal"}}};
  for (const auto& [name, before] : files) {
    auto job = std::make_unique<testing::job>(chat_lines(16));
    auto is_done = false;
    job->options.on_disk_step = [&, name = name, before = before](std::string_view step) {
      if (step == before && !std::exchange(is_done, true))
        make_read_only(job->folder / name);
    };
    const auto failed = job->run();
    BOOST_TEST_CONTEXT(name) {
      BOOST_REQUIRE(!failed.has_value());
      BOOST_TEST(has(failed.error().text, std::string{"cannot write "}), failed.error().text);
      BOOST_TEST(has(failed.error().text, "finished rows are safe, fix this and rerun to resume"));
      BOOST_TEST(!has(failed.error().text, "--force"), failed.error().text);
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_of_lost_lines_rerun_only_with_force) {
  for (const auto keep : {0U, 1U, 4U}) {
    auto job = begun_job(9);
    auto kept = std::string{};
    const auto lines = lines_of(job->file("out.jsonl"));
    for (auto i = 0U; i < keep; ++i)
      kept += lines[i] + '\n';
    write_file(job->folder / "out.jsonl", kept);
    auto refused = job->run();
    BOOST_REQUIRE(!refused.has_value());
    BOOST_TEST(has(refused.error().text, "--force"));
    BOOST_TEST(job->file("out.jsonl") == kept);
    job->options.force = true;
    finish_and_check(*job, rows_of(kept));
  }
}

BOOST_AUTO_TEST_CASE(retry_dead_option_runs_only_failed_rows_again) {
  auto job = begun_job(0);
  const auto ok_before = job->output().size();
  BOOST_TEST(ok_before == 16U);
  job->options.retry_dead = true;
  finish_and_check(*job, {}); // the failed rows fail again; no row appears twice
  BOOST_TEST(job->runner.runs.size() == 2U);
  BOOST_TEST(has_note(*job, "2 of 2 failed rows run again"));
  // The attempts of earlier runs count, also after another start.
  BOOST_TEST(job->runner.last.attempt == 2U);
  finish_and_check(*job, {});
  BOOST_TEST(job->runner.last.attempt == 3U);
  auto attempts = std::map<std::string, std::int64_t>{};
  for (const auto& line : lines_of(job->file("out.jsonl"))) {
    const auto row = parse_json(line).value();
    attempts[std::string{row.at("status").as_string()}] = row.at("attempt").as_int64();
  }
  BOOST_TEST(attempts["ok"] == 1);
  BOOST_TEST(attempts["error"] == 3);
}

// The letter is about a line of an earlier input.
BOOST_AUTO_TEST_CASE(retry_dead_option_runs_row_whose_line_was_invalid) {
  auto job = testing::job{chat_lines(2) + "no row\n"};
  job.options.bad_lines = on_bad_line::dead_letter;
  BOOST_TEST(job.run().value().bad_lines == 1U);
  write_file(job.options.input, chat_lines(2) + chat_line("late", "fail"));
  job.options.force = true;
  BOOST_TEST(job.run().value().rows_this_run == 1U);
  job.options.force = false;
  job.options.retry_dead = true;
  const auto again = job.run().value();
  BOOST_TEST(job.runner.runs["late"] == 2U);
  BOOST_TEST(again.left() == 0U);
  BOOST_TEST(job.output().size() == 3U);
}

BOOST_AUTO_TEST_CASE(line_that_was_invalid_with_another_id_field_runs) {
  auto lines = std::string{R"({"k":"a",)"} + chat_line("one", "hi").substr(1);
  lines += chat_line("two", "hi");
  auto job = testing::job{lines};
  job.options.bad_lines = on_bad_line::dead_letter;
  job.options.id_field = "k";
  BOOST_TEST(job.run().value().bad_lines == 1U);
  job.options.id_field.clear();
  job.options.force = true;
  static_cast<void>(job.run().value());
  BOOST_TEST(job.runner.runs["two"] == 1U);
}

BOOST_AUTO_TEST_CASE(retry_dead_option_needs_an_earlier_job) {
  auto job = testing::job{chat_lines(3)};
  job.options.retry_dead = true;
  const auto refused = job.run();
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(has(refused.error().text, "no earlier job at " + job.options.output),
             refused.error().text);
  BOOST_TEST(job.runner.runs.empty());
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.journal"));
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.jsonl"));
}

// A rebuild may be killed between the renames of its files.
BOOST_AUTO_TEST_CASE(journal_rebuild_killed_midway_is_repeated) {
  const auto failed_lines_dropped = [](const std::string& text) {
    auto out = std::string{};
    for (const auto& line : lines_of(text))
      if (!has(line, "asked to"))
        out += line + '\n';
    return out;
  };
  for (const auto drops_output : {false, true})
    for (const auto drops_dead : {false, true})
      for (const auto records : {0U, 3U}) {
        auto job = begun_job(0);
        auto journal = job->file("out.journal");
        detail::append_rebuild(journal);
        for (auto i = 0U; i < records; ++i) // the first records at the end of a rebuild
          detail::append_ok(journal, "row-" + std::to_string(i), 10 + i, {});
        write_file(job->folder / "out.journal", journal);
        const auto finished = rows_of(failed_lines_dropped(job->file("out.jsonl")));
        if (drops_output)
          write_file(job->folder / "out.jsonl", failed_lines_dropped(job->file("out.jsonl")));
        if (drops_dead)
          write_file(job->folder / "out.dead.jsonl",
                     failed_lines_dropped(job->file("out.dead.jsonl")));
        BOOST_TEST_CONTEXT(drops_output << drops_dead << records) {
          finish_and_check(*job, finished);
        }
      }
}

// Another process may rename the journal while this one waits for its lock, as --fresh does.
BOOST_AUTO_TEST_CASE(journal_renamed_while_waiting_for_lock_is_not_used) {
  auto job = testing::job{chat_lines(3)};
  write_file(job.folder / "out.journal", "");
  const auto other = ::open((job.folder / "out.journal").c_str(), O_RDWR | O_CLOEXEC);
  BOOST_TEST_REQUIRE(::flock(other, LOCK_EX) == 0);
  auto renaming = std::thread{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    fs::rename(job.folder / "out.journal", job.folder / "out.journal.old-1");
    ::close(other);
  }};
  const auto summary = job.run();
  renaming.join();
  BOOST_REQUIRE_MESSAGE(summary.has_value(), summary.error().text);
  BOOST_TEST(fs::file_size(job.folder / "out.journal.old-1") == 0U);
  BOOST_TEST(job.run().value().already_finished);
}

/// Runs the job in a child process of a user who cannot remove files from its folder.
BOOST_AUTO_TEST_CASE(summary_that_cannot_be_removed_stops_job) {
  auto job = testing::job{chat_lines(3)};
  job.options.limit = 2;
  BOOST_TEST(job.run().has_value());
  const auto folder = fs::path{job.options.input}.parent_path();
  for (const auto& entry : fs::directory_iterator{folder})
    fs::permissions(entry.path(), fs::perms::all);
  fs::permissions(folder, fs::perms{0555});
  const auto child = ::fork();
  if (child == 0) {
    constexpr auto other_user = 54'322U;
    if (::geteuid() == 0 && ::setuid(other_user) != 0)
      ::_exit(77);
    job.options.limit.reset();
    const auto stopped = job.run();
    ::_exit(!stopped && has(stopped.error().text, "cannot remove") ? 0 : 1);
  }
  auto status = 0;
  BOOST_REQUIRE(child > 0 && ::waitpid(child, &status, 0) == child);
  fs::permissions(folder, fs::perms::owner_all);
  BOOST_TEST_REQUIRE(WIFEXITED(status));
  BOOST_TEST((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
  BOOST_TEST(fs::exists(job.folder / "out.summary.json"));
  BOOST_TEST(job.output().size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
