// SPDX-License-Identifier: Apache-2.0
// The tool `current_time`. Reads the offsets of time zones from the system's TZif files (RFC 8536).
#include "zone_rule.hpp"

#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

namespace superstep {

namespace {

using std::chrono::seconds;

constexpr auto zone_bytes_max = std::size_t{256 * 1024};

std::optional<seconds> plain_offset(std::string_view zone) {
  if (zone == "UTC" || zone == "Z" || zone == "GMT")
    return seconds{0};
  const auto digit = [&](std::size_t i) { return zone[i] - '0'; };
  const auto is_digit = [&](std::size_t i) { return zone[i] >= '0' && zone[i] <= '9'; };
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':' || !is_digit(1) ||
      !is_digit(2) || !is_digit(4) || !is_digit(5))
    return std::nullopt;
  const auto hours = digit(1) * 10 + digit(2);
  const auto minutes = digit(4) * 10 + digit(5);
  if (hours > 18 || minutes > 59)
    return std::nullopt;
  return seconds{(hours * 60 + minutes) * 60 * (zone[0] == '-' ? -1 : 1)};
}

/// Whether a name is a relative path without `..`, so that it cannot name a file outside the
/// folder.
bool is_zone_name(std::string_view zone) {
  constexpr auto allowed =
      std::string_view{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/"};
  return !zone.empty() && zone.size() < 64 && zone.front() != '/' &&
         zone.find_first_not_of(allowed) == std::string_view::npos;
}

/// Reads the big-endian numbers in a TZif file (RFC 8536). Beyond the end of the file, bytes are 0.
class zone_reader {
public:
  explicit zone_reader(std::string_view bytes) : bytes_{bytes} {}

  [[nodiscard]] std::int64_t number(std::size_t at, std::size_t width) const {
    auto value = std::uint64_t{0};
    for (auto i = at; i < at + width; ++i)
      value = value << 8U | (i < bytes_.size() ? static_cast<unsigned char>(bytes_[i]) : 0U);
    const auto unused = (8 - width) * 8; // shifting left and right again extends the sign
    return static_cast<std::int64_t>(value << unused) >> unused;
  }

  struct header {
    std::size_t start, isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt;
    [[nodiscard]] std::size_t end(std::size_t width) const {
      return start + 44 + timecnt * (width + 1) + typecnt * 6 + charcnt + leapcnt * (width + 4) +
             isstdcnt + isutcnt;
    }
  };

  [[nodiscard]] std::optional<header> header_at(std::size_t start) const {
    if (bytes_.size() < start + 44 || !bytes_.substr(start).starts_with("TZif"))
      return std::nullopt;
    const auto count = [&](std::size_t i) {
      return static_cast<std::size_t>(number(start + 20 + i * 4, 4) & 0xffffff);
    };
    return header{start, count(0), count(1), count(2), count(3), count(4), count(5)};
  }

  /// Returns the offset at a moment (seconds since 1970) from the table of transitions, or from the
  /// rule behind it if the moment is after the last one.
  [[nodiscard]] std::optional<seconds> offset_at(std::int64_t moment) const {
    const auto old = header_at(0);
    if (!old)
      return std::nullopt;
    // Version 2 and later: the second block has 64-bit times.
    const auto head = header_at(old->end(4));
    if (!head || head->typecnt == 0 || head->end(8) > bytes_.size())
      return std::nullopt;
    const auto times = head->start + 44;
    if (head->timecnt == 0 || number(times + (head->timecnt - 1) * 8, 8) <= moment)
      if (const auto offset = detail::offset_by_rule(rule_after(head->end(8)), moment))
        return offset;
    auto type = std::size_t{0};
    for (auto i = std::size_t{0}; i < head->timecnt && number(times + i * 8, 8) <= moment; ++i)
      type = static_cast<std::size_t>(number(times + head->timecnt * 8 + i, 1) & 0xff);
    if (type >= head->typecnt)
      return std::nullopt;
    return seconds{number(times + head->timecnt * 9 + type * 6, 4)};
  }

private:
  /// Returns the last line of the file, which follows the tables; empty if there is none.
  [[nodiscard]] std::string_view rule_after(std::size_t tables) const {
    auto rest = bytes_.substr(tables);
    if (!rest.starts_with('\n'))
      return {};
    rest.remove_prefix(1);
    const auto end = rest.find('\n');
    return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
  }

  std::string_view bytes_;
};

std::string time_text(std::chrono::system_clock::time_point at, seconds offset) {
  const auto local = std::chrono::floor<seconds>(at) + offset;
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const auto date = std::chrono::year_month_day{day};
  const auto time = std::chrono::hh_mm_ss{local - day};
  const auto minutes = offset.count() / 60;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{:02}:{:02}",
                     static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count(), minutes < 0 ? '-' : '+',
                     std::abs(minutes) / 60, std::abs(minutes) % 60);
}

struct current_time_arguments {
  std::optional<std::string> timezone;

  static constexpr auto descriptions = std::array{std::pair{
      "timezone", "A name such as Europe/Berlin, an offset such as +05:30, or UTC (the default)"}};
};
BOOST_DESCRIBE_STRUCT(current_time_arguments, (), (timezone))

} // namespace

result<seconds> utc_offset(std::string_view zone, std::chrono::system_clock::time_point at,
                           const std::string& zone_folder) {
  if (const auto offset = plain_offset(zone))
    return *offset;
  const auto name = std::string{zone};
  const auto unknown =
      error{errc::not_found, "unknown time zone '" + name +
                                 "'; use UTC, an offset such as +05:30, or a name such as "
                                 "Europe/Berlin"};
  if (!is_zone_name(zone))
    return unknown;
  errno = 0;
  auto file = std::ifstream{zone_folder + '/' + name, std::ios::binary};
  if (const auto code = std::error_code{errno, std::generic_category()};
      !file.is_open() && is_shortage(code))
    return error{errc::shortage, "time zone '" + name + "': " + code.message()};
  auto bytes = std::string(zone_bytes_max, '\0');
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())) && file.gcount() == 0)
    return unknown;
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  const auto moment = std::chrono::floor<seconds>(at).time_since_epoch().count();
  if (const auto offset = zone_reader{bytes}.offset_at(moment))
    return *offset;
  return unknown;
}

tool_ptr make_current_time(current_time_options options) {
  auto run = [options](const current_time_arguments& args, const tool_context& context) {
    const auto now = context.time->now();
    const auto offset =
        utc_offset(args.timezone.value_or(options.default_zone), now, options.zone_folder);
    if (!offset && is_shortage(offset.error().code))
      throw tool_unavailable{{errc::shortage, "current_time: " + offset.error().text}};
    auto out = tool_output{};
    out.is_error = offset.has_error();
    out.content = offset ? time_text(now, *offset) : "Error: " + offset.error().text;
    return out;
  };
  return make_tool<current_time_arguments>("current_time", "Tells the current date and time.",
                                           std::move(run));
}

} // namespace superstep
