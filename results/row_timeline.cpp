// SPDX-License-Identifier: Apache-2.0
// Prints the calls of one row in an event log as bars over time.
#include "results/row_timeline.hpp"

#include "base/visible_text.hpp"
#include "results/result_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::results {

namespace {

/// Longest timeline; a row may have many calls.
constexpr auto calls_max = std::size_t{10'000};

/// A call in the event log.
struct logged_call {
  std::uint64_t row_attempt = 1;
  std::string name;
  std::string tool; ///< name of the tool; empty for calls of the model
  std::string time; ///< time of day of the start
  std::int64_t begin = 0;
  std::int64_t end = -1;     ///< -1: has not ended
  std::string status;        ///< `ok`, `error`, `cancelled` or `rejected`
  std::string details;       ///< attempts and tokens
  std::string notes;         ///< a line for each failed attempt, and for the error
  bool is_discarded = false; ///< whether the result was not used
  bool is_separate = false;  ///< whether the call only requests the structured response
};

std::string_view text_of(simdjson::dom::object line, std::string_view name) {
  auto out = std::string_view{};
  return line.at_key(name).get(out) == simdjson::SUCCESS ? out : std::string_view{};
}

std::optional<std::uint64_t> number_of(simdjson::dom::object line, std::string_view name) {
  auto out = std::uint64_t{0};
  return line.at_key(name).get(out) == simdjson::SUCCESS ? std::optional{out} : std::nullopt;
}

/// Returns the time of day with milliseconds in a time of the form of RFC 3339.
std::string time_of_day(std::string_view time) {
  constexpr auto length = std::string_view{"09:30:00.125"}.size();
  const auto at = time.find('T');
  return std::string{at == time.npos ? std::string_view{} : time.substr(at + 1, length)};
}

/// Returns the text of a member for a note below a call.
std::string note_text(simdjson::dom::object line, std::string_view name) {
  constexpr auto notes_bytes_max = std::size_t{500};
  return one_line(text_of(line, name), notes_bytes_max);
}

/// Returns the attempts and tokens at the end of a call.
std::string details_of(simdjson::dom::object line) {
  auto out = std::string{};
  const auto attempts = number_of(line, "attempt").value_or(1);
  if (attempts > 1)
    out += text_of(line, "event") == "model_end" ? fmt::format(", {} attempts", attempts)
                                                 : fmt::format(", attempt {}", attempts);
  auto usage = simdjson::dom::object{};
  if (line.at_key("usage").get(usage) == simdjson::SUCCESS)
    out += fmt::format(", {} tokens in, {} out", number_of(usage, "input_tokens").value_or(0),
                       number_of(usage, "output_tokens").value_or(0));
  return out;
}

/// Collects the calls of one row.
class call_list {
public:
  void add(simdjson::dom::object line) {
    const auto event = text_of(line, "event");
    auto at = std::int64_t{0};
    if (line.at_key("t_ns").get(at) != simdjson::SUCCESS)
      return;
    const auto attempt = number_of(line, "row_attempt").value_or(1);
    auto& whole = starts_.try_emplace(attempt, span{at, at}).first->second;
    whole.end = std::max(whole.end, at);
    auto name = fmt::format("{} {}", event.substr(0, event.find('_')), text_of(line, "call_id"));
    if (event.ends_with("_start")) {
      open_[{attempt, name}] = calls_.size();
      auto& call = calls_.emplace_back();
      call.row_attempt = attempt;
      call.name = std::move(name);
      call.tool = text_of(line, "tool");
      call.time = time_of_day(text_of(line, "time"));
      call.begin = at;
      call.is_separate = text_of(line, "request") == "response";
      return;
    }
    const auto begun = open_.find({attempt, std::move(name)});
    if (begun == open_.end())
      return;
    auto& call = calls_[begun->second];
    if (event.ends_with("_retry")) {
      note(call, line, at,
           fmt::format("attempt {} failed: {}", number_of(line, "attempt").value_or(0),
                       note_text(line, "error")));
    } else if (event.ends_with("_rejected")) {
      call.status = "rejected";
      note(call, line, at,
           fmt::format("rejected: {}; answer: {}", note_text(line, "error"),
                       note_text(line, "answer")));
    } else if (event.ends_with("_discarded")) {
      call.is_discarded = true;
    } else if (call.end < 0) {
      call.end = at;
      call.status = text_of(line, "status");
      call.details = details_of(line);
      if (!text_of(line, "error").empty())
        note(call, line, at, "failed: " + note_text(line, "error"));
    }
  }
  [[nodiscard]] bool is_full() const noexcept { return calls_.size() >= calls_max; }

  [[nodiscard]] std::string text() const {
    if (calls_.empty())
      return {};
    auto out = std::string{"timeline (UTC)      start   duration\n"};
    const auto has_attempts = calls_.back().row_attempt != 1;
    auto shown = std::uint64_t{0};
    for (const auto& call : calls_) {
      if (has_attempts && call.row_attempt != shown)
        out += fmt::format("-- start {} of the row\n", call.row_attempt);
      shown = call.row_attempt;
      append(out, call);
    }
    out.pop_back();
    return visible_text(out);
  }

private:
  /// Adds a line about a call.
  void note(logged_call& call, simdjson::dom::object line, std::int64_t at,
            const std::string& text) const {
    call.notes += fmt::format("{:>12} {:>8.1f} ms   {}\n", time_of_day(text_of(line, "time")),
                              ms(call, at), text);
  }
  /// Returns the milliseconds from the first event of a start of the row to a time.
  [[nodiscard]] double ms(const logged_call& call, std::int64_t at) const {
    const auto begin = starts_.at(call.row_attempt).begin;
    return static_cast<double>(std::max(at - begin, std::int64_t{0})) / 1e6;
  }
  void append(std::string& out, const logged_call& call) const {
    constexpr auto columns = std::size_t{30};
    const auto whole = std::max(ms(call, starts_.at(call.row_attempt).end), 1e-6);
    const auto begin = ms(call, call.begin);
    const auto took = std::max((call.end < 0 ? whole : ms(call, call.end)) - begin, 0.0);
    const auto columns_of = [&](double duration) {
      return static_cast<std::size_t>(static_cast<double>(columns) * duration / whole);
    };
    const auto from = columns_of(begin);
    const auto length = std::clamp<std::size_t>(columns_of(took), 1, columns + 1 - from);
    out +=
        fmt::format("{:>12} {:>8.1f} ms {:>10} |{}{}{}| {}{}{}{}{}{}\n", call.time, begin,
                    call.end < 0 ? "open" : fmt::format("{:.1f} ms", took), std::string(from, ' '),
                    std::string(length, '#'), std::string(columns + 1 - from - length, ' '),
                    call.name, call.tool.empty() ? std::string{} : " (" + call.tool + ')',
                    call.is_separate ? " (structured response)" : "",
                    call.status.empty() ? std::string{} : ' ' + call.status, call.details,
                    call.is_discarded ? ", discarded" : "");
    out += call.notes;
  }

  /// The times of the first and the last event of a start of the row. The starts may be in
  /// different runs of the job, whose times may not be comparable.
  struct span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };

  std::vector<logged_call> calls_;
  std::map<std::uint64_t, span> starts_; ///< by number of the start
  /// Position of the latest call with this attempt of the row and this name.
  std::map<std::pair<std::uint64_t, std::string>, std::size_t> open_;
};

} // namespace

result<std::string> row_timeline(const std::string& events, const std::string& key) {
  auto reader =
      result_reader::open(events, "specify the event log of the job, which run --events writes");
  if (!reader)
    return reader.error();
  auto calls = call_list{};
  while (!calls.is_full()) {
    const auto more = reader->next();
    if (!more)
      return more.error();
    if (!*more)
      break;
    if (text_of(reader->object(), "row") == key)
      calls.add(reader->object());
  }
  return calls.text();
}

} // namespace superstep::results
