// SPDX-License-Identifier: Apache-2.0
// The files that batch jobs and conversations write: no file overwrites another one.
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>

BOOST_AUTO_TEST_SUITE(job_files)

namespace {

using namespace superstep::testing;
namespace fs = std::filesystem;

std::string chat_line(const std::string& key, const std::string& text) {
  auto messages = json::array{json::object{{"role", "user"}, {"content", text}}};
  return json::serialize(json::object{{"id", key}, {"messages", std::move(messages)}}) + '\n';
}

/// A job whose agent and output have the same stem, so that chat and batch files have related
/// names.
struct trip : cli_job {
  trip() {
    agent = folder / "trip.yaml";
    output = folder / "trip.jsonl";
    write("trip.yaml", "name: trip\nmodel: {provider: scripted, path: rules.yaml}\n");
    write("rules.yaml", "default: {text: heard}\n");
    write("in.jsonl", chat_line("a", "x") + chat_line("b", "y"));
  }
  [[nodiscard]] ended_process shell(const std::string& command) const {
    auto child = process{{"sh", "-c", "cd '" + folder / "." + "' && " + command}};
    return child.wait();
  }
  /// Runs `chat` with options and one line of input.
  [[nodiscard]] ended_process chat(const std::string& options) const {
    return shell("echo hello | '" + superstep_program() + "' chat trip.yaml " + options);
  }
  [[nodiscard]] std::string threads(const std::string& database) const {
    return shell("'" + superstep_program() + "' threads list " + database).out;
  }
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

BOOST_AUTO_TEST_CASE(job_checkpoints_do_not_change_chat_threads) {
  const auto job = trip{};
  BOOST_TEST(job.chat("--thread honeymoon").exit_code == 0);
  const auto before = job.threads("trip.threads.db");
  BOOST_TEST(has(before, "honeymoon"));
  const auto end = job.run({"--checkpoints"});
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(job.threads("trip.threads.db") == before);
  BOOST_TEST(!fs::exists(job.folder / "trip.job.db"));
}

BOOST_AUTO_TEST_CASE(job_rejects_checkpoint_file_with_chat_threads) {
  const auto job = trip{};
  BOOST_TEST(job.chat("--thread honeymoon --database trip.job.db").exit_code == 0);
  const auto before = job.threads("trip.job.db");
  for (const auto& more : std::vector<std::vector<std::string>>{
           {"--checkpoints"}, {"--checkpoints", "--fresh"}, {"--checkpoints", "--force"}}) {
    if (more.back() == "--force" && !fs::exists(job.output))
      continue;
    const auto end = job.run(more);
    BOOST_TEST(end.exit_code == 1);
    BOOST_TEST(has(end.err, "trip.job.db"), end.err);
    BOOST_TEST(job.threads("trip.job.db") == before);
  }
  // Without checkpoints the job does not use the file.
  BOOST_TEST(job.run().exit_code == 0);
  BOOST_TEST(job.threads("trip.job.db") == before);
}

BOOST_AUTO_TEST_CASE(checkpoints_of_another_job_are_rejected) {
  auto job = trip{};
  BOOST_TEST(job.run({"--checkpoints", "--limit", "1"}).exit_code == 0);
  BOOST_TEST(fs::exists(job.folder / "trip.job.db"));
  const auto bytes = job.read("trip.job.db");
  fs::copy(job.folder / "trip.job.db", job.folder / "other.job.db");
  job.output = job.folder / "other.jsonl";
  const auto end = job.run({"--checkpoints"});
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(has(end.err, "belongs to the batch job run-"), end.err);
  BOOST_TEST(job.read("other.job.db") == bytes);
  // The job that owns the file starts over: its checkpoints are moved aside.
  job.output = job.folder / "trip.jsonl";
  BOOST_TEST(job.run({"--checkpoints", "--fresh", "--limit", "1"}).exit_code == 0);
  BOOST_TEST(fs::exists(job.folder / "trip.job.db.old-1"));
  BOOST_TEST(job.run({"--checkpoints"}).exit_code == 0);
  BOOST_TEST(!fs::exists(job.folder / "trip.job.db"));
  BOOST_TEST(fs::exists(job.folder / "trip.job.db.old-1"));
}

BOOST_AUTO_TEST_CASE(chat_rejects_checkpoints_of_a_job) {
  const auto job = trip{};
  BOOST_TEST(job.run({"--checkpoints", "--limit", "1"}).exit_code == 0);
  const auto end = job.chat("--database trip.job.db");
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(has(end.err, "belongs to the batch job"), end.err);
}

BOOST_AUTO_TEST_CASE(job_rejects_same_file_for_two_purposes) {
  const auto job = trip{};
  const auto input = job.read("in.jsonl");
  fs::create_symlink("in.jsonl", job.folder / "input-link");
  fs::create_hard_link(job.folder / "in.jsonl", job.folder / "input-hard");
  fs::create_symlink("not-there-yet", job.folder / "trip.dead.jsonl");
  const auto names = {"in.jsonl",        "./in.jsonl",    "input-link",        "input-hard",
                      "trip.yaml",       "rules.yaml",    "trip.jsonl",        "trip.journal",
                      "trip.dead.jsonl", "not-there-yet", "trip.summary.json", "trip.job.db"};
  for (const auto* name : names) {
    const auto end = job.run({"--checkpoints", "--events", job.folder / name});
    BOOST_TEST(end.exit_code == 1, name);
    BOOST_TEST(has(end.err, "are the same file"), name << ": " << end.err);
    BOOST_TEST(!fs::exists(job.output), name);
  }
  for (const auto* name : {"in.jsonl", "input-link", "input-hard", "trip.yaml", "rules.yaml"}) {
    auto other = trip{};
    auto arguments = job.arguments();
    const auto end =
        job.shell("'" + superstep_program() + "' run trip.yaml -i in.jsonl -o " + name);
    BOOST_TEST(end.exit_code == 1, name);
    BOOST_TEST(has(end.err, "are the same file"), name << ": " << end.err);
  }
  const auto piped = job.shell("'" + superstep_program() +
                               "' run trip.yaml -i - -o o.jsonl --events in.jsonl < in.jsonl");
  BOOST_TEST(has(piped.err, "standard input and --events are the same file"), piped.err);
  const auto shown =
      job.shell("'" + superstep_program() + "' run trip.yaml -i in.jsonl -o o.jsonl > o.jsonl");
  BOOST_TEST(has(shown.err, "are the same file"), shown.err);
  BOOST_TEST(job.read("in.jsonl") == input);
  BOOST_TEST(has(job.read("trip.yaml"), "name: trip"));
  BOOST_TEST(has(job.read("rules.yaml"), "heard"));
}

BOOST_AUTO_TEST_CASE(files_with_other_content_are_not_overwritten) {
  const auto job = trip{};
  job.write("notes.txt", "mine\n");
  const auto events = job.run({"--events", job.folder / "notes.txt"});
  BOOST_TEST(events.exit_code == 1);
  BOOST_TEST(has(events.err, "is not an event log"), events.err);
  const auto program = "'" + superstep_program() + "' graph trip.yaml ";
  for (const auto* options :
       {"-o notes.txt", "-o trip.yaml", "-o rules.yaml", "--format dot -o notes.txt"})
    BOOST_TEST(job.shell(program + options).exit_code == 1, options);
  BOOST_TEST(job.read("notes.txt") == "mine\n");
  BOOST_TEST(has(job.read("trip.yaml"), "name: trip"));
  for (const auto* format : {"mermaid", "dot"})
    for (auto i = 0; i < 2; ++i) // the second run replaces the drawing of the first
      BOOST_TEST(job.shell(program + "--format " + format + " -o picture." + format).exit_code ==
                 0);
  BOOST_TEST(job.run({"--events", job.folder / "events.jsonl"}).exit_code == 0);
  BOOST_TEST(job.run({"--fresh", "--events", job.folder / "events.jsonl"}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(closed_or_full_standard_output_is_an_error) {
  const auto job = trip{};
  const auto program = "'" + superstep_program() + "' ";
  const auto run = program + "run trip.yaml -i in.jsonl -o o.jsonl ";
  for (const auto* closed : {">&-", ">/dev/full", "<&- >&-"}) {
    BOOST_TEST(job.shell(run + "--fresh " + closed).exit_code == 1, closed);
    BOOST_TEST(job.shell(program + "check trip.yaml " + closed).exit_code == 1, closed);
    BOOST_TEST(job.shell(program + "graph trip.yaml " + closed).exit_code == 1, closed);
    // The output file contains only rows, although standard output had no descriptor of its own.
    const auto rows = read_rows(job.read("o.jsonl"));
    BOOST_TEST(rows.size() == 2U, closed);
  }
}

BOOST_AUTO_TEST_CASE(rejected_job_does_not_replace_event_log) {
  const auto job = trip{};
  const auto run = "'" + superstep_program() + "' run trip.yaml -i in.jsonl -o trip.jsonl ";
  BOOST_TEST(job.run({"--limit", "1", "--events", job.folder / "events.jsonl"}).exit_code == 0);
  const auto log = job.read("events.jsonl");
  BOOST_TEST(has(log, "model_end"), log);
  const auto input = job.read("in.jsonl");
  const auto refuse = [&](const std::string& command, std::string_view why) {
    for (const auto* events : {"events.jsonl", "new.jsonl"}) {
      const auto end = job.shell(command + " --events " + events);
      BOOST_TEST(end.exit_code == 1, command);
      BOOST_TEST(has(end.err, why), command << ": " << end.err);
    }
    BOOST_TEST(job.read("events.jsonl") == log, command);
    BOOST_TEST(!fs::exists(job.folder / "new.jsonl"), command);
  };
  refuse("flock trip.journal " + run, "holds the lock");
  refuse(run + "--set name=other", "a different job");
  fs::remove(job.folder / "in.jsonl");
  refuse(run, "in.jsonl");
  job.write("in.jsonl", input + "no row\n");
  refuse(run, "no row");
  job.write("in.jsonl", chat_line("b", "y"));
  refuse(run, "a different job");
  job.write("in.jsonl", input);
  BOOST_TEST(job.chat("--thread honeymoon --database trip.job.db").exit_code == 0);
  refuse(run + "--checkpoints", "trip.job.db");
  // An accepted job adds to its log. A job without remaining rows does not change it.
  for (auto i = 0; i < 2; ++i) {
    BOOST_TEST(job.run({"--events", job.folder / "events.jsonl"}).exit_code == 0);
    BOOST_TEST(has(job.read("events.jsonl"), "\"row\":\"b\""));
    BOOST_TEST(job.read("events.jsonl").starts_with(log));
  }
}

BOOST_AUTO_TEST_CASE(event_log_above_size_limit_is_an_error) {
  const auto job = trip{};
  auto input = std::string{};
  for (auto i = 0; i < 400; ++i)
    input += chat_line("row-" + std::to_string(i), "x");
  job.write("in.jsonl", input);
  const auto end = job.shell("ulimit -f 20; '" + superstep_program() +
                             "' run trip.yaml -i in.jsonl -o o.jsonl --events events.jsonl");
  BOOST_TEST(end.signal == 0);
  BOOST_TEST((end.exit_code == 1 || end.exit_code == 4), end.err);
  const auto again = job.shell("'" + superstep_program() +
                               "' run trip.yaml -i in.jsonl -o o.jsonl --events events.jsonl");
  BOOST_TEST(again.exit_code == 0, again.err);
  BOOST_TEST(read_rows(job.read("o.jsonl")).size() == 400U);
}

BOOST_AUTO_TEST_CASE(new_files_are_readable_by_owner_only) {
  const auto job = trip{};
  job.write("trip.yaml",
            "model: {provider: scripted, path: rules.yaml, record: recording.jsonl}\n");
  job.write("in.jsonl", chat_line("a", "x") + "no row\n" + chat_line("b", "y"));
  BOOST_TEST(job.run({"--checkpoints", "--on-bad-line", "dead-letter", "--limit", "1", "--events",
                      job.folder / "events.jsonl"})
                 .exit_code == 0);
  for (const auto* name : {"trip.jsonl", "trip.journal", "trip.summary.json", "trip.job.db",
                           "events.jsonl", "recording.jsonl"})
    BOOST_TEST(((fs::status(job.folder / name).permissions() & fs::perms::all) ==
                (fs::perms::owner_read | fs::perms::owner_write)),
               name);
}

BOOST_AUTO_TEST_CASE(recording_at_path_of_another_file_is_rejected) {
  const auto job = trip{};
  fs::create_symlink("not-there-yet", job.folder / "trip.dead.jsonl");
  for (const auto* name : {"trip.jsonl", "./trip.jsonl", "trip.journal", "not-there-yet",
                           "trip.summary.json", "trip.job.db", "events.jsonl"}) {
    job.write("trip.yaml",
              std::string{"model: {provider: scripted, path: rules.yaml, record: "} + name + "}\n");
    const auto end = job.run({"--checkpoints", "--events", job.folder / "events.jsonl"});
    BOOST_TEST(end.exit_code == 1, name);
    BOOST_TEST(has(end.err, "are the same file"), name << ": " << end.err);
    BOOST_TEST(!fs::exists(job.folder / name), name);
  }
}

BOOST_AUTO_TEST_CASE(commands_without_model_calls_create_no_recording) {
  const auto job = trip{};
  job.write("trip.yaml", "model: {provider: scripted, path: rules.yaml, record: r.jsonl}\n"
                         "store: {path: s.db}\n");
  const auto quoted = "'" + superstep_program() + "' ";
  BOOST_TEST(job.shell(quoted + "check trip.yaml").exit_code == 0);
  BOOST_TEST(job.shell(quoted + "graph trip.yaml").exit_code == 0);
  BOOST_TEST(job.run().exit_code == 1); // only chat supports a store
  BOOST_TEST(!fs::exists(job.folder / "r.jsonl"));
  BOOST_TEST(!fs::exists(job.folder / "s.db"));
}

BOOST_AUTO_TEST_CASE(recording_on_full_disk_stops_the_job) {
  const auto job = trip{};
  job.write("trip.yaml",
            "model: {provider: scripted, path: rules.yaml, record: recording.jsonl}\n");
  fs::create_symlink("/dev/full", job.folder / "recording.jsonl");
  const auto end = job.run();
  BOOST_TEST(end.exit_code == 4, end.err);
  BOOST_TEST(has(end.err, "No space left on device"), end.err);
  BOOST_TEST(!fs::exists(job.folder / "trip.dead.jsonl"));
  fs::remove(job.folder / "recording.jsonl");
  BOOST_TEST(job.run().exit_code == 0);
  BOOST_TEST(read_rows(job.read("trip.jsonl")).size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
