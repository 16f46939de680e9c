// SPDX-License-Identifier: Apache-2.0
// Parses server texts that are not valid JSON but that the providers' SDKs accept, for example with
// lone surrogates or duplicate keys. Valid texts never reach this slow path.
#include "models/http/answer_json.hpp"

#include "base/padded_json.hpp"
#include "messages/argument_json.hpp"

#include <algorithm>
#include <utility>

namespace superstep::models {

namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Returns the UTF-16 code unit of an escape such as \ud83d at the start of a text; -1 without one.
int unit_at(std::string_view text) {
  constexpr auto length = std::size_t{6};
  if (text.size() < length || text[0] != '\\' || text[1] != 'u' ||
      !std::all_of(text.begin() + 2, text.begin() + length, is_hex))
    return -1;
  return std::stoi(std::string{text.substr(2, 4)}, nullptr, 16);
}

bool is_high(int unit) {
  return unit >= 0xd800 && unit < 0xdc00;
}

bool is_low(int unit) {
  return unit >= 0xdc00 && unit < 0xe000;
}

/// Copies a JSON text and replaces lone surrogates, which are halves of a character.
class surrogate_mender {
public:
  explicit surrogate_mender(std::string_view text) : text_{text} {}

  std::string mend() {
    auto out = std::string{};
    out.reserve(text_.size() + 16);
    auto is_quoted = false;
    for (auto i = std::size_t{0}; i < text_.size();) {
      if (text_[i] == '"') {
        is_quoted ? end_string(i) : begin_string(i);
        is_quoted = !is_quoted;
      }
      if (is_quoted && text_[i] == '\\')
        i += escape(i, out);
      else
        out += text_[i++];
    }
    return out;
  }
  /// Returns the offset of the first replaced surrogate; npos if none was replaced.
  [[nodiscard]] std::size_t lost_at() const noexcept { return lost_at_; }

private:
  void begin_string(std::size_t at) { begin_ = at + 1; }

  void end_string(std::size_t at) {
    const auto next = text_.find_first_not_of(" \t\r\n", at + 1);
    if (next != std::string_view::npos && text_[next] == ':')
      key_ = text_.substr(begin_, at - begin_);
  }

  [[nodiscard]] bool is_in_arguments() const {
    return key_ == "arguments" || key_ == "partial_json" ||
           (key_ == "delta" && text_.find("function_call_arguments") != std::string_view::npos);
  }

  /// Copies the escape sequence at `i` and returns its length.
  std::size_t escape(std::size_t i, std::string& out) {
    constexpr auto length = std::size_t{6};
    const auto rest = text_.substr(i);
    const auto unit = unit_at(rest);
    if (is_high(unit) && is_low(unit_at(rest.substr(length)))) {
      out += rest.substr(0, 2 * length);
      return 2 * length;
    }
    if (!is_high(unit) && !is_low(unit)) {
      out += rest.substr(0, 2);
      return std::min(rest.size(), std::size_t{2});
    }
    if (is_in_arguments()) {
      (out += '\\') += rest.substr(0, length);
    } else {
      out += "\\ufffd";
      lost_at_ = std::min(lost_at_, i);
    }
    return length;
  }

  std::string_view text_;
  std::string_view key_; // the key of the current value
  std::size_t begin_ = 0;
  std::size_t lost_at_ = std::string_view::npos;
};

} // namespace

result<answer_json> parse_answer_json(std::string_view text, json::storage_ptr memory,
                                      std::size_t spare) {
  text = without_bom(text);
  auto strict = parse_padded_json(text, spare, {}, memory);
  if (strict)
    return answer_json{*std::move(strict), {}};
  auto mender = surrogate_mender{text};
  const auto mended = mender.mend();
  auto options = json::parse_options{};
  options.max_depth =
      json_limits{}.depth_max - 1; // Boost.JSON accepts one level more than simdjson
  auto ec = boost::system::error_code{};
  auto out = answer_json{json::parse(mended, ec, std::move(memory), options), {}};
  if (ec || holds_infinity(out.value))
    return std::move(strict).error();
  if (mender.lost_at() != std::string_view::npos)
    out.loss = "half a character (a lone surrogate) at byte " + std::to_string(mender.lost_at());
  else if (const auto at = find_unfit_integer(mended))
    out.loss = "the integer at byte " + std::to_string(*at) + " does not fit 64 bits";
  return out;
}

} // namespace superstep::models
