// SPDX-License-Identifier: Apache-2.0
// Rules of time zones. The file of a zone lists its transitions up to some year, and ends with a
// rule for all later ones (RFC 8536, section 3.3).
#include "zone_rule.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace superstep::detail {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;

/// The day of a year on which the clocks change, and the time by the clock before the change.
struct change {
  enum class form : std::uint8_t {
    weekday,  ///< `Mm.w.d`: a weekday of a month; week 5 is the last one
    day,      ///< `Jn`: a day from 1 to 365; 29 February is not counted
    leap_day, ///< `n`: a day from 0 to 365; 29 February is counted
  };
  form kind = form::weekday;
  int month = 0;
  int week = 0;
  int day = 0;
  seconds time = hours{2};

  [[nodiscard]] sys_seconds moment_in(std::chrono::year year) const {
    const auto first = sys_days{year / 1 / 1};
    switch (kind) {
    case form::weekday:
      break;
    case form::day:
      return first + days{day - (year.is_leap() && day > days_to_march ? 0 : 1)} + time;
    case form::leap_day:
      return first + days{day} + time;
    }
    const auto of_month = year / std::chrono::month{static_cast<unsigned>(month)};
    const auto weekday = std::chrono::weekday{static_cast<unsigned>(day)};
    if (week == last_week)
      return sys_days{of_month / weekday[std::chrono::last]} + time;
    return sys_days{of_month / weekday[static_cast<unsigned>(week)]} + time;
  }

  static constexpr auto last_week = 5;
  static constexpr auto days_to_march = 31 + 28;
};

/// Reads the parts of a rule. The functions return nullopt if the part is missing or wrong.
class rule_reader {
public:
  explicit rule_reader(std::string_view rule) : rest_{rule} {}

  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool is_at(char c) const { return rest_.starts_with(c); }

  bool take(char c) {
    if (!is_at(c))
      return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Skips the name of a time, such as `CET` or `<-03>`.
  bool name() {
    const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    const auto end =
        is_at('<')
            ? rest_.find('>') + 1 // 0 if there is none
            : static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_letter) - rest_.begin());
    if (end < 3)
      return false;
    rest_.remove_prefix(end);
    return true;
  }

  std::optional<int> number(int from, int to) {
    auto out = 0;
    const auto [end, failed] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), out);
    if (failed != std::errc{} || out < from || out > to)
      return {};
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return out;
  }

  /// Reads `[+-]hours[:minutes[:seconds]]`.
  std::optional<seconds> time() {
    constexpr auto hours_max = 167; // a week
    const auto is_negative = is_at('-');
    if (!take('-'))
      take('+');
    const auto h = number(0, hours_max);
    const auto m = h && take(':') ? number(0, 59) : 0;
    const auto s = m && take(':') ? number(0, 59) : 0;
    if (!h || !m || !s)
      return {};
    const auto out = hours{*h} + minutes{*m} + seconds{*s};
    return is_negative ? -out : out;
  }

  /// Reads `,date[/time]`.
  std::optional<change> date() {
    if (!take(','))
      return {};
    auto out = change{};
    auto day = std::optional<int>{};
    if (take('M')) {
      const auto month = number(1, 12);
      const auto week = take('.') ? number(1, change::last_week) : std::nullopt;
      day = take('.') ? number(0, 6) : std::nullopt;
      out.month = month.value_or(0);
      out.week = week.value_or(0);
    } else if (take('J')) {
      out.kind = change::form::day;
      day = number(1, 365);
    } else {
      out.kind = change::form::leap_day;
      day = number(0, 365);
    }
    const auto at = take('/') ? time() : std::optional<seconds>{out.time};
    if (!day || !at || (out.kind == change::form::weekday && (out.month == 0 || out.week == 0)))
      return {};
    out.day = *day;
    out.time = *at;
    return out;
  }

private:
  std::string_view rest_;
};

} // namespace

std::optional<seconds> offset_by_rule(std::string_view rule, std::int64_t moment) {
  auto reader = rule_reader{rule};
  if (!reader.name())
    return {};
  const auto west = reader.time(); // in a rule, offsets west of Greenwich are positive
  if (!west)
    return {};
  const auto standard = -*west;
  if (reader.at_end())
    return standard;
  if (!reader.name())
    return {};
  auto summer = standard + hours{1};
  if (!reader.is_at(',')) {
    const auto summer_west = reader.time();
    if (!summer_west)
      return {};
    summer = -*summer_west;
  }
  const auto start = reader.date();
  const auto end = reader.date();
  if (!start || !end || !reader.at_end())
    return {};
  const auto now = sys_seconds{seconds{moment}};
  const auto year = std::chrono::year_month_day{std::chrono::floor<days>(now + standard)}.year();
  const auto starts = start->moment_in(year) - standard;
  const auto ends = end->moment_in(year) - summer;
  const auto is_summer =
      starts < ends ? starts <= now && now < ends : !(ends <= now && now < starts);
  return is_summer ? summer : standard;
}

} // namespace superstep::detail
