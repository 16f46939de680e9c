// SPDX-License-Identifier: Apache-2.0
// `superstep chat` as a user runs it: in a terminal and in a pipe.
#include "system/process.hpp"
#include "terminal_process.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <vector>

using superstep::testing::process;
using superstep::testing::read_file;
using superstep::testing::superstep_program;
using superstep::testing::temporary_folder;
using superstep::testing::terminal_process;
using superstep::testing::write_file;

BOOST_AUTO_TEST_SUITE(chat)

namespace {

constexpr auto rules = std::string_view{R"(rules:
  - type: human
    match: 'add (\d+) and (\d+)'
    text: Let me add.
    calls: [{name: calculator, args: {expression: '\1 + \2'}}]
  - {type: tool, tool: calculator, text: 'It is \0.'}
  - type: human
    match: both
    calls:
      - {name: book, args: {hotel: Ritz}}
      - {name: book, args: {hotel: Adlon}}
      - {name: calculator, args: {expression: 1 + 1}}
  - type: human
    match: 'book (\w+)'
    calls: [{name: book, args: {hotel: '\1'}}]
  - {type: tool, tool: book, text: 'The desk says \0'}
  - type: human
    match: 'wait'
    calls: [{name: endless}, {name: calculator, args: {expression: 6 * 7}}]
  - {type: human, match: 'note (\w+)', calls: [{name: remember, args: {key: n, text: '\1'}}]}
  - {type: human, match: 'recall', calls: [{name: recall}]}
  - {type: ai, text: '{"city":"Oslo"}'}
  - {type: human, match: '^end$', calls: [{name: end_it}]}
  - {type: human, match: 'fail', calls: [{name: calculator, args: {expression: fail}}]}
default: {text: 'I heard: \0'}
)"};

constexpr auto agent = std::string_view{R"(name: desk
model: {provider: scripted, path: rules.yaml}
tools:
  - calculator
  - simulated: {name: book}
  - simulated: {name: endless, delay_ms: 3600000}
)"};

constexpr auto review = std::string_view{"review: {book: [accept, edit, ignore]}\n"};

/// An agent in a temporary folder, and conversations with it.
class desk {
public:
  explicit desk(std::string_view more = {}) {
    write_file(folder_ / "rules.yaml", rules);
    write_file(folder_ / "agent.yaml", std::string{agent} + std::string{more});
  }

  [[nodiscard]] std::vector<std::string> command(const std::string& thread = "t") const {
    return {superstep_program(), "chat", folder_ / "agent.yaml", "--thread", thread};
  }
  /// Runs a shell command that contains the chat command.
  [[nodiscard]] superstep::testing::ended_process shell(const std::string& before,
                                                        const std::string& after = {},
                                                        const std::string& thread = "t") const {
    auto line = before;
    for (const auto& word : command(thread))
      line += " '" + word + "'";
    return process{{"/bin/sh", "-c", line + after}}.wait();
  }
  [[nodiscard]] std::string path(std::string_view name) const { return folder_ / name; }

private:
  temporary_folder folder_;
};

/// Runs a batch of one row.
superstep::testing::ended_process run_row(const desk& at, const std::string& words,
                                          const std::vector<std::string>& more = {},
                                          std::string_view agent_file = "agent.yaml") {
  write_file(at.path("in.jsonl"),
             R"({"id":"r","messages":[{"role":"user","content":")" + words + "\"}]}\n");
  auto command =
      std::vector<std::string>{superstep_program(), "run",      at.path(agent_file), "--input",
                               at.path("in.jsonl"), "--output", at.path("out.jsonl")};
  command.insert(command.end(), more.begin(), more.end());
  return process{command}.wait();
}

void leave(terminal_process& chat) {
  chat.type(terminal_process::ctrl_d);
  chat.read_until("The thread is saved");
  BOOST_TEST(chat.exit_code() == 0);
}

} // namespace

