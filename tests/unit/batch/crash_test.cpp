// SPDX-License-Identifier: Apache-2.0
// Batch jobs killed at any write or sync: the resumed job ends like an uninterrupted one.
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(crash)

namespace {

using namespace superstep;
using namespace superstep::testing;

constexpr auto file_names = {"out.jsonl", "out.dead.jsonl", "out.journal"};

/// The files of a job at one moment, by name.
using snapshot = std::map<std::string, std::string>;

snapshot take(const job& from) {
  auto out = snapshot{};
  for (auto name : file_names)
    if (std::filesystem::exists(from.folder / name))
      out[name] = from.file(name);
  return out;
}

/// A job with failing rows and invalid lines among the good ones.
std::string crash_input() {
  return chat_lines(9) + "no row\n" + chat_line("row-1", "again") + chat_line("last", "fail");
}

std::unique_ptr<job> make_job() {
  auto out = std::make_unique<job>(crash_input());
  out->options.bad_lines = on_bad_line::dead_letter;
  return out;
}

std::set<std::string> dead_lines(const job& from) {
  auto out = std::set<std::string>{};
  auto in = std::istringstream{from.file("out.dead.jsonl")};
  for (auto line = std::string{}; std::getline(in, line);)
    BOOST_TEST(out.insert(line).second, "repeated line: " << line);
  return out;
}

struct expectation {
  std::map<std::string, json::object> output;
  std::set<std::string> dead;
};

/// Restores the files of a crash, resumes the job, and compares the result with the uninterrupted
/// job. Rows whose output line was complete must not run again.
void resume_and_compare(const snapshot& crashed, const expectation& expected,
                        std::string_view what) {
  BOOST_TEST_CONTEXT(what) {
    auto resumed = make_job();
    for (const auto& [name, bytes] : crashed)
      write_file(resumed->folder / name, bytes);
    auto summary = resumed->run();
    BOOST_TEST_REQUIRE(summary.has_value());
    BOOST_TEST(summary->left() == 0U);
    BOOST_TEST(summary->ok + summary->failed == summary->rows);
    BOOST_TEST((resumed->output() == expected.output));
    BOOST_TEST((dead_lines(*resumed) == expected.dead));
    if (!crashed.contains("out.jsonl"))
      return;
    const auto& output = crashed.at("out.jsonl");
    auto finished = std::istringstream{output.substr(0, output.rfind('\n') + 1)};
    for (auto line = std::string{}; std::getline(finished, line);) {
      auto row = parse_json(line);
      if (!row)
        break; // bytes that never reached the disk
      const auto key = std::string{row->at("custom_id").as_string()};
      BOOST_TEST(resumed->runner.runs.count(key) == 0U, key << " had finished and ran again");
    }
  }
}

expectation uninterrupted() {
  auto whole = make_job();
  BOOST_TEST(whole->run().has_value());
  return {whole->output(), dead_lines(*whole)};
}

/// Every state of the files during a run: after each write and each sync.
std::vector<snapshot> all_moments(std::chrono::milliseconds sync_interval) {
  auto whole = make_job();
  auto out = std::vector<snapshot>{};
  whole->options.sync_interval = sync_interval;
  whole->options.on_disk_step = [&](std::string_view) { out.push_back(take(*whole)); };
  BOOST_TEST(whole->run().has_value());
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(job_killed_after_any_write_completes_on_resume) {
  const auto expected = uninterrupted();
  BOOST_TEST(expected.output.size() == 10U);
  BOOST_TEST(expected.dead.size() == 4U);
  for (auto interval : {0, 1000}) {
    auto moments = all_moments(std::chrono::milliseconds{interval});
    BOOST_TEST(moments.size() >= 4U);
    for (const auto& moment : moments)
      resume_and_compare(moment, expected, "interval " + std::to_string(interval));
  }
}

BOOST_AUTO_TEST_CASE(job_with_partly_written_line_completes_on_resume) {
  const auto expected = uninterrupted();
  auto before = snapshot{};
  auto torn_count = 0;
  // With interval 0 every group of lines is synced; with 1000 ms all lines form one group.
  for (auto interval : {0, 1000})
    for (const auto& after : all_moments(std::chrono::milliseconds{interval})) {
      for (const auto& [name, bytes] : after) {
        const auto old_size = before.contains(name) ? before[name].size() : 0;
        for (auto size = old_size; size < bytes.size(); size += 1 + (bytes.size() - old_size) / 9) {
          auto torn = after;
          torn[name].resize(size);
          resume_and_compare(torn, expected, name + " torn at " + std::to_string(size));
          ++torn_count;
        }
      }
      before = after;
    }
  BOOST_TEST_MESSAGE(torn_count << " torn writes resumed");
  BOOST_TEST(torn_count > 20);
}

// A power failure may extend a file without writing its bytes.
BOOST_AUTO_TEST_CASE(zero_bytes_after_power_failure_are_ignored) {
  const auto expected = uninterrupted();
  auto before = snapshot{};
  for (const auto& after : all_moments(std::chrono::milliseconds{1000})) {
    for (const auto& [name, bytes] : after) {
      const auto old_size = before.contains(name) ? before[name].size() : 0;
      if (bytes.size() == old_size || name == "out.dead.jsonl")
        continue;
      auto lost = after;
      std::fill(lost[name].begin() + static_cast<std::ptrdiff_t>(old_size), lost[name].end() - 1,
                '\0');
      resume_and_compare(lost, expected, name + " full of zeros from " + std::to_string(old_size));
    }
    before = after;
  }
}

BOOST_AUTO_TEST_CASE(job_killed_repeatedly_while_resuming_still_completes) {
  const auto expected = uninterrupted();
  auto state = snapshot{};
  for (auto round = std::size_t{0}; round < 12; ++round) {
    auto again = make_job();
    auto last = state;
    auto steps = std::size_t{0};
    for (const auto& [name, bytes] : state)
      write_file(again->folder / name, bytes);
    again->options.limit = round + 1;
    again->options.on_disk_step = [&](std::string_view) {
      if (steps++ < 3 + round % 3)
        last = take(*again);
    };
    BOOST_TEST(again->run().has_value());
    state = last;
  }
  resume_and_compare(state, expected, "killed in twelve rounds");
}

BOOST_AUTO_TEST_SUITE_END()
