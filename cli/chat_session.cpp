// SPDX-License-Identifier: Apache-2.0
// The loop of a conversation: reads lines, runs the agent, asks for reviews, and handles Ctrl-C.
// keyboard.cpp reads the lines, chat_words.cpp parses them, and chat_view.cpp displays the answers.
#include "cli/chat_session.hpp"

#include "actors/engine_access.hpp"
#include "base/error_words.hpp"
#include "base/utf8.hpp"
#include "cli/chat_events.hpp"
#include "cli/chat_words.hpp"

#include <utility>

namespace superstep::cli {

namespace {

constexpr auto help = R"(Each line is a message to the agent, except
  /history   show the conversation
  /continue  resume an answer that was stopped or failed
  /quit      exit, like Ctrl-D; the thread is saved
  //words    send a message that begins with a slash
Ctrl-C stops an answer; at the prompt it exits.)";

/// Returns the input of a run for a message of the user.
detail::run_input said(std::string words) {
  auto messages = message_list{};
  messages.push_back(human_message(std::move(words)));
  // Clear the messages that a hook has selected for the model in the previous turn.
  return detail::input_writes(update{set<&chat_state::messages>(std::move(messages)),
                                     set<&chat_state::llm_input_messages>(message_list{})});
}

/// Parses the value of an interrupt, which for a review is a list with one human_interrupt.
result<human_interrupt> read_question(const json::value& asked) {
  const auto* list = asked.if_array();
  if (list == nullptr || list->size() != 1)
    return error{errc::parse_failed,
                 "the pending interrupt is not a tool review, so chat cannot answer it; resume the "
                 "thread with the program that raised the interrupt"};
  return human_interrupt_from_json(list->front());
}

} // namespace

chat_session::chat_session(engine& lanes, std::shared_ptr<const wake_up> bell, keyboard& input,
                           chat_view& shown, chat_view& remarks, options given)
    : lanes_{lanes}, bell_{std::move(bell)}, input_{input}, shown_{shown}, remarks_{remarks},
      given_{std::move(given)} {}

chat_session::leaving chat_session::run() {
  for (auto now = begin(); now == turn::over;) {
    const auto typed = read("> ");
    if (typed.why == line_reader::end::interrupt && !given_.is_at_keyboard)
      result_ = leaving::stopped;
    if (typed.why != line_reader::end::line)
      break;
    now = obey(typed.line);
    if (shown_.is_cut()) // no one would read the answers to further messages
      return leaving::ended;
  }
  return result_;
}

/// Shows whether a resumed thread has messages or an incomplete answer. If a review is pending,
/// asks for it.
chat_session::turn chat_session::begin() {
  const auto at = look_at(given_.conversation, thread());
  if (!at.messages.empty())
    remarks_.remark("Resuming a thread of " + counted(at.messages.size(), "message") +
                    "; /history shows the conversation.");
  if (!at.questions.empty())
    return resume();
  if (at.is_unfinished)
    remarks_.remark("The last answer is incomplete; /continue resumes it.");
  return turn::over;
}

chat_session::turn chat_session::obey(const std::string& line) {
  using kind = typed_line::kind;
  auto typed = read_typed(line);
  switch (typed.what) {
  case kind::nothing:
    return turn::over;
  case kind::words:
    end_open_calls(given_.conversation, thread(), "the conversation continued without it.");
    return answer(said(std::move(typed.text)));
  case kind::history:
    show_history(look_at(given_.conversation, thread()).messages);
    return turn::over;
  case kind::help:
    remarks_.remark(help);
    return turn::over;
  case kind::resume:
    return resume();
  case kind::quit:
    return turn::leave;
  case kind::unknown:
    remarks_.failed("unknown command " + typed.text + "; /help lists the commands");
    result_ = leaving::failed;
    return turn::over;
  }
  return turn::over;
}

/// Shows all messages between two marker lines. The markers are remarks, which go to standard error
/// in a pipe, so that its output contains only messages.
void chat_session::show_history(const message_list& messages) {
  remarks_.remark("--- history: " + counted(messages.size(), "message") + " ---");
  shown_.history(messages);
  remarks_.remark("--- end of history ---");
}

