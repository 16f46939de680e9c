// SPDX-License-Identifier: Apache-2.0
// Mistakes of users and failures of models, tools and disks: the error is clear, and other rows
// continue.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>
#include <unistd.h>

BOOST_AUTO_TEST_SUITE(bad_input)

namespace {

using namespace superstep::testing;

std::string chat_line(const std::string& key, const std::string& text) {
  auto messages = json::array{json::object{{"role", "user"}, {"content", text}}};
  return json::serialize(json::object{{"id", key}, {"messages", std::move(messages)}}) + '\n';
}

/// Answers any row immediately.
constexpr auto ready_agent = "name: ready\nmodel: {provider: scripted, path: rules.yaml}\n";
constexpr auto ready_rules = "default: {text: Ready.}\n";

cli_job& prepare(cli_job& job) {
  job.write("agent.yaml", ready_agent);
  job.write("rules.yaml", ready_rules);
  job.write("in.jsonl", chat_line("a", "x") + chat_line("b", "y"));
  return job;
}

void expect_refused(const ended_process& end, std::string_view text) {
  BOOST_TEST(end.exit_code == 1);
  BOOST_TEST(end.err.find(text) != std::string::npos,
             "expected: " << text << "\nfound: " << end.err);
}

struct bad_file {
  std::string_view name;
  std::string input;
  std::string_view expected;
};
std::ostream& operator<<(std::ostream& out, const bad_file& c) {
  return out << c.name;
}

const auto good = chat_line("a", "x");
const auto bad_files = std::vector<bad_file>{
    {"broken JSON", good + "{\"id\":\"b\",\n", "line 2: not JSON"},
    {"a duplicate id", good + chat_line("b", "y") + good,
     "line 3: the row id \"a\" is already used on line 1; give each row its own id"},
    {"a duplicate member",
     good + R"({"id":"b","messages":[],"colour":1,"colour":2})"
            "\n",
     "line 2: duplicate member \"colour\""},
    {"bytes that are not UTF-8", good + "{\"id\":\"\xE9\xE8\"}\n", "line 2: is not UTF-8"},
    {"a line of 50 MB",
     good + chat_line("b", std::string(std::size_t{50} << 20, 'x')) + chat_line("c", "z"),
     "line 2: the line has 52428"},
    {"an id that is no text",
     R"({"id":7,"messages":[{"role":"user","content":"x"}]})"
     "\n",
     R"(line 1: "id" must be)"},
};

} // namespace

BOOST_DATA_TEST_CASE(invalid_lines_are_rejected_unless_made_dead_letters,
                     boost::unit_test::data::make(bad_files), c) {
  auto job = cli_job{};
  prepare(job).write("in.jsonl", c.input);
  expect_refused(job.run(), c.expected);
  BOOST_TEST(!std::filesystem::exists(job.output));
  const auto end = job.run({"--on-bad-line", "dead-letter"});
  BOOST_TEST(end.exit_code == 2, end.err);
  BOOST_TEST(read_objects(job.read("out.dead.jsonl")).size() == 1U);
  const auto summary = job.read("out.summary.json");
  BOOST_TEST(summary.find(R"("cost":null)") != std::string::npos, summary); // no price is known
  const auto rows = json::parse(summary).at("rows");
  BOOST_TEST(rows.at("ok").as_int64() + 1 == rows.at("total").as_int64());
}

BOOST_AUTO_TEST_CASE(errors_name_missing_or_unwritable_files) {
  auto job = cli_job{};
  prepare(job);
  const auto output = job.output;
  job.output = "/dev/full";
  expect_refused(job.run(), "/dev/full");
  BOOST_TEST(!std::filesystem::exists("/dev/full.journal"));
  job.output = job.folder / ".";
  expect_refused(job.run(), "is a directory");
  job.output = output;
  job.input = job.folder / "missing.jsonl";
  expect_refused(job.run(), "missing.jsonl");
  job.input = job.folder / "in.jsonl";
  job.agent = job.folder / "missing.yaml";
  expect_refused(job.run(), "missing.yaml");
}

