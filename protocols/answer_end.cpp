// SPDX-License-Identifier: Apache-2.0
#include "protocols/answer_end.hpp"

#include "protocols/coerce_text.hpp"

#include <algorithm>
#include <array>

namespace superstep {

namespace {

constexpr auto reason_keys = std::array{std::string_view{"finish_reason"},
                                        std::string_view{"stop_reason"},
                                        std::string_view{"done_reason"}};

// Words of servers for an answer that the model ended itself, in lower case.
constexpr auto whole_words = std::array{
    std::string_view{"stop"},          std::string_view{"end_turn"},
    std::string_view{"stop_sequence"}, std::string_view{"tool_calls"},
    std::string_view{"tool_use"},      std::string_view{"function_call"},
    std::string_view{"eos"},           std::string_view{"eos_token"},
    std::string_view{"end"},           std::string_view{"completed"},
    std::string_view{"complete"},
};

bool is_same_word(std::string_view word, std::string_view lower) noexcept {
  return std::ranges::equal(word, lower, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

std::string_view text_of_member(const json::object& of, std::string_view key) noexcept {
  const auto* found = of.if_contains(key);
  return found != nullptr && found->is_string() ? text::view(found->get_string())
                                                : std::string_view{};
}

} // namespace

std::string_view cut_reason(const message& answer) noexcept {
  const auto& metadata = answer.response_metadata;
  for (const auto key : reason_keys) {
    const auto word = text_of_member(metadata, key);
    if (!word.empty() && std::ranges::none_of(whole_words, [&](auto whole) {
          return is_same_word(word, whole);
        }))
      return word;
  }
  // Responses: the status names the cut, the details its reason.
  if (text_of_member(metadata, "status") != "incomplete")
    return {};
  const auto* details = metadata.if_contains("incomplete_details");
  if (details != nullptr && details->is_object())
    if (const auto word = text_of_member(details->get_object(), "reason"); !word.empty())
      return word;
  return "incomplete";
}

} // namespace superstep