chat_session::turn chat_session::resume() {
  const auto at = look_at(given_.conversation, thread());
  if (!at.questions.empty()) {
    shown_.show_reviewed_calls(at.messages);
    auto answers = ask(at.questions);
    return answers ? answer(*std::move(answers)) : turn::leave;
  }
  if (at.is_unfinished)
    return answer(detail::run_input::resume());
  remarks_.remark("There is nothing to resume.");
  return turn::over;
}

/// Runs the agent until it has answered, and asks for all reviews that the answer needs.
chat_session::turn chat_session::answer(detail::run_input input) {
  for (;;) {
    const auto ended = run_once(std::move(input));
    if (ended.error) {
      end_badly(*ended.error);
      const auto leaves = result_ == leaving::stopped && !given_.is_at_keyboard;
      return leaves ? turn::leave : turn::over;
    }
    if (!ended.interrupts || ended.interrupts->empty())
      return turn::over;
    auto answers = ask(*ended.interrupts);
    if (!answers)
      return turn::leave;
    input = *std::move(answers);
  }
}

detail::raw_result chat_session::run_once(detail::run_input input) {
  const auto events = std::make_shared<chat_events>(bell_);
  const auto silent = keyboard::silence{input_}; // keys must not appear in the middle of the answer
  const auto run = detail::engine_access::start(
      lanes_, detail::program_of(given_.conversation), std::move(input), given_.config,
      [events](detail::raw_result ended) { events->close(std::move(ended)); }, chat_view::modes,
      events);
  for (;;) {
    auto news = events->take();
    for (const auto& event : news.events)
      shown_.hear(event);
    for (const auto& note : given_.retries ? given_.retries->take() : std::vector<std::string>{}) {
      shown_.end_answer(); // the retry streams the answer from its beginning
      remarks_.remark(note);
    }
    if (news.ended) {
      shown_.end_answer();
      return *std::move(news.ended);
    }
    if (bell_->take_interrupt()) {
      run.cancel();
      input_.discard(); // lines that the user typed while the answer was running
    } else if (news.events.empty()) {
      bell_->sleep(-1);
    }
  }
}

void chat_session::end_badly(const run_error& why) {
  const auto is_stopped = why.code == graph_errc::cancelled;
  if (is_stopped)
    remarks_.remark("Stopped; /continue resumes it.");
  else
    remarks_.failed(why.text);
  result_ = is_stopped ? leaving::stopped : leaving::failed;
  end_open_calls(given_.conversation, thread(),
                 is_stopped ? "the user stopped the answer." : "the answer failed.");
}

/// Asks for all pending reviews, because the run can be resumed only with all answers. Returns
/// nullopt if the user ends the conversation instead.
std::optional<detail::run_input> chat_session::ask(const std::vector<interrupt>& questions) {
  auto out = detail::thread_command{};
  for (const auto& one : questions) {
    const auto question = read_question(one.value);
    if (!question)
      throw std::runtime_error{question.error().text};
    const auto answered = ask(*question);
    if (!answered)
      return std::nullopt;
    out.resume_by_id.emplace(one.id, to_json(*answered));
  }
  return detail::run_input{std::move(out)};
}

std::optional<human_response> chat_session::ask(const human_interrupt& question) {
  shown_.question(question);
  input_.discard(); // a line that was typed before the question appeared must not answer it
  for (;;) {
    const auto typed = read("review> ");
    const auto command = read_typed(typed.line);
    if (typed.why != line_reader::end::line || command.what == typed_line::kind::quit) {
      result_ = leaving::stopped;
      return std::nullopt;
    }
    if (command.what == typed_line::kind::nothing)
      continue;
    auto answered = read_review(typed.line, question);
    if (answered)
      return *std::move(answered);
    remarks_.failed(answered.error().text);
  }
}

line_reader::read chat_session::read(std::string_view prompt) {
  for (;;) {
    if (given_.is_at_keyboard && !input_.shows_prompt())
      shown_.prompt(prompt);
    auto typed = input_.next(prompt);
    input_.remember(typed.line);
    if (given_.is_at_keyboard && typed.why != line_reader::end::line)
      shown_.prompt("\n");   // so that the shell's prompt begins a new line
    if (is_utf8(typed.line)) // only valid text can be saved in a checkpoint
      return typed;
    result_ = leaving::failed;
    remarks_.failed("the line is not valid UTF-8 and was ignored");
  }
}

} // namespace superstep::cli