BOOST_AUTO_TEST_CASE(error_names_unwritable_event_log) {
  auto job = cli_job{};
  prepare(job);
  expect_refused(job.run({"--events", job.folder / "no-folder/events.jsonl"}),
                 "--events: the folder " + (job.folder / "no-folder") +
                     " does not exist; create it first");
  expect_refused(job.run({"--events", job.folder / "."}),
                 "--events: '" + (job.folder / ".") + "' cannot be written");
  BOOST_TEST(!std::filesystem::exists(job.output));
  // Only the log is incomplete; all rows are there.
  expect_refused(job.run({"--events", "/dev/full"}), "--events: '/dev/full' is incomplete");
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == 2U);
}

BOOST_AUTO_TEST_CASE(unknown_agent_file_key_is_reported_with_line) {
  auto job = cli_job{};
  prepare(job).write("agent.yaml", std::string{ready_agent} + "promt: hello\n");
  expect_refused(job.run(), "agent.yaml:3");
}

BOOST_AUTO_TEST_CASE(file_size_limit_stops_job_without_losing_rows) {
  auto job = cli_job{};
  auto input = std::string{};
  for (auto i = 0; i < 400; ++i)
    input += chat_line("row-" + std::to_string(i), std::string(500, 'x'));
  prepare(job).write("in.jsonl", input);
  auto limited = std::string{"ulimit -f 64; exec"};
  for (const auto& argument : job.arguments())
    limited += " '" + argument + "'";
  auto child = process{{"sh", "-c", limited}};
  const auto end = child.wait();
  BOOST_TEST(end.exit_code == 4, end.err); // the same command resumes it
  BOOST_TEST(end.err.find("File too large") != std::string::npos, end.err);
  const auto before = read_rows(job.read("out.jsonl"));
  BOOST_TEST(before.size() < 400U);
  BOOST_TEST(job.run().exit_code == 0);
  const auto after = read_rows(job.read("out.jsonl"));
  BOOST_TEST(after.size() == 400U);
  for (const auto& [key, row] : before)
    BOOST_TEST((after.at(key) == row), key);
}

BOOST_AUTO_TEST_CASE(journal_on_full_device_is_an_error) {
  auto job = cli_job{};
  prepare(job);
  BOOST_TEST(::symlink("/dev/full", (job.folder / "out.journal").c_str()) == 0);
  expect_refused(job.run(), "out.journal");
}

namespace {

/// The answers of a recorded model to row `key`: one call of `name`, then a final text.
std::string turns_with_call(const std::string& key, const std::string& name,
                            const std::string& arguments) {
  auto function = json::object{{"name", name}, {"arguments", arguments}};
  auto call = json::object{{"id", "c1"}, {"type", "function"}, {"function", std::move(function)}};
  auto asks = json::object{
      {"role", "assistant"}, {"content", ""}, {"tool_calls", json::array{std::move(call)}}};
  auto closes = json::object{{"role", "assistant"}, {"content", "Done."}};
  return json::serialize(json::object{{"id", key},
                                      {"turns", json::array{std::move(asks), std::move(closes)}}}) +
         '\n';
}

struct failing_call {
  std::string tool;
  std::string arguments;
  std::string_view told; ///< a part of the error text that the model must receive
};

constexpr auto tools_agent = R"(name: tools
model: {provider: recorded, path: turns.jsonl}
tools:
  - calculator
  - command: {name: fails, description: fails, argv: [sh, -c, 'echo broken >&2; exit 3']}
  - command: {name: killed, description: killed, argv: [sh, -c, 'kill -9 $$']}
  - command: {name: hangs, description: hangs, argv: [sleep, '600'], timeout_ms: 300}
  - command: {name: floods, description: floods, argv: [head, -c, '100000000', /dev/zero], max_output_bytes: 1000}
  - command: {name: floods_more, description: floods, argv: [head, -c, '100000000', /dev/zero], max_output_bytes: 200000000}
  - command: {name: strict, description: strict, argv: [cat], args_schema: {type: object, properties: {n: {type: integer}}, required: [n]}}
)";

} // namespace

