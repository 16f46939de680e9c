// SPDX-License-Identifier: Apache-2.0
// The progress line of `superstep run` in a terminal, run in tmux: one line at every width, also
// while the window is resized. Skipped without tmux.
#include "process.hpp"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <ostream>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace utf = boost::unit_test;

namespace {

boost::test_tools::assertion_result has_tmux(utf::test_unit_id) {
  auto out = boost::test_tools::assertion_result{::access("/usr/bin/tmux", X_OK) == 0};
  out.message() << "/usr/bin/tmux is not installed";
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(progress_line, *utf::precondition(has_tmux))

namespace {

using namespace superstep::testing;

/// A job of about two seconds in a tmux window.
class running_job {
public:
  /// @param before shell command that runs before the job
  running_job(std::size_t columns, const std::string& environment, const std::string& before = "") {
    job_.write("agent.yaml", "model: {provider: scripted, path: rules.yaml}\n"
                             "tools:\n  - simulated: {name: pause, delay_ms: 100}\n");
    job_.write("rules.yaml", "rules:\n  - {type: human, calls: [{name: pause}]}\n"
                             "default: {text: done}\n");
    auto lines = std::string{};
    for (auto i = 0; i < 80; ++i)
      lines += R"({"id":"r)" + std::to_string(i) +
               R"(","messages":[{"role":"user","content":"go"}]})" + '\n';
    job_.write("in.jsonl", lines);
    auto command = before + environment + " '" + superstep_program() + "' run '" + job_.agent +
                   "' -i '" + job_.input + "' -o '" + job_.output + "' --concurrency 4";
    command += "; echo status $?; sleep 100";
    tmux({"new-session", "-d", "-x", std::to_string(columns), "-y", "40", command});
  }
  running_job(const running_job&) = delete;
  running_job& operator=(const running_job&) = delete;
  ~running_job() { tmux({"kill-server"}); }

  void resize(std::size_t columns) const {
    tmux({"resize-window", "-x", std::to_string(columns), "-y", "40"});
  }
  [[nodiscard]] std::string screen() const { return tmux({"capture-pane", "-p", "-S", "-200"}); }
  /// Returns the screen once it shows the text.
  [[nodiscard]] std::string wait_for(std::string_view text) const {
    const auto began = std::chrono::steady_clock::now();
    while (true) {
      auto shown = screen();
      if (shown.find(text) != std::string::npos)
        return shown;
      if (std::chrono::steady_clock::now() - began > std::chrono::seconds{60})
        throw std::runtime_error{"'" + std::string{text} + "' was not shown; screen:\n" + shown};
      std::this_thread::sleep_for(std::chrono::milliseconds{20}); // polling interval
    }
  }

private:
  std::string tmux(const std::vector<std::string>& words) const {
    auto command = std::vector<std::string>{"/usr/bin/tmux", "-u", "-f",
                                            "/dev/null",     "-S", job_.folder / "tmux"};
    command.insert(command.end(), words.begin(), words.end());
    return process{command}.wait().out;
  }

  cli_job job_;
};

/// Widths of a terminal, in the order in which it gets them.
struct width_list {
  std::vector<std::size_t> widths;
};
std::ostream& operator<<(std::ostream& out, const width_list& list) {
  for (const auto one : list.widths)
    out << one << ' ';
  return out;
}
const auto width_lists = std::vector<width_list>{
    {{200, 60, 120, 80, 200}}, {{80, 200, 60}}, {{120, 60, 200, 61, 199, 60}}};

std::size_t count(std::string_view shown, std::string_view text) {
  auto out = std::size_t{0};
  for (auto at = shown.find(text); at != shown.npos; at = shown.find(text, at + text.size()))
    ++out;
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(terminal_shows_one_progress_line, utf::data::make({60, 80, 120, 200}),
                     columns) {
  const auto job = running_job{static_cast<std::size_t>(columns), ""};
  const auto during = job.wait_for(" done, 0 failed");
  BOOST_TEST(count(during, "] ") == 1U, during);
  const auto end = job.wait_for("status 0");
  BOOST_TEST(count(end, " done, 0 failed") == 1U, end);
  BOOST_TEST(count(end, "80/80 done") == 1U, end);
}

// A full screen of text is above the line. If the line is at the top of an empty screen instead,
// tmux moves the first half of a wrapped line to its history when the window becomes narrower.
BOOST_DATA_TEST_CASE(terminal_shows_one_line_while_resized, utf::data::make(width_lists), list) {
  const auto& widths = list.widths;
  const auto job = running_job{widths.front(), "", "seq 100 140; "};
  static_cast<void>(job.wait_for(" done, 0 failed"));
  for (const auto columns : widths | std::views::drop(1)) {
    job.resize(columns);
    std::this_thread::sleep_for(std::chrono::milliseconds{300}); // one redraw
  }
  const auto end = job.wait_for("status 0");
  BOOST_TEST(count(end, "\n140\n") == 1U, end);
  BOOST_TEST(count(end, " done, 0 failed") == 1U, end);
  BOOST_TEST(count(end, "80/80 done") == 1U, end);
  BOOST_TEST(count(end, "80 rows: 80 ok, 0 failed") == 1U, end);
}

BOOST_DATA_TEST_CASE(plain_lines_replace_the_bar,
                     utf::data::make({"TERM=dumb", "NO_COLOR=1", "env -u TERM"}), environment) {
  const auto job = running_job{120, environment};
  const auto end = job.wait_for("status 0");
  BOOST_TEST(count(end, "[#") == 0U, end);
  BOOST_TEST(count(end, "80/80 done") == 1U, end);
}

BOOST_AUTO_TEST_SUITE_END()
