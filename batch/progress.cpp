// SPDX-License-Identifier: Apache-2.0
// The ways in which `superstep run` reports progress: a bar for terminals, plain lines, JSON lines,
// or notes only.
#include <superstep/base/json.hpp>
#include <superstep/batch/batch.hpp>

#include <fmt/format.h>

namespace superstep {
namespace {

using std::chrono::milliseconds;

double to_ms(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60)
    return fmt::format("{}s", whole);
  if (whole < 3600)
    return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
}

std::string line_of(const batch_progress& now) {
  auto line = fmt::format("{}/{} done, {} failed, {} in flight, {:.1f} rows/s, {} tokens", now.done,
                          now.rows, now.failed, now.in_flight, now.rows_per_second, now.tokens);
  if (now.p95.count() > 0)
    line += fmt::format(", p50 {:.0f} ms p95 {:.0f} ms", to_ms(now.p50), to_ms(now.p95));
  if (now.draining)
    line += ", draining";
  else if (now.eta_seconds)
    line += ", ETA " + duration_text(*now.eta_seconds);
  return line;
}

/// Redraws a progress bar on the same line of a terminal. A note ends that line first.
class bar_sink final : public progress_sink {
public:
  explicit bar_sink(std::ostream& out) : out_{out} {}
  milliseconds interval() const noexcept override { return milliseconds{200}; }
  void update(const batch_progress& now) override {
    constexpr auto width = std::uint64_t{20};
    const auto filled = now.rows == 0 ? width : std::min(now.done * width / now.rows, width);
    auto bar = std::string(filled, '#') + std::string(width - filled, '.');
    // The escape sequence clears the rest of the line, which a longer text may have filled.
    out_ << "\r[" << bar << "] " << line_of(now) << "\x1b[K" << std::flush;
    is_open_ = true;
  }
  void note(std::string_view text) override {
    close();
    out_ << text << std::endl;
  }
  void finish(const batch_progress& now) override {
    update(now);
    close();
  }

private:
  void close() {
    if (is_open_)
      out_ << std::endl;
    is_open_ = false;
  }

  std::ostream& out_;
  bool is_open_ = false;
};

class plain_sink final : public progress_sink {
public:
  explicit plain_sink(std::ostream& out) : out_{out} {}
  milliseconds interval() const noexcept override { return milliseconds{5000}; }
  void update(const batch_progress& now) override { out_ << line_of(now) << std::endl; }
  void note(std::string_view text) override { out_ << text << std::endl; }
  void finish(const batch_progress& now) override { update(now); }

private:
  std::ostream& out_;
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
    line["p50_ms"] = to_ms(now.p50);
    line["p95_ms"] = to_ms(now.p95);
    line["draining"] = now.draining;
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

std::unique_ptr<progress_sink> make_progress_sink(progress_mode mode, std::ostream& out) {
  switch (mode) {
  case progress_mode::bar:
    return std::make_unique<bar_sink>(out);
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