// The model receives a failed call as an error result; the row succeeds.
BOOST_AUTO_TEST_CASE(failed_tool_call_returns_error_without_failing_row) {
  auto job = cli_job{};
  job.write("agent.yaml", tools_agent);
  const auto calls = std::map<std::string, failing_call>{
      {"unknown", {"no_such_tool", "{}", "no_such_tool is not a valid tool, try one of ["}},
      {"mismatch", {"strict", R"({"n":"seven"})", "kwargs {'n': 'seven'} with error:"}},
      {"no-json", {"strict", R"({"n":)", R"(with arguments {"n": with error:)"}},
      {"fails", {"fails", "{}", "broken"}},
      {"killed", {"killed", "{}", "signal 9"}},
      {"hangs", {"hangs", "{}", "300 ms"}},
      {"floods", {"floods", "{}", "1000 bytes"}},
      {"floods-more", {"floods_more", "{}", "at most 1048576 are allowed"}},
      {"division", {"calculator", R"({"expression":"1/0"})", "zero"}},
      {"fine", {"calculator", R"({"expression":"6*7"})", "42"}}};
  auto input = std::string{};
  auto turns = std::string{};
  for (const auto& [key, call] : calls) {
    input += chat_line(key, "go");
    turns += turns_with_call(key, call.tool, call.arguments);
  }
  job.write("in.jsonl", input);
  job.write("turns.jsonl", turns);
  const auto end = job.run();
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST(rows.size() == calls.size());
  for (const auto& [key, row] : rows) {
    BOOST_TEST_CONTEXT(key) {
      const auto& result = messages_of(row).at(2).as_object();
      BOOST_TEST(text_at(row, "status") == "ok");
      BOOST_TEST(text_at(result, "tool_call_id") == "c1");
      BOOST_TEST(text_at(result, "status") == (key == "fine" ? "" : "error"));
      const auto said = text_at(result, "content");
      BOOST_TEST(said.size() < 4000U);
      BOOST_TEST(said.find(calls.at(key).told) != std::string::npos, said);
      BOOST_TEST(text_at(messages_of(row).back().as_object(), "content") == "Done.");
    }
  }
  BOOST_TEST(text_at(messages_of(rows.at("fine")).at(2).as_object(), "content") == "42");
}

