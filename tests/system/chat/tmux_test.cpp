// SPDX-License-Identifier: Apache-2.0
// `superstep chat` in a terminal with line editing, run in tmux. Skipped without tmux.
#include "system/process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

using superstep::testing::process;
using superstep::testing::superstep_program;
using superstep::testing::temporary_folder;
using superstep::testing::write_file;
namespace utf = boost::unit_test;

namespace tmux_test {

namespace {

constexpr auto rules = std::string_view{R"(rules:
  - type: human
    match: 'add (\d+) and (\d+)'
    calls: [{name: calculator, args: {expression: '\1 + \2'}}]
  - {type: tool, tool: calculator, text: 'It is \0.'}
  - {type: human, match: 'pause', text: Pausing., calls: [{name: pause}]}
  - {type: tool, tool: pause, text: Paused.}
  - {type: human, match: 'slow (\w+)', calls: [{name: pause}, {name: book, args: {hotel: '\1'}}]}
  - {type: human, match: 'book (.+)', calls: [{name: book, args: {hotel: '\1'}}]}
  - {type: tool, tool: book, text: 'The desk says \0'}
default: {text: 'I heard: \0'}
)"};

constexpr auto agent = std::string_view{R"(model: {provider: scripted, path: rules.yaml}
tools:
  - calculator
  - simulated: {name: book}
  - simulated: {name: pause, delay_ms: 1500}
review: [book]
)"};

constexpr auto dead_server = std::string_view{
    "model: {provider: openai, model: m, base_url: 'http://127.0.0.1:1/v1', api_key_env: '', "
    "attempts_max: 3}\n"};

/// A chat in a window of 30 lines.
class window {
public:
  explicit window(std::string_view file = agent, std::size_t columns = 90) {
    write_file(folder_ / "rules.yaml", rules);
    write_file(folder_ / "agent.yaml", file);
    run({"new-session", "-d", "-x", std::to_string(columns), "-y", "30",
         "exec '" + superstep_program() + "' chat '" + (folder_ / "agent.yaml") + "' --thread t"});
    wait_for("/help lists the commands\n>");
  }
  window(const window&) = delete;
  window& operator=(const window&) = delete;
  ~window() { run({"kill-server"}); }

  void resize(std::size_t columns) const {
    run({"resize-window", "-x", std::to_string(columns), "-y", "30"});
  }
  void type(const std::string& text) const { run({"send-keys", "-l", text}); }
  void key(const std::string& name) const { run({"send-keys", name}); }
  void say(const std::string& text) const {
    type(text);
    key("Enter");
  }
  /// @param how -p for a bracketed paste, -r for typed input
  void paste(const std::string& text, const std::string& how) const {
    run({"set-buffer", text});
    run({"paste-buffer", how});
  }
  [[nodiscard]] std::string screen() const {
    return run({"capture-pane", "-p", "-J", "-S", "-200"});
  }

  /// Returns the screen once it shows the text `times` times. Throws if it does not.
  std::string wait_for(std::string_view text, std::size_t times = 1) const {
    constexpr auto timeout = std::chrono::seconds{60};
    const auto began = std::chrono::steady_clock::now();
    auto shown = screen();
    while (count(shown, text) < times) {
      if (std::chrono::steady_clock::now() - began > timeout)
        throw std::runtime_error{"'" + std::string{text} + "' was not shown; screen:\n" + shown};
      std::this_thread::sleep_for(std::chrono::milliseconds{20}); // polling interval
      shown = screen();
    }
    return shown;
  }

  static std::size_t count(std::string_view shown, std::string_view text) {
    auto out = std::size_t{0};
    for (auto at = shown.find(text); at != shown.npos; at = shown.find(text, at + text.size()))
      ++out;
    return out;
  }

private:
  [[nodiscard]] std::string socket() const { return folder_ / "tmux"; }
  std::string run(const std::vector<std::string>& words) const {
    auto command =
        std::vector<std::string>{"/usr/bin/tmux", "-u", "-f", "/dev/null", "-S", socket()};
    command.insert(command.end(), words.begin(), words.end());
    return process{command}.wait().out;
  }

