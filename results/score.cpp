// SPDX-License-Identifier: Apache-2.0
// Compares the answers of a job with expected answers.
#include "results/score.hpp"

#include "base/ascii_text.hpp"
#include "base/error_words.hpp"
#include "base/fenced_text.hpp"
#include "results/gold.hpp"
#include "results/report.hpp"

#include <superstep/batch/batch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

#include <fcntl.h>

namespace superstep::results {

namespace {

struct named_method {
  std::string_view name;
  score_method method;
};
constexpr auto named_methods = std::array{
    named_method{"exact", score_method::exact},       named_method{"number", score_method::number},
    named_method{"contains", score_method::contains}, named_method{"regex", score_method::regex},
    named_method{"json", score_method::json},         named_method{"judge", score_method::judge}};

std::string text_of_gold(const json::value& gold) {
  return gold.is_string() ? std::string{gold.get_string()} : superstep::to_text(gold);
}

/// Returns a value as canonical text in which equal numbers have equal texts (1 and 1.0).
std::string comparable(const json::value& value) {
  constexpr auto exact_max = 0x1p53; // some larger integers have no double of their own
  if (const auto* const list = value.if_array()) {
    auto out = std::string{"["};
    for (const auto& one : *list)
      out += comparable(one) + ',';
    return out + ']';
  }
  if (const auto* const members = value.if_object()) {
    auto all = std::vector<std::string>{};
    for (const auto& [name, member] : *members) {
      auto one = std::string{};
      append_quoted(one, name);
      all.push_back(one + ':' + comparable(member));
    }
    std::ranges::sort(all);
    return fmt::format("{{{}}}", fmt::join(all, ","));
  }
  if (value.is_double() && value.get_double() == std::floor(value.get_double()) &&
      std::abs(value.get_double()) <= exact_max)
    return std::to_string(static_cast<std::int64_t>(value.get_double()));
  return superstep::to_text(value);
}

/// Returns a text with hyphens for minus signs.
std::string with_hyphens(std::string_view text) {
  constexpr auto minus_sign = std::string_view{"\u2212"};
  auto out = std::string{};
  out.reserve(text.size());
  for (auto at = text.find(minus_sign); at != text.npos; at = text.find(minus_sign)) {
    out.append(text, 0, at) += '-';
    text.remove_prefix(at + minus_sign.size());
  }
  return out.append(text);
}

/// Compares two numbers. Integers must be equal. Other numbers may differ by rounding errors, such
/// as 0.1 + 0.2 and 0.3.
bool is_same_number(double a, double b) noexcept {
  constexpr auto tolerance = 1e-12;
  if (a == std::floor(a) && b == std::floor(b))
    return a == b;
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

std::string_view method_name(const score_options& options) noexcept {
  const auto method = options.judge.empty() ? options.method : score_method::judge;
  return std::ranges::find(named_methods, method, &named_method::method)->name;
}

/// Returns the line of a scored row.
json::object scored_line(const result_line& row, double score, const json::value& gold,
                         const score_options& options) {
  auto out = json::object{};
  out["id"] = row.key;
  out["score"] = score;
  out["status"] = row.status_text();
  out["answer"] = compared_text(row);
  out["gold"] = gold;
  out["gold_field"] = options.field;
  out["method"] = method_name(options);
  if (!options.judge.empty())
    out["judge"] = options.judge;
  return out;
}

} // namespace

std::optional<score_method> score_method_of(std::string_view name) noexcept {
  const auto found = std::ranges::find(named_methods, name, &named_method::name);
  return found != named_methods.end() ? std::optional{found->method} : std::nullopt;
}

std::vector<std::string> score_method_names() {
  auto out = std::vector<std::string>{};
  for (const auto& one : named_methods)
    out.emplace_back(one.name);
  return out;
}

result<void> check_cancelled(const score_options& options) {
  if (options.is_cancelled && options.is_cancelled())
    return error{errc::cancelled,
                 "stopped before all rows were scored; superstep score scores them"};
  return {};
}

std::string scored_by(const score_options& options) {
  return scored_by(method_name(options), options.field, options.judge);
}

std::optional<double> last_number(std::string_view text) {
  static const auto pattern =
      re2::RE2{R"(([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+))"};
  const auto plain = with_hyphens(text);
  auto rest = re2::StringPiece{plain};
  auto found = std::optional<double>{};
  for (auto piece = re2::StringPiece{}; re2::RE2::FindAndConsume(&rest, pattern, &piece);) {
    // "1,2024" is two numbers: the pattern would end inside the second one. The same holds for all
    // groups of "1,234,5678", so the search continues at the last comma. Continuing at the first
    // one would take quadratic time.
    // StringPiece::rfind() of RE2 finds nothing without a second argument.
    if (const auto comma = std::string_view{piece.data(), piece.size()}.rfind(',');
        comma != std::string_view::npos && !rest.empty() &&
        std::isdigit(static_cast<unsigned char>(rest[0])) != 0) {
      const auto* const next = piece.data() + comma;
      rest = {next, static_cast<std::size_t>(rest.data() + rest.size() - next)};
      continue;
    }
    const auto is_hyphen = piece[0] == '-' && piece.data() != plain.data() &&
                           std::isalnum(static_cast<unsigned char>(piece.data()[-1])) != 0;
    auto number = std::string{piece.data(), piece.size()};
    std::erase(number, ',');
    if (is_hyphen || number.front() == '+') // "3-5" is a range, "A-5" a name
      number.erase(0, 1);
    found = std::strtod(number.c_str(), nullptr);
  }
  return found;
}

std::optional<double> judged_score(const result_line& row) {
  auto score = last_number(row.answer);
  if (const auto parsed = parse_json(row.structured); parsed && parsed->is_object())
    if (const auto* const member = parsed->get_object().if_contains("score")) {
      auto failed = boost::system::error_code{};
      score = member->to_number<double>(failed);
      if (failed)
        return std::nullopt;
    }
  return score && *score >= 0 && *score <= 1 ? score : std::nullopt;
}

namespace {

result<double> expected_number(const std::string& wanted) {
  const auto number = last_number(wanted);
  return number
             ? result<double>{*number}
             : error{errc::parse_failed, "the expected answer '" + wanted + "' contains no number"};
}

result<std::unique_ptr<re2::RE2>> expected_pattern(const std::string& wanted) {
  auto options = re2::RE2::Options{};
  options.set_log_errors(false);
  auto pattern = std::make_unique<re2::RE2>(wanted, options);
  if (!pattern->ok())
    return error{errc::parse_failed, "the expected answer '" + wanted +
                                         "' is not a regular expression: " + pattern->error()};
  return pattern;
}

/// Returns the value of a text with JSON, and any other value unchanged. A text that is not JSON
/// is the value itself, unless it begins like an array or an object.
result<json::value> expected_json(const json::value& gold) {
  const auto* const text = gold.if_string();
  if (text == nullptr)
    return gold;
  auto parsed = parse_json(std::string_view{*text});
  if (parsed)
    return parsed;
  if (const auto start = trimmed(*text); start.starts_with('{') || start.starts_with('['))
    return error{errc::parse_failed, "the expected answer '" + std::string{*text} +
                                         "' is not JSON: " + parsed.error().text};
  return gold;
}

/// Compares JSON values. `gold` may also be a text that the answer equals as a JSON string.
bool is_same_json(const result_line& row, const json::value& gold, const json::value& parsed) {
  const auto answer =
      parse_json(row.structured.empty() ? without_fence(row.answer) : row.structured);
  if (!answer)
    return false;
  const auto given = comparable(*answer);
  return given == comparable(parsed) || given == comparable(gold);
}

} // namespace

bool may_be_unusable(score_method method) noexcept {
  return method == score_method::number || method == score_method::regex ||
         method == score_method::json;
}

result<void> check_expected(score_method method, const json::value& gold) {
  const auto wanted = text_of_gold(gold);
  if (method == score_method::number)
    if (auto number = expected_number(wanted); !number)
      return number.error();
  if (method == score_method::regex)
    if (auto pattern = expected_pattern(wanted); !pattern)
      return pattern.error();
  if (method == score_method::json)
    if (auto value = expected_json(gold); !value)
      return value.error();
  return {};
}

result<double> score_answer(score_method method, const result_line& row, const json::value& gold) {
  const auto wanted = text_of_gold(gold);
  const auto& answer = compared_text(row);
  const auto as_score = [](bool is_match) { return is_match ? 1.0 : 0.0; };
  switch (method) {
  case score_method::exact:
    return as_score(trimmed(answer) == trimmed(wanted));
  case score_method::number: {
    const auto number = expected_number(wanted);
    if (!number)
      return number.error();
    const auto given = last_number(answer);
    return as_score(given && is_same_number(*given, *number));
  }
  case score_method::contains:
    return as_score(ascii_lower(answer).find(ascii_lower(trimmed(wanted))) != std::string::npos);
  case score_method::regex: {
    const auto pattern = expected_pattern(wanted);
    return pattern ? result<double>{as_score(re2::RE2::PartialMatch(answer, **pattern))}
                   : pattern.error();
  }
  case score_method::judge: {
    const auto score = judged_score(row);
    return score ? result<double>{*score}
                 : error{errc::parse_failed, "the answer of the judge has no number from 0 to 1"};
  }
  case score_method::json:
    break;
  }
  const auto value = expected_json(gold);
  return value ? result<double>{as_score(is_same_json(row, gold, *value))} : value.error();
}

std::string stem_of_scores(const std::string& output) {
  constexpr auto extension = std::string_view{".jsonl"};
  return output.ends_with(extension) ? output.substr(0, output.size() - extension.size()) : output;
}

std::string scores_path_of(const std::string& output) {
  return stem_of_scores(output) + ".scores.jsonl";
}

result<void> check_replaced_scores(const std::string& path) {
  return check_replaced(path, {"id", "score", "status", "answer", "gold"});
}

result<score_summary> score_rows(const score_options& options, const row_scorer& score_of) {
  auto rows = expected_rows::open(options);
  if (!rows)
    return rows.error();
  auto out = score_summary{};
  out.path = scores_path_of(options.output);
  if (const auto checked = check_replaced_scores(out.path); !checked)
    return checked.error();
  auto file = detail::file::open_temporary(rows->output());
  if (!file)
    return file.error();
  const auto fail = [&](error why) {
    static_cast<void>(file->remove());
    return why;
  };
  auto buffer = std::string{};
  auto has_gold = false;
  constexpr auto buffer_max = std::size_t{1} << 20U;
  const auto scored = rows->for_each([&](const result_line& row, simdjson::dom::object line,
                                         const json::value& wanted) -> result<void> {
    has_gold = has_gold || !wanted.is_null();
    const auto score = wanted.is_null() ? result<std::optional<double>>{std::nullopt}
                                        : score_of(row, line, wanted);
    if (!score)
      return error{score.error().code, "row '" + row.key + "': " + score.error().text};
    if (!*score) {
      ++out.without;
      return {};
    }
    ++out.scored;
    out.failed += row.status == result_status::ok ? 0U : 1U;
    out.unknown += row.is_status_known ? 0U : 1U;
    out.scores.add(row.key, **score);
    append_text(buffer, scored_line(row, **score, wanted, options));
    buffer += '\n';
    return buffer.size() < buffer_max ? result<void>{} : file->append(std::exchange(buffer, {}));
  });
  if (!scored)
    return fail(scored.error());
  out.is_torn = rows->is_torn();
  if (out.scored == 0)
    return fail(has_gold ? error{errc::not_found, "no answer of the judge contains a number from 0 "
                                                  "to 1, or a member `score` with one"}
                         : rows->without_gold());
  if (auto saved = file->append(buffer); !saved)
    return fail(saved.error());
  auto old = detail::file::open_regular(out.path, O_RDWR | O_CREAT);
  if (!old)
    return fail(old.error());
  if (auto replaced = file->replace(*old); !replaced)
    return replaced.error();
  return out;
}

result<score_summary> score_file(const score_options& options) {
  using score = std::optional<double>;
  auto members = std::vector<std::string>{}; // of a response that is compared with a single value
  const auto compares_texts =
      options.method == score_method::exact || options.method == score_method::number;
  auto out =
      score_rows(options,
                 [&](const result_line& row, simdjson::dom::object line,
                     const json::value& wanted) -> result<score> {
                   const auto is_ok = row.status == result_status::ok;
                   if (options.method == score_method::judge && (!is_ok || !judged_score(row)))
                     return score{};
                   if (!is_ok)
                     return score{0.0};
                   if (members.empty() && compares_texts && options.answer.empty() &&
                       row.structured.starts_with('{') && !text_of_gold(wanted).starts_with('{'))
                     members = field_names(line);
                   const auto given = score_answer(options.method, row, wanted);
                   return given ? result<score>{*given} : given.error();
                 });
  if (out && !members.empty())
    out->hint = fmt::format("the whole responses were compared; --answer compares one member: {}",
                            fmt::join(members, ", "));
  return out;
}

std::string to_text(const score_summary& s) {
  const auto share = mean_of(s);
  auto out = fmt::format("score {:.1f} % (95 % confidence: {:.1f} to {:.1f} %), {}",
                         100 * share.value, 100 * share.low, 100 * share.high,
                         counted_scores(s.scored, s.scores.repeated_rows()));
  if (s.failed > 0)
    out += fmt::format(", {} of them failed", s.failed);
  if (s.unknown > 0)
    out += fmt::format(", {} of unknown status (write the outputs with status in --fields)",
                       s.unknown);
  if (s.without > 0)
    out += fmt::format(", {} without a score", s.without);
  if (s.is_torn)
    out += "; the last line of the output is incomplete and not scored";
  out += "; scores in " + s.path;
  if (!s.hint.empty())
    out += "\nhint: " + s.hint;
  return out;
}

} // namespace superstep::results