BOOST_AUTO_TEST_CASE(conversation_with_tools_resumes_in_another_process) {
  const auto at = desk{};
  {
    auto chat = terminal_process{at.command()};
    chat.read_until("thread t in " + at.path("agent.threads.db"));
    chat.read_until("> ");
    chat.type("please add 3 and 4\n");
    chat.read_until("Let me add.\n  -> calculator {\"expression\":\"3 + 4\"}\n"
                    "  <- calculator: 7\nIt is 7.\n> ");
    chat.type("//quit is a word\n");
    chat.read_until("I heard: /quit is a word\n> ");
    leave(chat);
  }
  auto again = terminal_process{at.command()};
  again.read_until("Resuming a thread of 6 messages");
  again.read_until("> ");
  again.type("/history\n");
  const auto shown = again.read_until("I heard: /quit is a word\n--- end of history ---\n> ");
  BOOST_TEST(shown.find("> please add 3 and 4\nLet me add.\n  -> calculator") != shown.npos, shown);
  again.type("add 40 and 2\n");
  again.read_until("It is 42.\n> ");
  again.type("/nonsense\n");
  again.read_until("unknown command /nonsense");
  again.type("/help\n");
  again.read_until("//words");
  again.type("/quit\n");
  again.read_rest();
  BOOST_TEST(again.exit_code() == 0);
}

BOOST_AUTO_TEST_CASE(thread_is_encrypted_with_key_from_environment) {
  const auto at = desk{};
  const auto key = [](char last) {
    return "echo hello | SUPERSTEP_CHECKPOINT_KEY=" + std::string(63, '0') + last;
  };
  const auto first = at.shell(key('7'));
  BOOST_TEST(first.exit_code == 0, first.err);
  BOOST_TEST(first.out == "I heard: hello\n");
  BOOST_TEST(at.shell(key('7')).err.find("Resuming a thread of 2 messages") != std::string::npos);
  const auto wrong = at.shell(key('8'));
  BOOST_TEST(wrong.exit_code == 1);
  BOOST_TEST(wrong.err.find("encrypted with another key") != std::string::npos, wrong.err);
  const auto none = at.shell("echo hello | env -u SUPERSTEP_CHECKPOINT_KEY");
  BOOST_TEST(none.exit_code == 1);
  BOOST_TEST(none.err.find("no key is given") != std::string::npos, none.err);
  const auto bad = at.shell("echo hello | SUPERSTEP_CHECKPOINT_KEY=secret");
  BOOST_TEST(bad.exit_code == 1);
  BOOST_TEST(bad.err.find("64 hexadecimal digits") != std::string::npos, bad.err);
}

BOOST_AUTO_TEST_CASE(reviewed_call_is_edited_and_interrupt_survives_exit) {
  const auto at = desk{review};
  {
    auto chat = terminal_process{at.command()};
    chat.read_until("> ");
    chat.type("book Ritz\n");
    chat.read_until("Review of book:\n  {\"hotel\":\"Ritz\"}\n  accept, edit {JSON} or ignore\n"
                    "review> ");
    chat.type("respond no\n");
    chat.read_until("error: answer with accept, edit {JSON} or ignore\nreview> ");
    chat.type("edit {\"hotel\": 1\n");
    chat.read_until("error: edit requires the arguments as a JSON object");
    chat.read_until("review> ");
    chat.type("edit {\"hotel\": \"Savoy\"}\n");
    chat.read_until("  <- book: {\"hotel\":\"Savoy\"}\nThe desk says {\"hotel\":\"Savoy\"}\n> ");
    chat.type("book Adlon\n");
    chat.read_until("review> ");
    leave(chat);
  }
  {
    auto again = terminal_process{at.command()};
    again.read_until("Review of book:\n  {\"hotel\":\"Adlon\"}\n");
    again.read_until("review> ");
    again.kill();
    BOOST_TEST(again.exit_code() == -1);
  }
  auto last = terminal_process{at.command()};
  last.read_until("{\"hotel\":\"Adlon\"}");
  last.read_until("review> ");
  last.type("accept\n");
  last.read_until("The desk says {\"hotel\":\"Adlon\"}\n> ");
  last.type("book Ritz\n");
  last.read_until("review> ");
  last.type("ignore\n");
  last.read_until("<- book: The call was ignored.");
  last.read_until("\n> ");
  leave(last);
}