// superstep raises its limit of open files and ignores signals for its own process only.
BOOST_AUTO_TEST_CASE(tool_programs_get_original_descriptor_limit_and_signals) {
  auto job = cli_job{};
  job.write("agent.yaml", R"(model: {provider: recorded, path: turns.jsonl}
tools:
  - command: {name: t, description: t, argv: [sh, -c, 'ulimit -Sn; grep SigIgn /proc/self/status']}
)");
  job.write("in.jsonl", chat_line("a", "go"));
  job.write("turns.jsonl", turns_with_call("a", "t", "{}"));
  auto before = rlimit{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  auto lowered = before;
  lowered.rlim_cur = 300;
  BOOST_REQUIRE(lowered.rlim_cur < lowered.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &lowered);
  const auto end = job.run();
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST_REQUIRE(end.exit_code == 0, end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST(text_at(messages_of(rows.at("a")).at(2).as_object(), "content") ==
             "300\nSigIgn:\t0000000000000000");
}

// The limits range from too few descriptors for the dynamic loader to enough for the whole command.
BOOST_AUTO_TEST_CASE(commands_with_few_descriptors_succeed_or_report_shortage) {
  auto job = cli_job{};
  prepare(job);
  job.write("agent.yaml", std::string{ready_agent} + "tools: [{read_file: {root: .}}]\n");
  const auto verbs = std::vector<std::pair<std::string, std::string>>{
      {"check", "check agent.yaml"},
      {"graph", "graph agent.yaml"},
      {"run", "run agent.yaml -i in.jsonl -o out.jsonl --progress none --shortage-wait-ms 200"}};
  for (const auto& [verb, arguments] : verbs) {
    auto is_agent_file_refused = false;
    for (auto limit = 4; limit < 40; ++limit) {
      const auto command = "cd " + (job.folder / ".") + " && ulimit -n " + std::to_string(limit) +
                           " && exec " + superstep_program() + ' ' + arguments;
      const auto end = process{{"/bin/sh", "-c", command}}.wait();
      BOOST_TEST((end.exit_code == 0 || end.exit_code == 4 || end.exit_code == 127),
                 verb << " with " << limit << " descriptors ends with " << end.exit_code << ": "
                      << end.err);
      is_agent_file_refused = is_agent_file_refused ||
                              end.err.find("agent.yaml: cannot be opened") != std::string::npos;
      if (end.exit_code == 0)
        break;
      if (end.exit_code == 4)
        BOOST_TEST(end.err.find("Too many open files") != std::string::npos, end.err);
    }
    BOOST_TEST(is_agent_file_refused, verb);
  }
}

BOOST_AUTO_TEST_CASE(missing_tool_program_is_rejected_before_rows_run) {
  for (const auto* program :
       {"/no/such/program", "no-such-program", "./no-such-program", "/etc/hostname"}) {
    auto job = cli_job{};
    prepare(job).write("agent.yaml", std::string{ready_agent} +
                                         "tools: [{command: {name: t, argv: ['" + program +
                                         "']}}]\n");
    expect_refused(job.run(), "agent.yaml:3: tools.0.command");
    BOOST_TEST(!std::filesystem::exists(job.output));
  }
}

// The program of the tool disappears after the job has started. No row can succeed and no row is
// the cause, so the job stops.
BOOST_AUTO_TEST_CASE(deleted_tool_program_stops_the_running_job) {
  auto job = cli_job{};
  auto input = std::string{};
  auto turns = std::string{};
  for (auto i = 0; i < 5; ++i) {
    const auto key = "row-" + std::to_string(i);
    input += chat_line(key, "go");
    turns += turns_with_call(key, "once", "{}");
  }
  job.write("in.jsonl", input);
  job.write("turns.jsonl", turns);
  job.write("agent.yaml", "model: {provider: recorded, path: turns.jsonl}\n"
                          "tools: [{command: {name: once, argv: [./once]}}]\n");
  const auto write_program = [&](const char* text) {
    job.write("once", text);
    std::filesystem::permissions(job.folder / "once", std::filesystem::perms::owner_all);
  };
  write_program("#!/bin/sh\nrm -f \"$0\"\necho done\n");
  const auto end = job.run({"--concurrency", "1"});
  BOOST_TEST(end.exit_code == 4, end.err);
  BOOST_TEST(end.err.find("once") != std::string::npos, end.err);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == 1U);
  BOOST_TEST(!std::filesystem::exists(job.folder / "out.dead.jsonl"));
  write_program("#!/bin/sh\necho done\n");
  BOOST_TEST(job.run().exit_code == 0);
  BOOST_TEST(read_rows(job.read("out.jsonl")).size() == 5U);
}

BOOST_AUTO_TEST_CASE(failing_or_endless_model_fails_only_its_row) {
  auto job = cli_job{};
  job.write("agent.yaml", R"(name: loops
model: {provider: scripted, path: rules.yaml}
tools: [calculator]
recursion_limit: 7
)");
  job.write("rules.yaml", R"(rules:
  - {match: 'loop|^2$', calls: [{name: calculator, args: {expression: 1+1}}]}
  - {match: well, text: Fine.}
)");
  job.write("in.jsonl",
            chat_line("well", "well") + chat_line("loops", "loop") + chat_line("unanswered", "?"));
  const auto end = job.run();
  BOOST_TEST_REQUIRE(end.exit_code == 2, end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST(rows.size() == 3U);
  BOOST_TEST(text_at(rows.at("well"), "status") == "ok");
  BOOST_TEST(text_at(rows.at("loops").at("error").as_object(), "kind") == "recursion_limit");
  BOOST_TEST(text_at(rows.at("unanswered"), "status") == "error");
  BOOST_TEST(read_rows(job.read("out.dead.jsonl")).size() == 2U);
}

BOOST_AUTO_TEST_CASE(row_missing_in_recording_becomes_dead_letter) {
  auto job = cli_job{};
  job.write("agent.yaml", tools_agent);
  job.write("in.jsonl", chat_line("here", "x") + chat_line("absent", "y"));
  job.write("turns.jsonl", turns_with_call("here", "calculator", R"({"expression":"1"})"));
  const auto end = job.run();
  BOOST_TEST(end.exit_code == 2, end.err);
  const auto rows = read_rows(job.read("out.jsonl"));
  BOOST_TEST(text_at(rows.at("here"), "status") == "ok");
  BOOST_TEST(text_at(rows.at("absent"), "status") == "error");
}

BOOST_AUTO_TEST_SUITE_END()
