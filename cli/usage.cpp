// SPDX-License-Identifier: Apache-2.0
// Checks of option values, and the error texts of invalid command lines. CLI11 parses; its texts do
// not name unknown verbs, and its numbers accept more than this program does.
#include "cli/usage.hpp"

#include "base/similar_word.hpp"
#include "base/utf8.hpp"
#include "base/visible_text.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <vector>

namespace superstep::cli {

namespace {

/// Longest word of the user that is compared and printed.
constexpr auto word_bytes_max = std::size_t{100};

/// Returns `; did you mean 'x'?` for a similar word; empty if there is none.
std::string suggestion(std::string_view word, const std::vector<std::string>& known) {
  const auto meant = similar_word(word, known);
  return meant ? "; did you mean '" + *meant + "'?" : std::string{};
}

std::string in_quotes(const std::string& word) {
  return "'" + word.substr(0, word_bytes_max) + (word.size() > word_bytes_max ? "…'" : "'");
}

std::vector<std::string> verbs_of(const CLI::App& at) {
  auto out = std::vector<std::string>{};
  for (const auto* verb : at.get_subcommands([](const CLI::App*) { return true; }))
    out.push_back(verb->get_name());
  return out;
}

std::vector<std::string> options_of(const CLI::App& at) {
  auto out = std::vector<std::string>{};
  for (const auto* option : at.get_options())
    for (const auto& name : option->get_lnames())
      out.push_back("--" + name);
  return out;
}

/// Returns the error for words that are neither options nor expected arguments of the verb; empty
/// if there are none.
std::string unexpected(const CLI::App& at, const std::vector<std::string>& words) {
  const auto is_option = [](const std::string& word) {
    return word.size() > 1 && word.front() == '-';
  };
  const auto verbs = verbs_of(at);
  const auto is_verb_wrong = !verbs.empty() && !words.empty() && !is_option(words.front());
  const auto option = std::ranges::find_if(words, is_option);
  if (option != words.end() && !is_verb_wrong) {
    const auto name = option->substr(0, std::min(option->find('='), word_bytes_max));
    return "unknown option " + in_quotes(name) + suggestion(name, options_of(at));
  }
  const auto list = CLI::detail::join(verbs, ", ");
  if (words.empty())
    return verbs.empty() ? std::string{} : "a verb is required: " + list;
  const auto& word = words.front();
  if (verbs.empty() || std::ranges::find(verbs, word) != verbs.end())
    return "unexpected argument " + in_quotes(word);
  return in_quotes(word) + " is not a verb; verbs: " + list +
         suggestion(word.substr(0, word_bytes_max), verbs);
}

/// Returns the error for an option with too few or too many values; empty if all are correct.
std::string wrong_count(const CLI::App& at, const std::string& text) {
  for (const auto* option : at.get_options())
    if (const auto given = option->results().size();
        option->get_items_expected_max() > 0 &&
        given > static_cast<std::size_t>(option->get_items_expected_max()))
      return option->get_name() + ": specified " + std::to_string(given) +
             " times; specify it once";
  const auto name = text.substr(0, text.find(':'));
  return text.ends_with(" missing") ? name + ": a value is missing" : text;
}

} // namespace

CLI::Validator whole_number(std::uint64_t min, std::uint64_t max) {
  const auto range = std::to_string(min) + " to " + std::to_string(max);
  return {[=](std::string& text) {
            auto number = std::uint64_t{0};
            const auto* const end = text.data() + text.size();
            const auto [stop, code] = std::from_chars(text.data(), end, number);
            if (text.empty() || stop != end || code != std::errc{} || number < min || number > max)
              return "must be a whole number from " + range + ", not " + in_quotes(text);
            text = std::to_string(number); // CLI11 reads a leading 0 as octal
            return std::string{};
          },
          ""};
}

CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[words](const std::string& text) {
            return std::ranges::find(words, text) != words.end()
                       ? std::string{}
                       : in_quotes(text) + " is not one of: " + CLI::detail::join(words, ", ");
          },
          '{' + CLI::detail::join(words, ",") + '}'};
}

CLI::Validator not_empty() {
  return {[](const std::string& text) { return text.empty() ? "is empty" : std::string{}; }, ""};
}

CLI::Validator thread_id() {
  return {[](const std::string& text) -> std::string {
            if (const auto fault = find_encoding_fault(text))
              return fault->text;
            return text.empty() ? "is empty" : "";
          },
          ""};
}

CLI::Validator named_file() {
  return {[](const std::string& text) -> std::string {
            if (text.empty())
              return "is empty";
            return text == "-" ? "must be the path of a file, not -; for a file named -, use ./-"
                               : "";
          },
          ""};
}

std::string usage_error(const CLI::App* program, const CLI::Error& failed) {
  const auto* at = program;
  auto path = std::string{"superstep"};
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) {
    // Words before a verb belong to the program, whatever follows.
    if (!at->remaining(false).empty())
      break;
    at = chosen.front();
    path += ' ' + at->get_name();
  }
  const auto* const mismatch = dynamic_cast<const CLI::ArgumentMismatch*>(&failed);
  auto text = std::string{};
  const auto is_required = dynamic_cast<const CLI::RequiredError*>(&failed) != nullptr;
  if (is_required || dynamic_cast<const CLI::ExtrasError*>(&failed) != nullptr)
    text = unexpected(*at, at->remaining(false));
  if (is_required && text.starts_with("unexpected")) // a value may be missing before it
    text = failed.what() + ("; " + text);
  else if (mismatch != nullptr)
    text = wrong_count(*at, failed.what());
  if (text.empty())
    text = failed.what();
  return visible_text(path + ": " + text) + "\nRun " + path + " --help for more information.\n";
}

} // namespace superstep::cli