BOOST_AUTO_TEST_CASE(ctrl_c_stops_answer_which_another_process_resumes) {
  const auto at = desk{};
  {
    auto chat = terminal_process{at.command()};
    chat.read_until("> ");
    chat.type("wait\n");
    chat.read_until("-> [1] endless {}\n  -> [2] calculator");
    chat.read_until("<- [2] calculator: 42\n");
    chat.type(terminal_process::ctrl_c);
    chat.read_until("Stopped; /continue resumes it.\n> ");
    chat.type(terminal_process::ctrl_c); // exits at the prompt
    chat.read_until("The thread is saved");
    BOOST_TEST(chat.exit_code() == 0);
  }
  auto again = terminal_process{at.command()};
  again.read_until("is incomplete; /continue resumes it.\n> ");
  again.type("/history\n");
  const auto shown = again.read_until("<- [2] calculator: 42\n--- end of history ---\n> ");
  BOOST_TEST(
      shown.find(
          "<- [1] endless: Error: the call of tool 'endless' was stopped: the run was cancelled") !=
          shown.npos,
      shown);
  again.type("/continue\n");
  again.read_until("It is 42.\n> ");
  again.type("add 1 and 2\n");
  again.read_until("It is 3.\n> ");
  leave(again);
}

BOOST_AUTO_TEST_CASE(signal_that_ends_chat_restores_terminal) {
  for (const auto* signal : {"TERM", "HUP"}) {
    const auto at = desk{"  - command:\n      name: end_it\n      description: Ends the chat.\n"
                         "      argv: [/bin/sh, -c, 'kill -" +
                         std::string{signal} + " $PPID']\n"};
    for (const auto* term : {"dumb", "xterm"}) {
      auto line = "TERM=" + std::string{term};
      for (const auto& word : at.command(term))
        line += " '" + word + "'";
      auto chat = terminal_process{{"/bin/sh", "-c", line + "; stty -a"}};
      chat.read_until("> ");
      chat.type("end\r");
      const auto shown = chat.read_rest();
      BOOST_TEST(shown.find(" icanon") != shown.npos, shown);
      BOOST_TEST(shown.find(" echo ") != shown.npos, shown);
      BOOST_TEST((shown.find("\x1b[?2004l") != shown.npos) == (term == std::string_view{"xterm"}));
    }
  }
}

BOOST_AUTO_TEST_CASE(killed_conversation_continues_with_new_input) {
  const auto at = desk{};
  {
    auto chat = terminal_process{at.command()};
    chat.read_until("> ");
    chat.type("wait\n");
    chat.read_until("<- [2] calculator: 42\n");
    chat.kill();
    BOOST_TEST(chat.exit_code() == -1);
  }
  auto again = terminal_process{at.command()};
  again.read_until("is incomplete");
  again.read_until("> ");
  again.type("add 1 and 2\n");
  again.read_until("It is 3.\n> ");
  again.type("/history\n");
  const auto shown = again.read_until("It is 3.\n--- end of history ---\n> ");
  BOOST_TEST(shown.find("endless: The call was stopped before it ended") != shown.npos, shown);
  leave(again);
}

BOOST_AUTO_TEST_CASE(each_line_of_piped_input_is_answered) {
  const auto at = desk{};
  const auto end = at.shell("printf 'add 3 and 4\\n\\nhello\\n' |");
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(end.out == "Let me add.\n  -> calculator {\"expression\":\"3 + 4\"}\n"
                        "  <- calculator: 7\nIt is 7.\nI heard: hello\n");
  BOOST_TEST(end.err.starts_with("thread t in "), end.err);
}

BOOST_AUTO_TEST_CASE(chat_ends_when_answers_cannot_be_written) {
  const auto at = desk{};
  const auto full = at.shell("printf 'hello\\nyou\\n' |", " >/dev/full");
  BOOST_TEST(full.exit_code == 1, full.err);
  BOOST_TEST(full.err.find("cannot write to standard output") != full.err.npos, full.err);
  const auto later = at.shell("echo /history |");
  BOOST_TEST(later.out == "> hello\nI heard: hello\n"); // the answer is saved
}

