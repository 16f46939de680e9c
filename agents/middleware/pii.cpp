// SPDX-License-Identifier: Apache-2.0
// Replaces personal data in the messages of the state. pii_detectors.cpp finds the data.
#include "agents/chat_history.hpp"
#include "base/digest.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace superstep {

namespace {

using pii_options_ptr = std::shared_ptr<const pii_options>;

std::string upper(std::string text) {
  for (auto& c : text)
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string last_part(std::string_view text, char separator) {
  return std::string{text.substr(text.rfind(separator) + 1)};
}

/// Returns the last characters of a UTF-8 text.
std::string last_characters(std::string_view text, std::size_t count) {
  auto begin = text.size();
  while (begin > 0 && count > 0)
    if ((static_cast<unsigned char>(text[--begin]) & 0xC0U) != 0x80U)
      --count;
  return std::string{text.substr(begin)};
}

std::string masked_card(std::string_view value) {
  auto digits = std::string{};
  for (const auto c : value)
    if (c >= '0' && c <= '9')
      digits += c;
  if (digits.size() <= 4)
    return "****";
  const auto end = digits.substr(digits.size() - 4);
  const auto* between = value.find('-') != std::string_view::npos   ? "-"
                        : value.find(' ') != std::string_view::npos ? " "
                                                                    : "";
  const auto four = std::string{"****"} + between;
  return four + four + four + end;
}

/// Masks a match. Detectors of applications may find values that do not have the form of the kind;
/// they are masked completely, because no part of them is known to be harmless.
std::string masked(std::string_view value, std::string_view kind) {
  if (kind == "email") {
    if (std::ranges::count(value, '@') != 1)
      return "****";
    const auto at = value.find('@');
    const auto domain = value.substr(at + 1);
    const auto end =
        domain.find('.') == std::string_view::npos ? std::string{} : "." + last_part(domain, '.');
    return std::string{value.substr(0, at)} + "@****" + end;
  }
  if (kind == "credit_card")
    return masked_card(value);
  if (kind == "ip")
    return std::ranges::count(value, '.') == 3 ? "*.*.*." + last_part(value, '.') : "****";
  if (kind == "mac_address") {
    const auto end = last_characters(value, 2);
    const auto one = std::string{value.find(':') != std::string_view::npos ? "**:" : "**-"};
    return end.size() < value.size() ? one + one + one + one + one + end : "****";
  }
  if (kind == "url")
    return "[MASKED_URL]";
  const auto end = last_characters(value, 4);
  return end.size() < value.size() ? "****" + end : "****";
}

/// Returns the message with all matches replaced; null if there are no matches.
message_ptr cleaned(const message& m, const pii_options& options) {
  const auto clean = [&](std::string_view text) {
    return without_pii(text, options.kind, options.find, options.strategy);
  };
  auto out = m;
  auto is_changed = false;
  const auto put = [&](auto& text) {
    auto now = clean(std::string_view{text.data(), text.size()});
    if (std::string_view{now} == std::string_view{text.data(), text.size()})
      return;
    text = now;
    is_changed = true;
  };
  put(out.content);
  if (out.blocks)
    for (auto& block : *out.blocks) {
      auto* text = block.if_string();
      if (auto* members = block.if_object(); members != nullptr)
        if (auto* inner = members->if_contains("text"); inner != nullptr)
          text = inner->if_string();
      if (text != nullptr)
        put(*text);
    }
  return is_changed ? std::make_shared<const message>(std::move(out)) : nullptr;
}

void add_cleaned(message_step& out, const message& m, const pii_options& options) {
  if (auto clean = cleaned(m, options))
    out.messages.push_back(std::move(clean));
}

message_step clean_input(const message_list& messages, const pii_options& options) {
  auto out = message_step{};
  auto is_newest = true; // no later human message exists
  auto is_new = true;    // no later AI message exists
  for (auto i = messages.size(); i > 0 && (is_newest || is_new); --i) {
    const auto& m = messages[i - 1];
    if (m.type == message_type::ai)
      is_new = false;
    if (m.type == message_type::human && std::exchange(is_newest, false) && options.input)
      add_cleaned(out, m, options);
    if (m.type == message_type::tool && is_new && options.tool_results)
      add_cleaned(out, m, options);
  }
  return out;
}

message_step clean_output(const message_list& messages, const pii_options& options) {
  auto out = message_step{};
  if (const auto* last = last_ai_message(messages))
    add_cleaned(out, *last, options);
  return out;
}

} // namespace

pii_error::pii_error(const std::string& kind, std::size_t count)
    : std::runtime_error{"Detected " + std::to_string(count) + " instance(s) of " + kind +
                         " in text content"} {}

std::string without_pii(std::string_view text, const std::string& kind, const pii_detector& find,
                        pii_strategy strategy) {
  const auto found = find(text);
  if (!found.empty() && strategy == pii_strategy::block)
    throw pii_error{kind, found.size()};
  auto out = std::string{};
  auto done = std::size_t{0};
  for (const auto& match : found) {
    const auto value = text.substr(match.begin, match.end - match.begin);
    out += text.substr(done, match.begin - done);
    if (strategy == pii_strategy::redact)
      out += "[REDACTED_" + upper(kind) + "]";
    else if (strategy == pii_strategy::hash)
      out += "<" + kind + "_hash:" + digest_text(value).substr(0, 8) + ">";
    else
      out += masked(value, kind);
    done = match.end;
  }
  return out += text.substr(done);
}

message_middleware pii(pii_options options) {
  if (!options.find)
    options.find = detector_of(options.kind);
  auto out = message_middleware{};
  out.name = "PIIMiddleware[" + options.kind + "]";
  const auto shared = std::make_shared<const pii_options>(std::move(options));
  if (shared->input || shared->tool_results)
    out.before_model.run = [shared](const message_list& messages, const runtime&) {
      return ready(clean_input(messages, *shared));
    };
  if (shared->output)
    out.after_model.run = [shared](const message_list& messages, const runtime&) {
      return ready(clean_output(messages, *shared));
    };
  return out;
}

} // namespace superstep
