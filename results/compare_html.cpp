// SPDX-License-Identifier: Apache-2.0
// The HTML form of a comparison: totals of both files, and answers side by side.
#include "batch/usd_text.hpp"
#include "results/compare.hpp"
#include "results/html_page.hpp"

#include <fmt/format.h>

namespace superstep::results {

namespace {

std::string totals_table(const comparison& c) {
  auto out = fmt::format("<table><tr><th></th><th class=\"n\">{}</th><th class=\"n\">{}</th>"
                         "<th class=\"n\">change</th></tr>\n",
                         html_escape(c.left_path), html_escape(c.right_path));
  for (const auto& total : totals_of(c))
    out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
                       "<td class=\"n\">{}</td></tr>\n",
                       total.name, total.left, total.right, total.change);
  return out + "</table>\n";
}

std::string cell(const std::optional<result_line>& row) {
  if (!row)
    return "<td class=\"note\">no row</td>";
  const auto is_ok = row->status == result_status::ok;
  auto out = fmt::format(
      "<td{}><pre>{}</pre><span class=\"note\">{} tokens", is_ok ? "" : " class=\"error\"",
      html_escape(is_ok ? compared_text(*row) : row->error_kind + ": " + row->error_message),
      row->has_usage ? std::to_string(row->input_tokens + row->output_tokens) : "-");
  if (row->wall_ms)
    out += fmt::format(", {:.0f} ms", *row->wall_ms);
  if (row->cost)
    out += ", " + detail::usd_text(*row->cost);
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
  if (has_comparable_scores(c))
    body += card(c.better_left, "higher score left") + card(c.better_right, "higher score right");
  body += "</div>\n";
  if (const auto note = scores_note(c); !note.empty())
    body += fmt::format("<p class=\"error\">{}</p>\n", html_escape(note));
  body += totals_table(c);
  body += "<h2>Rows</h2>\n<table><tr><th>row</th><th>left</th><th>right</th></tr>\n";
  for (const auto& row : c.rows)
    body +=
        fmt::format("<tr><td>{}<br><span class=\"note\">{}</span></td>{}{}</tr>\n",
                    html_escape(row.key), to_string(row.match), cell(row.left), cell(row.right));
  body += "</table>\n";
  if (const auto note = omitted_rows_note(c); !note.empty())
    body += fmt::format("<p class=\"note\">{}</p>\n", html_escape(note));
  return html_page("superstep diff: " + c.left_path + " and " + c.right_path, body);
}

} // namespace superstep::results
