// SPDX-License-Identifier: Apache-2.0
// Metrics of a job in the text format of Prometheus:
// https://prometheus.io/docs/instrumenting/exposition_formats/
#include "cli/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace superstep::cli {

namespace {

using std::chrono::milliseconds;

constexpr auto interval_max = milliseconds{1'000};

double to_seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Writes families of samples: a comment with the help text, one with the type, and the samples.
class exposition {
public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "superstep_" + std::string{name};
    text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name_, help, name_, type);
  }
  /// Adds a sample of the latest family.
  /// @param labels such as `code="unauthorized"`; empty: none. Must not need escapes
  template <class Number>
  void sample(Number value, std::string_view labels = {}, std::string_view suffix = {}) {
    const auto braces = labels.empty() ? std::string{} : fmt::format("{{{}}}", labels);
    text_ += fmt::format("{}{}{} {}\n", name_, suffix, braces, value);
  }
  template <class Number>
  void single(std::string_view name, std::string_view type, std::string_view help, Number value) {
    family(name, type, help);
    sample(value);
  }
  void durations(std::string_view name, std::string_view help, const histogram& times,
                 std::chrono::nanoseconds sum) {
    family(name, "summary", help);
    for (const auto quantile : {0.5, 0.95, 0.99})
      if (times.count() > 0)
        sample(to_seconds(times.percentile(quantile)), fmt::format("quantile=\"{}\"", quantile));
    sample(to_seconds(sum), {}, "_sum");
    sample(times.count(), {}, "_count");
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

private:
  std::string name_;
  std::string text_;
};

} // namespace

std::string metrics_text(const batch_progress& now) {
  auto out = exposition{};
  out.single("rows", "gauge", "Rows of the input.", now.rows);
  out.family("rows_done_total", "counter", "Rows of the job that have ended.");
  out.sample(now.done - std::min(now.failed, now.done), "status=\"ok\"");
  out.sample(now.failed, "status=\"error\"");
  out.single("rows_in_flight", "gauge", "Rows that are running.", now.in_flight);
  out.family("row_errors_total", "counter", "Rows of this run that have failed, by error code.");
  for (const auto& [code, count] : now.errors)
    out.sample(count, fmt::format("code=\"{}\"", code));
  out.single("model_calls_total", "counter", "Model calls of the rows that have ended.",
             now.model_calls);
  out.single("model_retries_total", "counter",
             "Attempts of model calls of this run that failed and were repeated.", now.retries);
  out.family("model_calls_waiting", "gauge", "Model calls that wait or are repeated.");
  out.sample(now.calls_waiting, "reason=\"limit\"");
  out.sample(now.calls_repeating, "reason=\"error\"");
  out.single("tool_calls_total", "counter", "Tool calls of the rows that have ended.",
             now.tool_calls);
  out.family("tokens_total", "counter", "Tokens of the rows that have ended.");
  out.sample(now.input_tokens, "kind=\"input\"");
  out.sample(now.output_tokens, "kind=\"output\"");
  if (now.cost)
    out.single("cost_usd_total", "counter", "Cost of the rows that have ended, in US dollars.",
               *now.cost);
  out.durations("row_duration_seconds", "Durations of the rows of this run.", now.row_times,
                now.row_time);
  out.durations("tool_duration_seconds", "Durations of the tool calls of this run.", now.tool_times,
                now.tool_time);
  out.single("barrier_wait_seconds_total", "counter",
             "Time that finished tool calls of this run waited for others.",
             to_seconds(now.barrier_wait));
  out.single("elapsed_seconds", "gauge", "Time since the start of this run.", now.elapsed_seconds);
  out.single("paused", "gauge", "1 if no row starts at the moment, otherwise 0.",
             now.paused.empty() ? 0 : 1);
  out.single("draining", "gauge", "1 if the job stops, otherwise 0.", now.draining ? 1 : 0);
  return std::move(out).take();
}

result<std::uint16_t> metrics_port(std::string_view text) {
  constexpr auto host = std::string_view{"127.0.0.1:"};
  auto digits = text;
  if (digits.starts_with(host))
    digits.remove_prefix(host.size());
  auto port = std::uint16_t{0};
  const auto* end = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), end, port);
  if (digits.empty() || stop != end || code != std::errc{})
    return error{errc::invalid_argument,
                 "must be a port from 0 to 65535, such as 9464 or 127.0.0.1:9464; metrics are "
                 "served on the local host only"};
  return port;
}

result<void> metrics_sink::listen(io_runtime& io, std::uint16_t port) {
  auto options = text_server_options{};
  options.port = port;
  options.content_type = "text/plain; version=0.0.4; charset=utf-8";
  auto started = text_server::start(io, std::move(options), [this] { return text(); });
  if (!started)
    return error{started.error().code, "--metrics: " + started.error().text};
  server_ = *std::move(started);
  note(fmt::format("metrics at http://127.0.0.1:{}/metrics", server_->port()));
  return {};
}

milliseconds metrics_sink::interval() const noexcept {
  return std::min(inner_->interval(), interval_max);
}

bool metrics_sink::is_outdated() {
  is_outdated_ = is_outdated_ || inner_->is_outdated();
  return is_outdated_;
}

void metrics_sink::update(const batch_progress& now) {
  store(now);
  const auto time = std::chrono::steady_clock::now();
  if (time < next_ && !is_outdated_)
    return;
  is_outdated_ = false;
  next_ = time + inner_->interval() - interval() / 2; // updates come at irregular times
  inner_->update(now);
}

void metrics_sink::finish(const batch_progress& now) {
  store(now);
  inner_->finish(now);
}

void metrics_sink::store(const batch_progress& now) {
  const auto lock = std::scoped_lock{mutex_};
  latest_ = now;
}

std::string metrics_sink::text() const {
  const auto lock = std::scoped_lock{mutex_};
  return metrics_text(latest_);
}

} // namespace superstep::cli
