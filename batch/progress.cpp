// SPDX-License-Identifier: Apache-2.0
// The ways in which `superstep run` reports progress: a bar for terminals, plain lines, JSON lines,
// or notes only.
#include "base/visible_text.hpp"
#include "duration_text.hpp"
#include "error_line.hpp"
#include "usd_text.hpp"

#include <superstep/base/json.hpp>
#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace superstep {
namespace {

using detail::duration_text;
using detail::usd_text;
using detail::without_address;
using std::chrono::milliseconds;

double to_ms(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

/// A part of a progress line.
struct line_part {
  line_part(std::string content) : text{std::move(content)} {}
  std::string text;
  bool is_error = false; ///< whether the text may be cut
  bool is_cause = false; ///< whether it is the error of a job that does not progress
};

/// Returns the parts of a progress line, the most important first.
std::vector<line_part> parts_of(const batch_progress& now) {
  auto out = std::vector<line_part>{};
  out.push_back(fmt::format("{}/{} done", now.done, now.rows));
  out.push_back(fmt::format("{} failed", now.failed));
  if (now.draining) {
    out.emplace_back("draining");
    if (now.in_flight == 0 && !now.paused.empty()) // why the job does not end
      out.push_back(now.paused);
  } else if (!now.paused.empty()) {
    out.push_back("paused: " + now.paused);
  } else if (now.eta_seconds) {
    out.push_back("ETA " + duration_text(*now.eta_seconds));
  }
  if (now.calls_repeating > 0)
    out.push_back(fmt::format("{} retrying", now.calls_repeating));
  if (now.calls_waiting > 0)
    out.push_back(fmt::format("{} waiting", now.calls_waiting));
  // A server that accepts calls and does not answer has no error until the calls time out.
  constexpr auto quiet_seconds_min = 30.0;
  if (now.quiet_seconds >= quiet_seconds_min && now.in_flight > 0 && now.calls_repeating == 0 &&
      now.paused.empty())
    out.push_back("no row has ended for " + duration_text(now.quiet_seconds));
  // The error of a job that does not progress is more important than that of a few failed rows.
  const auto is_stuck = now.calls_repeating > 0 || now.done == now.failed;
  const auto add_error = [&] {
    if (now.last_error.empty())
      return;
    out.push_back(std::string{without_address(now.last_error)});
    out.back().is_error = true;
    out.back().is_cause = is_stuck;
  };
  if (is_stuck)
    add_error();
  out.push_back(fmt::format("{} in flight", now.in_flight));
  out.push_back(fmt::format("{:.1f} rows/s", now.rows_per_second));
  if (now.cost)
    out.push_back(now.cost_projected && !now.draining
                      ? usd_text(*now.cost) + " of ~" + usd_text(*now.cost_projected)
                      : usd_text(*now.cost));
  if (now.p95.count() > 0)
    out.push_back(fmt::format("p50/p95 {:.0f}/{:.0f} ms", to_ms(now.p50), to_ms(now.p95)));
  if (now.barrier_waste)
    out.push_back(fmt::format("barrier waste {:.0f} %", *now.barrier_waste * 100));
  if (!is_stuck)
    add_error();
  out.push_back(fmt::format("{} tokens", now.tokens));
  if (now.retries > 0)
    out.push_back(now.retries == 1 ? "1 retry" : fmt::format("{} retries", now.retries));
  return out;
}

constexpr auto separator = std::string_view{", "};

/// Whether a line of this width would show little of the error of a job that does not progress.
bool hides_cause(const std::vector<line_part>& parts, std::size_t columns) {
  constexpr auto cause_bytes_min = std::size_t{24};
  auto used = std::size_t{0};
  for (const auto& part : parts) {
    if (part.is_cause)
      return used + std::min(part.text.size(), cause_bytes_min) > columns;
    used += part.text.size() + separator.size();
  }
  return false;
}

/// Joins the parts of a line, as many as fit into `columns`. The first part and an error are cut if
/// they do not fit.
std::string joined(const std::vector<line_part>& parts, std::size_t columns) {
  constexpr auto error_bytes_min = std::size_t{12};
  constexpr auto error_bytes_max = std::size_t{60};
  auto out = std::string{};
  for (const auto& part : parts) {
    const auto used = out.empty() ? 0 : out.size() + separator.size();
    const auto room = columns > used ? columns - used : 0;
    if (part.is_error && room < error_bytes_min)
      continue;
    const auto text =
        part.is_error ? one_line(part.text, std::min(room, error_bytes_max)) : part.text;
    if (text.size() > room)
      break;
    out.append(out.empty() ? std::string_view{} : separator).append(text);
  }
  return out.empty() ? parts.front().text.substr(0, columns) : out;
}

std::string line_of(const batch_progress& now) {
  return joined(parts_of(now), std::string::npos);
}

/// Redraws a progress bar on the same line of a terminal. A note replaces that line, which may
/// contain the ^C that the terminal shows for Ctrl-C.
class bar_sink final : public progress_sink {
public:
  bar_sink(std::ostream& out, progress_terminal terminal)
      : out_{out}, terminal_{std::move(terminal)} {}
  milliseconds interval() const noexcept override { return milliseconds{200}; }
  bool is_outdated() override { return terminal_.was_resized && terminal_.was_resized(); }
  void update(const batch_progress& now) override {
    const auto columns = terminal_.columns ? terminal_.columns() : 0;
    // The last column stays free: a character there may move the cursor to the next line. A longer
    // line would take more than two lines of a terminal that becomes narrow.
    constexpr auto columns_max = std::size_t{120};
    const auto room = columns > 0 ? std::min(columns, columns_max) - 1 : std::string::npos;
    const auto line = drawn(now, room);
    // The cursor stays at the start of the line. If the terminal becomes narrower, it wraps the
    // line to several lines, and the cursor stays in the first of them. So the next line replaces
    // the first one, and the rest of the screen is cleared. The terminal must not wrap a line that
    // is written before the program gets the new width. One write, because standard error has no
    // buffer.
    out_ << "\r\x1b[?7l" + line + "\x1b[J\x1b[?7h\r" << std::flush;
    is_open_ = true;
  }
  void note(std::string_view text) override {
    if (std::exchange(is_open_, false))
      out_ << "\r\x1b[J";
    out_ << text << std::endl;
  }
  void finish(const batch_progress& now) override {
    update(now);
    out_ << std::endl;
    is_open_ = false;
  }

private:
  /// Returns the line for a width. The bar, and then the number of failed rows if it is 0, leave
  /// their place to the error of a job that does not progress.
  static std::string drawn(const batch_progress& now, std::size_t room) {
    const auto bar = bar_of(now);
    auto parts = parts_of(now);
    if (bar.size() < room && !hides_cause(parts, room - bar.size()))
      return bar + joined(parts, room - bar.size());
    if (now.failed == 0 && hides_cause(parts, room))
      parts.erase(parts.begin() + 1);
    return joined(parts, room);
  }

  static std::string bar_of(const batch_progress& now) {
    constexpr auto width = std::uint64_t{10};
    const auto filled = now.rows == 0 ? width : std::min(now.done * width / now.rows, width);
    return '[' + std::string(filled, '#') + std::string(width - filled, '.') + "] ";
  }

  std::ostream& out_;
  progress_terminal terminal_;
  bool is_open_ = false;
};

class plain_sink final : public progress_sink {
public:
  explicit plain_sink(std::ostream& out) : out_{out} {}
  milliseconds interval() const noexcept override { return milliseconds{5000}; }
  void update(const batch_progress& now) override {
    last_ = line_of(now);
    out_ << last_ << std::endl;
  }
  void note(std::string_view text) override {
    last_.clear();
    out_ << text << std::endl;
  }
  void finish(const batch_progress& now) override {
    if (line_of(now) != last_)
      update(now);
  }

private:
  std::ostream& out_;
  std::string last_; // the last line of the output, if it shows progress
};

class json_sink final : public progress_sink {
public:
  explicit json_sink(std::ostream& out) : out_{out} {}
  milliseconds interval() const noexcept override { return milliseconds{1000}; }
  void update(const batch_progress& now) override { write(now, "progress"); }
  void finish(const batch_progress& now) override { write(now, "finished"); }
  void note(std::string_view text) override {
    auto line = json::object{};
    line["event"] = "note";
    line["text"] = json::string_view{text.data(), text.size()};
    out_ << to_text(line) << std::endl;
  }

private:
  void write(const batch_progress& now, const char* event) {
    auto line = json::object{};
    line["event"] = event;
    line["rows"] = now.rows;
    line["done"] = now.done;
    line["failed"] = now.failed;
    line["in_flight"] = now.in_flight;
    line["tokens"] = now.tokens;
    line["cost"] = now.cost ? json::value(*now.cost) : json::value(nullptr);
    line["cost_projected"] =
        now.cost_projected ? json::value(*now.cost_projected) : json::value(nullptr);
    line["rows_per_second"] = now.rows_per_second;
    line["elapsed_s"] = now.elapsed_seconds;
    line["eta_s"] = now.eta_seconds ? json::value(*now.eta_seconds) : json::value(nullptr);
    const auto is_measured = now.p95.count() > 0;
    line["p50_ms"] = is_measured ? json::value(to_ms(now.p50)) : json::value(nullptr);
    line["p95_ms"] = is_measured ? json::value(to_ms(now.p95)) : json::value(nullptr);
    line["barrier_waste"] =
        now.barrier_waste ? json::value(*now.barrier_waste) : json::value(nullptr);
    line["paused"] = now.paused.empty() ? json::value(nullptr) : json::value(now.paused);
    line["draining"] = now.draining;
    line["retries"] = now.retries;
    line["calls_repeating"] = now.calls_repeating;
    line["calls_waiting"] = now.calls_waiting;
    line["quiet_s"] = now.quiet_seconds;
    auto errors = json::object{};
    for (const auto& [code, count] : now.errors)
      errors[code] = count;
    line["errors"] = std::move(errors);
    line["last_error"] =
        now.last_error.empty() ? json::value(nullptr) : json::value(now.last_error);
    out_ << to_text(line) << std::endl;
  }

  std::ostream& out_;
};

/// Prints notes but no progress, for `--progress none`.
class note_sink final : public progress_sink {
public:
  explicit note_sink(std::ostream& out) : out_{out} {}
  milliseconds interval() const noexcept override { return milliseconds{60'000}; }
  void update(const batch_progress&) override {}
  void note(std::string_view text) override { out_ << text << std::endl; }
  void finish(const batch_progress&) override {}

private:
  std::ostream& out_;
};

} // namespace

std::optional<progress_mode> parse_progress_mode(std::string_view word, bool is_terminal) {
  if (word == "auto")
    return is_terminal ? progress_mode::bar : progress_mode::plain;
  if (word == "bar")
    return progress_mode::bar;
  if (word == "plain")
    return progress_mode::plain;
  if (word == "json")
    return progress_mode::json;
  if (word == "none")
    return progress_mode::none;
  return std::nullopt;
}

std::unique_ptr<progress_sink> make_progress_sink(progress_mode mode, std::ostream& out,
                                                  progress_terminal terminal) {
  switch (mode) {
  case progress_mode::bar:
    return std::make_unique<bar_sink>(out, std::move(terminal));
  case progress_mode::plain:
    return std::make_unique<plain_sink>(out);
  case progress_mode::json:
    return std::make_unique<json_sink>(out);
  case progress_mode::none:
    break;
  }
  return std::make_unique<note_sink>(out);
}

} // namespace superstep