  temporary_folder folder_;
};

boost::test_tools::assertion_result has_tmux(utf::test_unit_id) {
  auto out = boost::test_tools::assertion_result{::access("/usr/bin/tmux", X_OK) == 0};
  out.message() << "/usr/bin/tmux is not installed";
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(chat_in_tmux, *utf::precondition(has_tmux))

BOOST_AUTO_TEST_CASE(edited_and_recalled_lines_are_sent_as_shown) {
  const auto chat = window{};
  chat.type("dd 3 and 5");
  chat.key("BSpace");
  chat.type("4");
  chat.key("Home");
  chat.type("a");
  chat.wait_for("> add 3 and 4");
  chat.key("Enter");
  chat.wait_for("It is 7.");
  chat.key("Up");
  chat.wait_for("> add 3 and 4", 2);
  chat.key("BSpace");
  chat.say("9");
  chat.wait_for("It is 12.");
  chat.type("x y");
  chat.key("Left");
  chat.key("Left");
  chat.key("DC");
  chat.type("ä日");
  chat.key("End");
  chat.say("!");
  const auto shown = chat.wait_for("I heard: xä日y!");
  BOOST_TEST(shown.find("^[[") == shown.npos, shown);
}

BOOST_AUTO_TEST_CASE(control_and_meta_keys_edit_the_line) {
  const auto chat = window{};
  const auto expect_sent = [&](const std::string& text) {
    chat.key("Enter");
    chat.wait_for("I heard: " + text + "\n");
  };
  chat.type("bb cc");
  chat.key("C-a");
  chat.type("aa ");
  chat.key("C-e");
  chat.type(" dd");
  expect_sent("aa bb cc dd");
  chat.type("one two XX");
  chat.key("C-w");
  chat.type("three");
  expect_sent("one two three");
  chat.type("keep drop");
  chat.key("C-a");
  chat.key("M-f");
  chat.key("C-k");
  expect_sent("keep");
  chat.type("gone");
  chat.key("C-u");
  chat.type("fresh");
  expect_sent("fresh");
  chat.type("x y z");
  chat.key("M-b");
  chat.key("M-b");
  chat.type("Q");
  expect_sent("x Qy z");
  chat.key("Up");
  chat.key("Up");
  chat.key("Down");
  chat.key("BSpace");
  chat.type("!");
  expect_sent("x Qy !");
}

BOOST_AUTO_TEST_CASE(pasted_lines_are_sent_as_one_message) {
  const auto chat = window{};
  chat.paste("one\ntwo\n", "-p");
  chat.wait_for("one⏎two⏎");
  chat.say("three");
  const auto shown = chat.wait_for("three", 2);
  BOOST_TEST(window::count(shown, "I heard: one\ntwo\nthree\n") == 1u, shown);
  BOOST_TEST(window::count(shown, "I heard:") == 1u, shown);
}

BOOST_AUTO_TEST_CASE(keys_typed_during_answer_appear_after_it) {
  const auto chat = window{};
  chat.say("pause");
  chat.wait_for("-> pause");
  chat.say("add 1 and 2");
  const auto shown = chat.wait_for("It is 3.");
  BOOST_TEST(window::count(shown, "add 1 and 2") == 1u, shown);
  BOOST_TEST(shown.find("Paused.") < shown.find("add 1 and 2"), shown);
}

BOOST_AUTO_TEST_CASE(lines_typed_before_review_do_not_answer_it) {
  for (const auto* how : {"-r", "-p"}) {
    const auto chat = window{};
    chat.paste("book Ritz\nyes\nyes\n", how);
    if (std::string_view{how} == "-p")
      chat.key("Enter");
    chat.wait_for("review>");
    chat.say("ignore");
    const auto shown = chat.wait_for("The call was ignored.");
    BOOST_TEST(shown.find("<- book: {") == shown.npos, shown);
  }
}

BOOST_AUTO_TEST_CASE(keys_typed_during_call_do_not_answer_review) {
  const auto chat = window{};
  chat.say("slow Ritz");
  chat.wait_for("-> [1] pause");
  chat.say("yes");
  chat.paste("yes\nyes\n", "-p");
  chat.key("Enter");
  chat.wait_for("Review of book [2]:");
  chat.wait_for("review>");
  chat.say("ignore");
  const auto shown = chat.wait_for("<- [2] book: The call was ignored.");
  BOOST_TEST(shown.find("<- [2] book: {") == shown.npos, shown);
}

BOOST_AUTO_TEST_CASE(review_shows_invisible_characters) {
  const auto chat = window{};
  chat.say("book a\u200Bb\u202Ec\u2028d");
  chat.wait_for(R"({"hotel":"a<U+200B>b<U+202E>c<U+2028>d"})");
  chat.wait_for("review>");
  chat.say("ignore");
  chat.wait_for("The call was ignored.");
}

BOOST_AUTO_TEST_CASE(ctrl_c_discards_input_typed_during_answer) {
  const auto chat = window{};
  chat.say("pause");
  chat.wait_for("-> pause");
  chat.say("add 1 and 2");
  chat.key("C-c");
  chat.wait_for("Stopped;");
  chat.say("hello");
  const auto shown = chat.wait_for("I heard: hello");
  BOOST_TEST(shown.find("It is 3.") == shown.npos, shown);
}

BOOST_DATA_TEST_CASE(resized_chat_shows_each_line_once, utf::data::make({60, 80, 120, 200}),
                     columns) {
  const auto chat = window{agent, static_cast<std::size_t>(columns)};
  chat.say("pause");
  chat.wait_for("-> pause");
  for (const auto width : {200, 60, 120, 80})
    chat.resize(static_cast<std::size_t>(width));
  chat.wait_for("Paused.");
  chat.type("add 20 and 22, which is a question of more than sixty characters");
  chat.resize(60);
  chat.resize(static_cast<std::size_t>(columns));
  chat.key("Enter");
  const auto shown = chat.wait_for("It is 42.");
  for (const auto* line :
       {"> pause\n", "Pausing.", "-> pause", "Paused.", "-> calculator", "It is 42."})
    BOOST_TEST(window::count(shown, line) == 1u, line << " in\n" << shown);
}

BOOST_AUTO_TEST_CASE(chat_shows_each_retry_of_unreachable_server) {
  const auto chat = window{dead_server};
  chat.say("hello");
  chat.wait_for("retry 2 of 3: ");
  chat.wait_for("retry 3 of 3: ");
  chat.wait_for("tried 3 times");
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace tmux_test
