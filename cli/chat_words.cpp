// SPDX-License-Identifier: Apache-2.0
// Parses the lines that a user types in a conversation: messages, commands and answers to reviews.
#include "cli/chat_words.hpp"

#include "base/ascii_text.hpp"

#include <superstep/base/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace superstep::cli {

namespace {

using command = typed_line::kind;
constexpr auto commands = std::array{
    std::pair{std::string_view{"/history"}, command::history},
    std::pair{std::string_view{"/help"}, command::help},
    std::pair{std::string_view{"/continue"}, command::resume},
    std::pair{std::string_view{"/quit"}, command::quit},
    std::pair{std::string_view{"/exit"}, command::quit},
};

using response = human_response::kind;
constexpr auto responses = std::array{
    std::pair{std::string_view{"accept"}, response::accept},
    std::pair{std::string_view{"a"}, response::accept},
    std::pair{std::string_view{"yes"}, response::accept},
    std::pair{std::string_view{"y"}, response::accept},
    std::pair{std::string_view{"edit"}, response::edit},
    std::pair{std::string_view{"e"}, response::edit},
    std::pair{std::string_view{"respond"}, response::response},
    std::pair{std::string_view{"r"}, response::response},
    std::pair{std::string_view{"ignore"}, response::ignore},
    std::pair{std::string_view{"i"}, response::ignore},
    std::pair{std::string_view{"no"}, response::ignore},
    std::pair{std::string_view{"n"}, response::ignore},
};

error refused(std::string text) {
  return error{errc::invalid_argument, std::move(text)};
}

result<human_response> with_words(human_response out, std::string_view rest,
                                  const human_interrupt& asked) {
  if (out.type == response::edit) {
    const auto args = parse_json(rest);
    if (!args || !args->is_object())
      return refused("edit requires the arguments as a JSON object, e.g. edit " +
                     to_text(asked.action.args) +
                     (args || rest.empty() ? "" : "; " + args.error().text));
    out.args = action_request{asked.action.action, args->get_object()};
  } else if (out.type == response::response) {
    if (rest.empty())
      return refused("respond requires a text, which replaces the tool's result");
    out.args = std::string{rest};
  } else if (!rest.empty()) {
    return refused("unexpected text after the answer: " + std::string{rest});
  }
  return out;
}

} // namespace

typed_line read_typed(std::string_view line) {
  const auto text = trimmed(line);
  if (text.empty())
    return {};
  if (text.starts_with("//"))
    return {command::words, std::string{text.substr(1)}};
  if (!text.starts_with('/'))
    return {command::words, std::string{text}};
  for (const auto& [name, what] : commands)
    if (name == text)
      return {what};
  return {command::unknown, std::string{text}};
}

result<human_response> read_review(std::string_view line, const human_interrupt& asked) {
  const auto text = trimmed(line);
  const auto word = text.substr(0, text.find_first_of(" \t\r\n"));
  const auto rest = trimmed(text.substr(word.size()));
  const auto* const found =
      std::ranges::find(responses, word, [](const auto& r) { return r.first; });
  if (found == responses.end() || !is_allowed(found->second, asked.config))
    return refused("answer with " + choices_of(asked.config));
  return with_words({found->second, {}}, rest, asked);
}

std::string choices_of(const human_interrupt_config& config) {
  auto words = std::vector<std::string>{};
  if (config.allow_accept)
    words.emplace_back("accept");
  if (config.allow_edit)
    words.emplace_back("edit {JSON}");
  if (config.allow_respond)
    words.emplace_back("respond TEXT");
  if (config.allow_ignore)
    words.emplace_back("ignore");
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

} // namespace superstep::cli
