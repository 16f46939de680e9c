// SPDX-License-Identifier: Apache-2.0
// superstep chat AGENT: a conversation in the terminal. This file parses the arguments and builds
// the parts of the conversation. chat_session.cpp runs it.
#include "base/error_words.hpp"
#include "base/hex.hpp"
#include "base/visible_text.hpp"
#include "checkpoint/open_database.hpp"
#include "cli/agent_files.hpp"
#include "cli/chat_session.hpp"
#include "cli/chat_words.hpp"
#include "cli/commands.hpp"
#include "cli/inspect.hpp"
#include "cli/usage.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <unistd.h>

namespace superstep::cli {

namespace {

struct chat_arguments {
  inspect_arguments agent;
  std::string thread;   // empty: a new thread
  std::string database; // empty: a file beside the agent file
};

/// Returns an id for a new thread: date, time, and random digits that make collisions unlikely.
std::string new_thread_id() {
  const auto now = std::time(nullptr);
  auto day = std::tm{};
  ::localtime_r(&now, &day);
  auto text = std::array<char, 32>{};
  const auto length = std::strftime(text.data(), text.size(), "chat-%Y%m%d-%H%M%S-", &day);
  auto out = std::string{text.data(), length};
  auto chance = std::random_device{};
  for (auto i = 0; i < 4; ++i)
    out += hex_digits[chance() % hex_digits.size()];
  return out;
}

std::string database_beside(const std::string& agent) {
  return std::filesystem::path{agent}.replace_extension(".threads.db").string();
}

bool wants_colours() {
  const auto* const term = std::getenv("TERM");
  const auto* const refused = std::getenv("NO_COLOR");
  return isatty(STDOUT_FILENO) != 0 && (refused == nullptr || *refused == '\0') &&
         term != nullptr && std::string_view{term} != "dumb";
}

run_config config_of(const agent_spec& spec, std::string thread) {
  auto out = run_config{};
  out.run_id = thread; // the model gets the same run id when the thread is resumed
  out.thread_id = std::move(thread);
  out.recursion_limit = spec.recursion_limit;
  out.deadline = spec.limits.row_deadline;
  auto kept = thread_options{};
  kept.durability = durability::sync; // an answer that the user has seen must survive a crash
  out.thread = std::move(kept);
  return out;
}

/// Returns an exit status with the meanings of `superstep run`. At a terminal it is always 0,
/// because the user has seen all failures.
int exit_code_of(chat_session::leaving how, bool is_at_keyboard) {
  if (is_at_keyboard || how == chat_session::leaving::ended)
    return 0;
  return how == chat_session::leaving::failed ? 2 : 3;
}

/// Returns a text such as `retry 2 of 8: connection refused`.
std::string words_of(const model_attempt& failed) {
  constexpr auto bytes_max = std::size_t{200};
  return "retry " + std::to_string(failed.number + 1) + " of " +
         std::to_string(failed.attempts_max) + ": " + one_line(failed.why, bytes_max);
}

int refuse_chat(const std::string& text) {
  std::cerr << "superstep chat: " << text << '\n';
  return 1;
}

int chat(const chat_arguments& given) {
  std::signal(SIGPIPE, SIG_IGN); // save the answer even if the reader of standard output has ended
  const auto io = std::make_shared<io_runtime>();
  const auto bell = std::make_shared<const wake_up>();
  const auto retries = std::make_shared<retry_notes>(bell);
  const auto built = build(given.agent, io, [&retries](agent_reading& reading) {
    if (auto* asked = std::get_if<provider_model_options>(&reading.spec.model))
      asked->on_retry = [retries](const model_attempt& failed) { retries->add(words_of(failed)); };
  });
  if (!built.agent)
    return failure_code(built);
  if (!is_set_up(*built.agent, *io))
    return 1;
  const auto database =
      given.database.empty() ? database_beside(given.agent.agent) : given.database;
  const auto is_file = !superstep::is_postgres_url(database);
  if (const auto checked = check_folder_of("--database", given.database); is_file && !checked)
    return refuse_chat(checked.error().text);
  const auto thread = given.thread.empty() ? new_thread_id() : given.thread;
  const auto is_at_keyboard = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;

  auto files = files_of(*built.agent);
  if (is_file)
    add_database(files, "the threads", database, used_file::use::read);
  if (const auto checked = check_distinct_files(files); !checked)
    return refuse_chat(checked.error().text);
  // Threads and long-term memory use the same key, because they may be in the same file.
  const auto& store = built.agent->spec().store;
  auto memory = store.empty() ? nullptr : detail::open_store(store);
  // Without an owner, the file of a batch job is rejected: the job deletes it when it ends.
  auto settings = chat_session::options{
      make_conversation(*built.agent, detail::open_threads(database, ""), std::move(memory)),
      config_of(built.agent->spec(), thread), is_at_keyboard, retries};
  auto shown = chat_view{std::cout, wants_colours()};
  // In a pipe, standard output contains only the agent's answers.
  auto remarks = is_at_keyboard ? shown : chat_view{std::cerr, false};
  remarks.remark("thread " + thread + " in " + database +
                 (is_at_keyboard ? "; /help lists the commands" : ""));
  auto input = keyboard{*bell, is_at_keyboard};
  auto lanes = engine{};
  auto session = chat_session{lanes, bell, input, shown, remarks, std::move(settings)};
  const auto how = session.run();
  if (is_at_keyboard)
    remarks.remark("The thread is saved; use --thread " + thread + " to resume it.");
  return exit_code_of(how, is_at_keyboard);
}

constexpr auto chat_examples = R"(Examples:
  superstep chat agent.yaml
  superstep chat agent.yaml --thread trip-to-oslo --database chat.db
  superstep chat agent.yaml --thread trip-to-oslo --database postgresql://db.example.com/chat
  echo 'What is 12 * 7?' | superstep chat agent.yaml

Use --thread to resume a thread later, even if a review is pending. Ctrl-C stops an answer; at the
prompt, Ctrl-C and Ctrl-D end the program. `superstep threads` shows saved threads. If the
environment variable SUPERSTEP_CHECKPOINT_KEY is set (64 hexadecimal digits), threads are encrypted.

Without a terminal, each line of standard input is a message, and standard output gets the answers.
The exit code is then 0 if all messages were answered, 1 after a usage or internal error, 2 if an
answer failed, 3 if the conversation stopped early or a review is pending, and 4 if the machine
lacks file descriptors, processes or memory. After 3 and 4, rerun with the same --thread to resume.)";

} // namespace

void add_chat(CLI::App& program, action& chosen) {
  auto given = std::make_shared<chat_arguments>();
  auto& verb = *program.add_subcommand("chat", "Talk with an agent in the terminal");
  add_agent_options(verb, given->agent);
  verb.add_option("--thread", given->thread,
                  "Id of the thread to resume or to create; default: a new id")
      ->check(thread_id());
  verb.add_option(
          "--database", given->database,
          "Database of the threads: a file, or postgresql://... for a server; default: AGENT "
          "with the extension .threads.db")
      ->check(named_file());
  verb.footer(chat_examples);
  verb.callback([given, &chosen] { chosen = [given] { return chat(*given); }; });
}

} // namespace superstep::cli