BOOST_AUTO_TEST_CASE(next_piped_line_answers_pending_interrupt) {
  const auto at = desk{review};
  const auto asked = at.shell("printf 'book Ritz\\n' |");
  BOOST_TEST(asked.exit_code == 3, asked.err);
  BOOST_TEST(asked.out.ends_with("  accept, edit {JSON} or ignore\n"), asked.out);
  const auto end = at.shell("printf 'accept\\nhello\\n' |");
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(end.out.ends_with("The desk says {\"hotel\":\"Ritz\"}\nI heard: hello\n"), end.out);
}

BOOST_AUTO_TEST_CASE(each_review_of_an_answer_is_asked_once) {
  const auto at = desk{review};
  const auto end = at.shell("printf 'both\\nedit {\"hotel\":\"Savoy\"}\\nno\\nhello\\n' |");
  BOOST_TEST(end.exit_code == 0, end.err);
  auto reviews = 0;
  for (auto i = end.out.find("Review of"); i != end.out.npos; i = end.out.find("Review of", i + 1))
    ++reviews;
  BOOST_TEST(reviews == 2, end.out);
  BOOST_TEST(end.out.find("  <- [1] book: {\"hotel\":\"Savoy\"}\n") != end.out.npos, end.out);
  BOOST_TEST(end.out.find("  <- [2] book: The call was ignored.\n") != end.out.npos, end.out);
  const auto sum = end.out.find("calculator: 2\n");
  BOOST_TEST(sum != end.out.npos, end.out);
  BOOST_TEST(end.out.find("calculator: 2\n", sum + 1) == end.out.npos, end.out);
  BOOST_TEST(end.out.ends_with("It is 2.\nI heard: hello\n"), end.out);
}

BOOST_AUTO_TEST_CASE(failure_is_reported_and_conversation_continues) {
  const auto at = desk{"recursion_limit: 2\n"};
  const auto end = at.shell("printf 'wait\\nhello\\n' |");
  BOOST_TEST(end.out.find("Sorry, need more steps") != end.out.npos, end.out);
  BOOST_TEST(end.out.find("I heard: hello\n") != end.out.npos, end.out);
  const auto garbled = at.shell("printf 'a\\377b\\nhello\\n' |");
  BOOST_TEST(garbled.exit_code == 2);
  BOOST_TEST(garbled.out == "I heard: hello\n");
  const auto wrong = at.shell("printf '/nonsense\\n' |");
  BOOST_TEST(wrong.exit_code == 2);
  BOOST_TEST(wrong.err.find("error: unknown command /nonsense") != wrong.err.npos, wrong.err);
}

BOOST_AUTO_TEST_CASE(structured_response_is_printed_after_answer) {
  const auto place = desk{"response: {type: object, title: place, required: [city]}\n"};
  const auto end = place.shell("printf 'hello\\n' |");
  BOOST_TEST(end.exit_code == 0, end.err);
  BOOST_TEST(end.out == "I heard: hello\n{\"city\":\"Oslo\"}\n");
}

BOOST_AUTO_TEST_CASE(old_messages_are_replaced_by_summary) {
  const auto forgetful = desk{"hooks: {summarise: {tokens: 1, keep: 1}}\n"};
  const auto shown = forgetful.shell("printf 'one\\ntwo\\n/history\\n' |");
  BOOST_TEST(shown.exit_code == 0, shown.err);
  BOOST_TEST(shown.out == "I heard: one\nI heard: two\n"
                          "> A summary of the conversation so far:\n"
                          "I heard: Human: one\nAI: I heard: one\n"
                          "> two\nI heard: two\n");
}

BOOST_AUTO_TEST_CASE(store_is_shared_between_threads) {
  // The store is in the file of the threads, to show that both can share a file.
  const auto at = desk{"store: {path: agent.threads.db}\n"};
  const auto tools = std::string{" --set 'tools=[remember, recall]'"};
  const auto noted = at.shell("printf 'note this\\n' |", tools);
  BOOST_TEST(noted.exit_code == 0, noted.err);
  BOOST_TEST(noted.out.ends_with("  <- remember: Kept.\nI heard: Kept.\n"), noted.out);
  const auto found = at.shell("printf 'recall\\n' |", tools, "another");
  BOOST_TEST(found.exit_code == 0, found.err);
  BOOST_TEST(found.out.ends_with("  <- recall: n: this\nI heard: n: this\n"), found.out);
}

