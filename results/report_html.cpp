// SPDX-License-Identifier: Apache-2.0
// The HTML form of a report: cards with totals, charts, and tables of failed and slow rows.
#include "batch/usd_text.hpp"
#include "results/html_page.hpp"
#include "results/report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace superstep::results {

namespace {

std::string card(const std::string& value, std::string_view name) {
  return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", value, name);
}

std::string cards_of(const report& r) {
  auto out = std::string{"<div class=\"cards\">\n"};
  out += card(grouped(r.rows()), "rows");
  out += card(grouped(r.ok), "ok");
  out += card(grouped(r.failed), "failed");
  if (r.cancelled > 0)
    out += card(grouped(r.cancelled), "cancelled");
  if (r.unknown > 0)
    out += card(grouped(r.unknown), "of unknown status");
  if (r.rows_scored > 0) {
    const auto score = r.score();
    out += card(fmt::format("{:.1f} %", 100 * score.value),
                fmt::format("score of {} rows, 95 % confidence {:.1f} to {:.1f} %{}{}",
                            r.rows_scored, 100 * score.low, 100 * score.high,
                            r.scored_by.empty() ? "" : "; ", html_escape(r.scored_by)));
  }
  if (r.latency.count() > 0)
    out += card(duration_label(r.latency.percentile(0.5)) + " / " +
                    duration_label(r.latency.percentile(0.95)),
                "latency p50 / p95");
  const auto tokens = [&](std::int64_t sum) {
    return r.tokens.count() > 0
               ? grouped(static_cast<std::uint64_t>(std::max<std::int64_t>(sum, 0)))
               : std::string{"-"};
  };
  const auto of_rows = r.tokens.count() == 0 || r.tokens.count() == r.rows()
                           ? std::string{}
                           : fmt::format(" of {} rows", r.tokens.count());
  out += card(tokens(r.input_tokens), "input tokens" + of_rows);
  out += card(tokens(r.output_tokens), "output tokens" + of_rows);
  out += card(known(r.model_calls), "model calls");
  if (r.cached_answers > 0)
    out += card(grouped(r.cached_answers), "answers from the cache");
  out += card(known(r.tool_calls), "tool calls");
  if (r.rows_priced > 0)
    out += card(detail::usd_text(r.cost),
                r.rows_priced == r.rows() ? "cost" : fmt::format("cost of {} rows", r.rows_priced));
  return out + "</div>\n";
}

/// Returns the barrier waits: those of the rows, or the percentiles of the last run in the summary.
/// Empty if no row has waited.
std::string barrier_chart(const report& r) {
  if (r.barrier.count() > 0)
    return r.barrier.in_microseconds().max() > 0 ? histogram_chart(r.barrier) : std::string{};
  const auto* const times = r.summary().if_contains("times_ms");
  const auto* const waits = times != nullptr && times->is_object()
                                ? times->get_object().if_contains("barrier_wait")
                                : nullptr;
  if (waits == nullptr || !waits->is_object())
    return "<p class=\"note\">The output has no barrier waits.</p>";
  const auto number = [&](std::string_view name) {
    const auto* const found = waits->get_object().if_contains(name);
    auto failed = boost::system::error_code{};
    const auto value = found != nullptr ? found->to_number<double>(failed) : 0.0;
    return failed ? 0.0 : value;
  };
  if (number("p95") == 0.0)
    return {};
  return fmt::format("<p>p50 {:.1f} ms, p95 {:.1f} ms in {:.0f} rows of the last run</p>",
                     number("p50"), number("p95"), number("count"));
}

std::string charts_of(const report& r) {
  auto errors = std::vector<named_bar>{};
  for (const auto& [kind, same] : r.errors)
    errors.push_back({kind, same.rows, same.rows});
  auto tools = std::vector<named_bar>{};
  for (const auto& [name, tool] : r.tools)
    tools.push_back({name, tool.calls, tool.failed});
  std::ranges::stable_sort(errors, std::greater{}, &named_bar::value);
  std::ranges::stable_sort(tools, std::greater{}, &named_bar::value);
  const auto chart = [](std::string_view title, const std::string& svg) {
    return fmt::format("<section><h2>{}</h2>\n{}</section>\n", title, svg);
  };
  auto out = std::string{"<div class=\"grid\">\n"};
  out += chart("Latency of a row", histogram_chart(r.latency));
  out += chart("Tokens of a row", histogram_chart(r.tokens, "tokens"));
  out += chart("Errors by class", bar_chart(errors));
  out += chart("Tool calls", bar_chart(tools));
  out += chart("Super-steps of a row", histogram_chart(r.steps, "steps"));
  if (const auto waits = barrier_chart(r); !waits.empty())
    out += chart("Wait at barriers", waits);
  return out + "</div>\n";
}

std::string failures_of(const report& r) {
  if (r.errors.empty())
    return {};
  auto out = std::string{"<h2>Failed rows</h2>\n<table><tr><th>error</th><th class=\"n\">rows</th>"
                         "<th>first rows</th></tr>\n"};
  for (const auto& [kind, same] : r.errors) {
    out += fmt::format("<tr><td class=\"error\">{}</td><td class=\"n\">{}</td><td>",
                       html_escape(kind), grouped(same.rows));
    for (const auto& row : same.examples)
      out += fmt::format("<pre><b>{}</b> {}</pre>", html_escape(row.key), html_escape(row.text));
    out += "</td></tr>\n";
  }
  return out + "</table>\n";
}

std::string slowest_of(const report& r) {
  const auto rows = r.slowest();
  if (rows.empty())
    return {};
  auto out = std::string{"<h2>Slowest rows</h2>\n<table><tr><th>row</th><th class=\"n\">ms</th>"
                         "<th class=\"n\">steps</th><th class=\"n\">model calls</th>"
                         "<th class=\"n\">tool calls</th><th class=\"n\">tokens</th>"
                         "<th>answer or error</th></tr>\n"};
  for (const auto& row : rows)
    out += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{:.0f}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td><td{}><pre>{}</pre></td></tr>\n",
        html_escape(row.key), row.wall_ms, known(row.steps), known(row.model_calls),
        known(row.tool_calls), known(row.tokens),
        row.status == result_status::error ? " class=\"error\"" : "", html_escape(row.text));
  return out + "</table>\n";
}

} // namespace

std::string to_html(const report& r) {
  auto body = fmt::format("<h1>{}</h1>\n", html_escape(r.path));
  if (const auto* const job = r.summary().if_contains("job_id"); job != nullptr && job->is_string())
    body += fmt::format("<p class=\"note\">job {}</p>\n", html_escape(job->get_string()));
  if (r.is_torn)
    body += "<p class=\"error\">The last line of the file is incomplete and not counted.</p>\n";
  body += cards_of(r) + charts_of(r) + failures_of(r) + slowest_of(r);
  return html_page("superstep report: " + r.path, body);
}

} // namespace superstep::results
