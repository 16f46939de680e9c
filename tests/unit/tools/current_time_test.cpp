// SPDX-License-Identifier: Apache-2.0
// The current_time tool: clock, time zones and daylight saving time.
#include "run_tool.hpp"
#include "tools/zone_rule.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

using namespace superstep;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(current_time)

namespace {

class fixed_clock final : public superstep::clock {
public:
  explicit fixed_clock(std::chrono::system_clock::time_point at) : at_{at} {}
  [[nodiscard]] std::chrono::system_clock::time_point now() const override { return at_; }

private:
  std::chrono::system_clock::time_point at_;
};

const auto noon = std::chrono::sys_days{std::chrono::year{2026} / 7 / 1} + 12h + 3min + 4s;

struct zone_case {
  std::string_view zone, text;
};
std::ostream& operator<<(std::ostream& out, const zone_case& c) {
  return out << c.zone;
}

const auto zones = std::vector<zone_case>{{"UTC", "2026-07-01T12:03:04+00:00"},
                                          {"Z", "2026-07-01T12:03:04+00:00"},
                                          {"+05:30", "2026-07-01T17:33:04+05:30"},
                                          {"-12:30", "2026-06-30T23:33:04-12:30"}};

tool_output ask(json::object args, std::chrono::system_clock::time_point at = noon) {
  const auto time = fixed_clock{at};
  auto context = tool_context{};
  context.time = &time;
  return testing::run_tool(*make_current_time(), std::move(args), context);
}

} // namespace

BOOST_AUTO_TEST_CASE(time_is_utc_by_default) {
  BOOST_TEST(ask({}).content == "2026-07-01T12:03:04+00:00");
}

BOOST_DATA_TEST_CASE(time_is_returned_in_requested_zone, boost::unit_test::data::make(zones), c) {
  BOOST_TEST(ask({{"timezone", c.zone}}).content == c.text);
}

BOOST_AUTO_TEST_CASE(unknown_time_zone_is_answered_with_error) {
  for (const auto* zone :
       {"", "Mars", "../../etc/passwd", "/etc/passwd", "+5", "+25:00", "America"}) {
    const auto out = ask({{"timezone", zone}});
    BOOST_TEST(out.is_error);
    BOOST_TEST(out.content.starts_with("Error: unknown time zone"));
  }
}

BOOST_AUTO_TEST_CASE(named_zones_follow_daylight_saving_time) {
  if (!std::filesystem::exists("/usr/share/zoneinfo/Europe/Berlin"))
    return; // the machine has no time zone data
  BOOST_TEST(ask({{"timezone", "Europe/Berlin"}}).content == "2026-07-01T14:03:04+02:00");
  BOOST_TEST(ask({{"timezone", "Europe/Berlin"}}, noon + 24h * 180).content ==
             "2026-12-28T13:03:04+01:00");
  BOOST_TEST(ask({{"timezone", "Asia/Kolkata"}}).content == "2026-07-01T17:33:04+05:30");
}

/// The tables of zones end in 2037.
BOOST_AUTO_TEST_CASE(named_zones_follow_daylight_saving_time_after_their_table) {
  if (!std::filesystem::exists("/usr/share/zoneinfo/Europe/Berlin"))
    return;
  const auto summer = std::chrono::sys_days{std::chrono::year{2040} / 7 / 1} + 12h;
  const auto winter = std::chrono::sys_days{std::chrono::year{2040} / 1 / 15} + 12h;
  BOOST_TEST(ask({{"timezone", "America/New_York"}}, summer).content ==
             "2040-07-01T08:00:00-04:00");
  BOOST_TEST(ask({{"timezone", "America/New_York"}}, winter).content ==
             "2040-01-15T07:00:00-05:00");
  BOOST_TEST(ask({{"timezone", "Australia/Sydney"}}, summer).content ==
             "2040-07-01T22:00:00+10:00");
  BOOST_TEST(ask({{"timezone", "Australia/Sydney"}}, winter).content ==
             "2040-01-15T23:00:00+11:00");
}

BOOST_AUTO_TEST_CASE(rules_of_zones_are_evaluated) {
  const auto at = [](int year, unsigned month, unsigned day, int hour) {
    return (std::chrono::sys_days{std::chrono::year{year} / static_cast<int>(month) /
                                  static_cast<int>(day)} +
            std::chrono::hours{hour})
        .time_since_epoch();
  };
  const auto hours_at = [&](std::string_view rule, int year, unsigned month, unsigned day,
                            int hour) {
    const auto moment =
        std::chrono::duration_cast<std::chrono::seconds>(at(year, month, day, hour));
    const auto offset = detail::offset_by_rule(rule, moment.count());
    return offset ? static_cast<double>(offset->count()) / 3600 : -99;
  };
  const auto new_york = "EST5EDT,M3.2.0,M11.1.0";
  BOOST_TEST(hours_at(new_york, 2026, 3, 8, 6) == -5); // the clocks change at 07:00 UTC
  BOOST_TEST(hours_at(new_york, 2026, 3, 8, 7) == -4);
  BOOST_TEST(hours_at(new_york, 2026, 11, 1, 5) == -4);
  BOOST_TEST(hours_at(new_york, 2026, 11, 1, 6) == -5);
  const auto dublin = "IST-1GMT0,M10.5.0,M3.5.0/1"; // the summer time is the standard
  BOOST_TEST(hours_at(dublin, 2026, 7, 1, 0) == 1);
  BOOST_TEST(hours_at(dublin, 2026, 1, 1, 0) == 0);
  BOOST_TEST(hours_at("<+0545>-5:45", 2026, 1, 1, 0) == 5.75);
  BOOST_TEST(hours_at("A0A-1,J60/0,J300/0", 2028, 3, 1, 0) == -99); // names are longer
  BOOST_TEST(hours_at("AAA0BBB,J60/0,J300/0", 2028, 2, 29, 23) == 0);
  BOOST_TEST(hours_at("AAA0BBB,J60/0,J300/0", 2028, 3, 1, 0) == 1);
  BOOST_TEST(hours_at("AAA0BBB,59/0,300/0", 2028, 2, 29, 0) == 1);
  BOOST_TEST(hours_at("EET-2EEST,M3.4.4/50,M10.4.4/50", 2026, 3, 27, 23) == 2); // Gaza
  BOOST_TEST(hours_at("EET-2EEST,M3.4.4/50,M10.4.4/50", 2026, 3, 28, 0) == 3);
  for (const auto* rule : {"", "EST", "EST5EDT", "EST5EDT,M3.2.0", "EST5EDT,M13.2.0,M11.1.0",
                           "EST5EDT,M3.2.0,M11.1.0,", "<x5", "EST5:60"})
    BOOST_TEST(hours_at(rule, 2026, 1, 1, 0) == -99, rule);
}

BOOST_AUTO_TEST_SUITE_END()