BOOST_AUTO_TEST_CASE(batch_rejects_reviews_summaries_and_stores) {
  const auto at = desk{std::string{review} + "hooks: {summarise: {}}\nstore: {path: m.db}\n"};
  const auto drawn = process{{superstep_program(), "graph", at.path("agent.yaml")}}.wait();
  BOOST_TEST(drawn.out.find("pre_model_hook --> agent") != drawn.out.npos, drawn.out);
  const auto refused = run_row(at, "hi");
  BOOST_TEST(refused.exit_code == 1);
  BOOST_TEST(refused.err.find("agent.yaml:7: review.book: a batch cannot ask a person") !=
                 refused.err.npos,
             refused.err);
  BOOST_TEST(refused.err.find("agent.yaml:8: hooks.summarise: not supported by superstep run") !=
             refused.err.npos);
  BOOST_TEST(refused.err.find("agent.yaml:9: store: not supported") != refused.err.npos);
  BOOST_TEST(
      run_row(at, "hi", {"--set", "review=", "--set", "hooks=", "--set", "store="}).exit_code == 0);
}

BOOST_AUTO_TEST_CASE(batch_rows_contain_the_structured_response) {
  const auto at = desk{"hooks: {trim: {}}\nresponse: {type: object, required: [city]}\n"};
  const auto ended = run_row(at, "add 3 and 4");
  BOOST_TEST(ended.exit_code == 0, ended.err);
  const auto line = read_file(at.path("out.jsonl"));
  for (const auto* part : {R"("structured_response":{"city":"Oslo"})", R"("model_calls":3)",
                           R"("tool_calls":1)", R"("content":"It is 7.")"})
    BOOST_TEST(line.find(part) != line.npos, part << " in " << line);
}

BOOST_AUTO_TEST_CASE(agent_tool_runs_agent_of_another_file) {
  const auto at = desk{};
  write_file(at.path("boss.rules.yaml"),
             "rules:\n  - {type: human, calls: [{name: clerk, args: {request: '\\0'}}]}\n"
             "  - {type: tool, text: 'My clerk says: \\0'}\n");
  write_file(at.path("boss.yaml"),
             "model: {provider: scripted, path: boss.rules.yaml}\n"
             "tools:\n  - agent: {name: clerk, file: agent.yaml, timeout_ms: 3600000}\n");
  const auto with = [&](std::vector<std::string> words) {
    words.insert(words.begin(), superstep_program());
    return process{words}.wait();
  };
  const auto boss = at.path("boss.yaml");
  BOOST_TEST(with({"check", boss}).out == boss + ": ok, 1 tool (1 agent)\n");
  const auto drawn = with({"graph", boss});
  BOOST_TEST(drawn.out.find("tools -.-> clerk") != drawn.out.npos, drawn.out);
  const auto expanded = with({"graph", boss, "--expand"});
  BOOST_TEST(expanded.out.find("subgraph clerk") != expanded.out.npos, expanded.out);
  const auto talked = process{
      {"/bin/sh", "-c",
       "echo 'add 3 and 4' | " + superstep_program() + " chat '" + boss +
           "'"}}.wait();
  BOOST_TEST(talked.exit_code == 0, talked.err);
  BOOST_TEST(talked.out.ends_with("  <- clerk: It is 7.\nMy clerk says: It is 7.\n"), talked.out);
  const auto ended = run_row(at, "add 3 and 4", {}, "boss.yaml");
  BOOST_TEST(ended.exit_code == 0, ended.err);
  const auto line = read_file(at.path("out.jsonl"));
  BOOST_TEST(line.find("My clerk says: It is 7.") != line.npos, line);
}

BOOST_AUTO_TEST_SUITE_END()
