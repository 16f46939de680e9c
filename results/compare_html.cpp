// SPDX-License-Identifier: Apache-2.0
// The HTML form of a comparison: totals of both files, and answers side by side.
#include "results/compare.hpp"
#include "results/html_page.hpp"

#include <fmt/format.h>

namespace superstep::results {

namespace {

std::string total_row(std::string_view name, double left, double right, std::string_view unit,
                      int digits) {
  const auto change =
      left > 0 ? fmt::format("{:+.1f} %", 100 * (right - left) / left) : std::string{"-"};
  return fmt::format("<tr><td>{}</td><td class=\"n\">{:.{}f}{}</td><td class=\"n\">{:.{}f}{}</td>"
                     "<td class=\"n\">{}</td></tr>\n",
                     name, left, digits, unit, right, digits, unit, change);
}

std::string totals_table(const comparison& c) {
  const auto& a = c.left;
  const auto& b = c.right;
  const auto number = [](auto value) { return static_cast<double>(value); };
  auto out = fmt::format("<table><tr><th></th><th class=\"n\">{}</th><th class=\"n\">{}</th>"
                         "<th class=\"n\">change</th></tr>\n",
                         html_escape(c.left_path), html_escape(c.right_path));
  out += total_row("rows", number(a.rows()), number(b.rows()), "", 0);
  out += total_row("failed rows", number(a.failed), number(b.failed), "", 0);
  if (a.rows_scored > 0 || b.rows_scored > 0)
    out += total_row("score", 100 * wilson(a.score_sum, a.rows_scored).value,
                     100 * wilson(b.score_sum, b.rows_scored).value, " %", 1);
  if (a.latency.count() > 0 || b.latency.count() > 0) {
    out += total_row("latency p50", number(a.latency.percentile(0.5)),
                     number(b.latency.percentile(0.5)), " ms", 0);
    out += total_row("latency p95", number(a.latency.percentile(0.95)),
                     number(b.latency.percentile(0.95)), " ms", 0);
  }
  out += total_row("input tokens", number(a.input_tokens), number(b.input_tokens), "", 0);
  out += total_row("output tokens", number(a.output_tokens), number(b.output_tokens), "", 0);
  if (a.rows_priced > 0 && b.rows_priced > 0)
    out += total_row("cost", a.cost, b.cost, " USD", 4);
  return out + "</table>\n";
}

std::string cell(const std::optional<result_line>& row) {
  if (!row)
    return "<td class=\"note\">no row</td>";
  const auto is_ok = row->status == result_status::ok;
  auto out = fmt::format(
      "<td{}><pre>{}</pre><span class=\"note\">{} tokens", is_ok ? "" : " class=\"error\"",
      html_escape(is_ok ? compared_text(*row) : row->error_kind + ": " + row->error_message),
      row->input_tokens + row->output_tokens);
  if (row->wall_ms)
    out += fmt::format(", {:.0f} ms", *row->wall_ms);
  if (row->cost)
    out += fmt::format(", {:.6f} USD", *row->cost);
  if (row->score)
    out += fmt::format(", score {:.2f}", *row->score);
  return out + "</span></td>";
}

} // namespace

std::string to_html(const comparison& c) {
  const auto card = [](std::uint64_t value, std::string_view name) {
    return fmt::format("<div class=\"card\"><b>{}</b><span>{}</span></div>\n", grouped(value),
                       name);
  };
  auto body = fmt::format("<h1>{} and {}</h1>\n<div class=\"cards\">\n", html_escape(c.left_path),
                          html_escape(c.right_path));
  body += card(c.same, "same") + card(c.different, "different") + card(c.only_left, "only left") +
          card(c.only_right, "only right") + card(c.failed_left, "failed only left") +
          card(c.failed_right, "failed only right");
  if (c.left.rows_scored > 0 && c.right.rows_scored > 0)
    body += card(c.better_left, "higher score left") + card(c.better_right, "higher score right");
  body += "</div>\n" + totals_table(c);
  body += fmt::format("<h2>Rows</h2>\n<p class=\"note\">The first {} rows.</p>\n<table><tr>"
                      "<th>row</th><th>left</th><th>right</th></tr>\n",
                      c.rows.size());
  for (const auto& row : c.rows)
    body +=
        fmt::format("<tr><td>{}<br><span class=\"note\">{}</span></td>{}{}</tr>\n",
                    html_escape(row.key), to_string(row.match), cell(row.left), cell(row.right));
  return html_page("superstep diff: " + c.left_path + " and " + c.right_path, body + "</table>\n");
}

} // namespace superstep::results
