// SPDX-License-Identifier: Apache-2.0
// The current_time tool: clock, time zones and daylight saving time.
#include "run_tool.hpp"

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

BOOST_AUTO_TEST_SUITE_END()
