// SPDX-License-Identifier: Apache-2.0
// Files written by an earlier version of the program, in the folder earlier_files: agent files,
// threads of `superstep chat`, an exported thread, and a job that was killed while its third row
// was running. They must still load, and continue where they stopped.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>

BOOST_AUTO_TEST_SUITE(earlier_files)

namespace {

using namespace superstep::testing;
namespace fs = std::filesystem;

/// A copy of the files in a temporary folder.
class earlier_folder {
public:
  earlier_folder() {
    for (const auto& entry : fs::directory_iterator{fs::path{SUPERSTEP_EARLIER_FILES}})
      write_file(path(entry.path().filename().string()), read_file(entry.path()));
  }
  [[nodiscard]] std::string path(std::string_view name) const { return folder_ / name; }
  [[nodiscard]] std::string read(std::string_view name) const { return read_file(path(name)); }
  /// Runs the program in the folder with arguments and input that need no quotes.
  [[nodiscard]] ended_process run(const std::string& arguments,
                                  const std::string& input = {}) const {
    return process{{"/bin/sh", "-c",
                    "cd '" + path(".") + "' && printf '" + input + "' | '" + superstep_program() +
                        "' " + arguments}}
        .wait();
  }

private:
  temporary_folder folder_;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

constexpr auto resume_job = "run batch.yaml --input in.jsonl --output out.jsonl --checkpoints "
                            "--progress none";
/// The id of the job that wrote out.jsonl, out.journal and out.job.db.
constexpr auto job_id = std::string_view{"run-3dce2d061f75"};

/// Checks that all four rows succeeded and that all lines have the id of the job.
void check_job(const earlier_folder& at) {
  const auto rows = read_objects(at.read("out.jsonl"));
  BOOST_TEST(rows.size() == 4U);
  for (const auto& row : rows) {
    BOOST_TEST(text_at(row, "status") == "ok");
    const auto id = text_at(row, row.contains("job_id") ? "job_id" : "run_id");
    BOOST_TEST(id == job_id);
  }
  const auto summary = json::parse(at.read("out.summary.json")).as_object();
  BOOST_TEST(text_at(summary, "job_id") == job_id);
}

} // namespace

BOOST_AUTO_TEST_CASE(agent_files_of_earlier_version_are_valid) {
  const auto at = earlier_folder{};
  for (const auto* file : {"agent.yaml", "batch.yaml"}) {
    const auto end = at.run(std::string{"check "} + file);
    BOOST_TEST(end.exit_code == 0, end.err);
  }
}

BOOST_AUTO_TEST_CASE(finished_thread_continues_and_calls_tools) {
  const auto at = earlier_folder{};
  const auto shown = at.run("threads show threads.db finished");
  BOOST_TEST(has(shown.out, "That makes 7."));
  // The new call must not get the id of a call that is already in the thread.
  const auto end = at.run("chat agent.yaml --thread finished --database threads.db",
                          "recall\\nadd 20 and 22\\n");
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(has(end.out, "I heard: note: umbrella"), end.out);
  BOOST_TEST(has(end.out, "That makes 42."), end.out);
}

BOOST_AUTO_TEST_CASE(interrupted_thread_accepts_review_decisions) {
  const auto at = earlier_folder{};
  const auto end =
      at.run("chat agent.yaml --thread waiting --database threads.db", "accept\\nignore\\n");
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(has(end.out, R"(<- [1] book: {"hotel":"Ritz"})"), end.out);
  BOOST_TEST(has(end.out, "The hotel says: The call was ignored."), end.out);
}

BOOST_AUTO_TEST_CASE(thread_exported_by_earlier_version_is_imported) {
  const auto at = earlier_folder{};
  const auto end = at.run("threads import new.db again --input waiting.jsonl");
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(at.run("threads show new.db again").out.size() ==
             at.run("threads show threads.db waiting").out.size() - 2); // "again" is shorter
}

BOOST_AUTO_TEST_CASE(killed_job_resumes_without_repeating_finished_rows) {
  const auto at = earlier_folder{};
  const auto before = at.read("out.jsonl");
  const auto end = at.run(resume_job);
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(at.read("out.jsonl").starts_with(before)); // finished rows are not run again
  check_job(at);
}

BOOST_AUTO_TEST_CASE(forced_resume_reads_job_id_from_output_lines) {
  const auto at = earlier_folder{};
  auto journal = at.read("out.journal");
  journal.front() = 'x'; // damages the header only
  write_file(at.path("out.journal"), journal);
  const auto end = at.run(std::string{resume_job} + " --force");
  BOOST_TEST(end.exit_code == 0, end.err);
  check_job(at);
}

BOOST_AUTO_TEST_SUITE_END()
