// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_session.hpp"

#include "actors/engine_access.hpp"
#include "cli/chat_events.hpp"
#include "cli/chat_words.hpp"

#include <utility>

namespace superstep::cli {

namespace {

constexpr auto help = R"(What is typed is said to the agent, but for
  /history   shows the conversation
  /continue  goes on with an answer that was stopped or failed
  /quit      leaves, as Ctrl-D does; the thread is kept
  //words    says words that begin with a slash
Ctrl-C stops an answer; at the prompt it leaves.)";

detail::run_input said(std::string words) {
  auto messages = message_list{};
  messages.push_back(human_message(std::move(words)));
  // What a hook let the model read belongs to the turn before.
  return detail::input_writes(update{set<&chat_state::messages>(std::move(messages)),
                             set<&chat_state::llm_input_messages>(message_list{})});
}

/// What a review asks: a list of one human_interrupt.
result<human_interrupt> read_question(const json::value& asked) {
  const auto* list = asked.if_array();
  if (list == nullptr || list->size() != 1)
    return error{errc::parse_failed, "the thread waits for something that no review asks"};
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
  }
  return result_;
}

/// A thread may have been left at any point.
chat_session::turn chat_session::begin() {
  const auto at = look_at(given_.conversation, thread());
  if (!at.messages.empty())
    remarks_.remark("It goes on after " + std::to_string(at.messages.size()) +
                    " messages; /history shows them.");
  if (!at.questions.empty())
    return resume();
  if (at.is_unfinished)
    remarks_.remark("The last answer did not come to its end; /continue goes on with it.");
  return turn::over;
}

chat_session::turn chat_session::obey(const std::string& line) {
  using kind = typed_line::kind;
  auto typed = read_typed(line);
  switch (typed.what) {
  case kind::nothing:
    return turn::over;
  case kind::words:
    end_open_calls(given_.conversation, thread(), "the conversation went on without it.");
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
    remarks_.failed("there is no command " + typed.text + "; /help lists them");
    result_ = leaving::failed;
    return turn::over;
  }
  return turn::over;
}

/// The marks are remarks: in a pipe the answers are elsewhere.
void chat_session::show_history(const message_list& messages) {
  remarks_.remark("--- history: " + std::to_string(messages.size()) + " messages ---");
  shown_.history(messages);
  remarks_.remark("--- end of history ---");
}

chat_session::turn chat_session::resume() {
  const auto at = look_at(given_.conversation, thread());
  if (!at.questions.empty()) {
    auto answers = ask(at.questions);
    return answers ? answer(*std::move(answers)) : turn::leave;
  }
  if (at.is_unfinished)
    return answer(detail::run_input::resume());
  remarks_.remark("There is nothing to go on with.");
  return turn::over;
}

/// One answer of the agent, with everything that it asks on the way.
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
  const auto silent = keyboard::silence{input_}; // keys do not mix with the answer
  const auto run = detail::engine_access::start(
      lanes_, detail::program_of(given_.conversation), std::move(input), given_.config,
      [events](detail::raw_result ended) { events->close(std::move(ended)); }, chat_view::modes,
      events);
  for (;;) {
    auto news = events->take();
    for (const auto& event : news.events)
      shown_.hear(event);
    for (const auto& note : given_.retries ? given_.retries->take() : std::vector<std::string>{}) {
      shown_.end_answer(); // the next attempt begins it again
      remarks_.remark(note);
    }
    if (news.ended) {
      shown_.end_answer();
      return *std::move(news.ended);
    }
    if (bell_->take_interrupt()) {
      run.cancel();
      input_.discard(); // lines that were meant to follow the answer
    } else if (news.events.empty()) {
      bell_->sleep(-1);
    }
  }
}

void chat_session::end_badly(const run_error& why) {
  const auto is_stopped = why.code == graph_errc::cancelled;
  if (is_stopped)
    remarks_.remark("Stopped; /continue goes on with it.");
  else
    remarks_.failed(why.text);
  result_ = is_stopped ? leaving::stopped : leaving::failed;
  end_open_calls(given_.conversation, thread(),
                 is_stopped ? "the user stopped the answer." : "the answer failed.");
}

/// Nothing runs until all of them are answered: they are asked together.
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
  input_.discard(); // lines that came before the question do not answer it
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
      shown_.prompt("\n"); // what the shell says next begins a line of its own
    if (is_utf8(typed.line))
      return typed;
    result_ = leaving::failed;
    remarks_.failed("the line is no UTF-8; nothing was said");
  }
}

} // namespace superstep::cli
