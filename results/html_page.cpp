// SPDX-License-Identifier: Apache-2.0
// Parts of HTML pages: escapes, the frame of a page with its style, and SVG charts.
#include "results/html_page.hpp"

#include "base/error_words.hpp"
#include "base/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace superstep::results {

namespace {

constexpr auto style = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#667;--line:#d5d9df;--bar:#3569b8;--bad:#c8442b;
--paper:#fff;--card:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--ink:#e4e7eb;--soft:#9aa3ad;--line:#3a4048;--bar:#6b9ae0;
--bad:#ee7b62;--paper:#16191d;--card:#20242a}}
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;
max-width:72rem;padding:0 1rem}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin-top:2rem}
.cards{display:flex;flex-wrap:wrap;gap:.75rem;margin:1rem 0}
.card{background:var(--card);border-radius:.4rem;padding:.6rem .9rem;min-width:8rem}
.card b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
.card span,.note{color:var(--soft);font-size:.85rem}
.grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(28rem,1fr));gap:1rem 2rem}
svg{width:100%;height:auto}svg text{fill:var(--ink);font:11px system-ui,sans-serif}
svg .soft{fill:var(--soft)}svg .bar{fill:var(--bar)}svg .bad{fill:var(--bad)}
svg .axis{stroke:var(--line)}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top;
overflow-wrap:anywhere}
th{color:var(--soft);font-weight:500}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;
white-space:nowrap}td:first-child{min-width:8rem}
.error{color:var(--bad)}td.error:first-child{overflow-wrap:normal}pre{white-space:pre-wrap;margin:0;font:inherit}
@media(max-width:32rem){.grid{grid-template-columns:1fr}}
)";

/// Returns a number in at most five characters, e.g. `12.5k`.
std::string short_number(std::uint64_t number) {
  constexpr auto thousand = 1'000.0;
  auto value = static_cast<double>(number);
  constexpr auto suffixes = std::string_view{"kMGTPE"};
  if (value < 10 * thousand)
    return std::to_string(number);
  auto i = std::size_t{0};
  for (value /= thousand; value >= thousand && i + 1 < suffixes.size(); value /= thousand)
    ++i;
  return fmt::format("{:.3g}{}", value, suffixes[i]);
}

/// Returns a number with its unit, whose plural ends with s.
std::string with_unit(std::uint64_t number, std::string_view unit) {
  if (number == 1 && unit.ends_with('s'))
    unit.remove_suffix(1);
  return fmt::format("{} {}", short_number(number), html_escape(unit));
}

std::string micros_label(std::uint64_t micros) {
  return duration_label(std::chrono::microseconds{micros});
}

using text_of_value = std::function<std::string(std::uint64_t)>;

constexpr auto chart_width = 480.0;
constexpr auto chart_height = 150.0; // without the labels below the axis

/// Returns the bars. The highest one leaves room for a line of text.
std::string bars_of(const std::vector<distribution::bar>& bars, std::uint64_t highest,
                    const text_of_value& text) {
  constexpr auto top = 14.0;
  const auto step = chart_width / static_cast<double>(bars.size());
  auto out = std::string{};
  for (auto i = std::size_t{0}; i < bars.size(); ++i) {
    const auto& bar = bars[i];
    if (bar.count == 0)
      continue;
    const auto tall = std::max(1.0, (chart_height - top) * static_cast<double>(bar.count) /
                                        static_cast<double>(highest));
    out += fmt::format("<rect class=\"bar\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                       "height=\"{:.1f}\"><title>from {} to below {}: {}</title></rect>\n",
                       static_cast<double>(i) * step, chart_height - tall, std::max(step - 1, 1.0),
                       tall, text(bar.from), text(bar.to), counted(bar.count, "row"));
  }
  return out;
}

/// Returns the axis, labelled with the smallest value, the lower bounds of some bars and the
/// largest value.
std::string axis_of(const std::vector<distribution::bar>& bars, const distribution& values,
                    const text_of_value& text) {
  constexpr auto labels = std::size_t{5};
  const auto step = chart_width / static_cast<double>(bars.size());
  auto out = fmt::format("<line class=\"axis\" x1=\"0\" x2=\"{0}\" y1=\"{1}\" y2=\"{1}\"/>\n",
                         chart_width, chart_height);
  for (auto i = std::size_t{0}; i < labels; ++i) {
    const auto at = i * (bars.size() - 1) / (labels - 1);
    if (i > 0 && at == (i - 1) * (bars.size() - 1) / (labels - 1))
      continue;
    const auto* anchor = i == 0 ? "start" : i + 1 == labels ? "end" : "middle";
    const auto x = i == 0            ? 0.0
                   : i + 1 == labels ? chart_width
                                     : (static_cast<double>(at) + 0.5) * step;
    const auto value = i == 0 ? values.min() : i + 1 == labels ? values.max() : bars[at].from;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n", x,
                       chart_height + 14, anchor, text(value));
  }
  return out;
}

std::string chart_of(const distribution& values, const text_of_value& text) {
  constexpr auto bars_max = std::size_t{48};
  constexpr auto linear_below = std::uint64_t{64}; // the buckets of distribution have the width 1
  const auto bars = values.bars(bars_max);
  if (bars.empty())
    return "<p class=\"note\">no values</p>";
  if (values.min() == values.max())
    return fmt::format("<p>{}{}: {}</p>", values.count() == 1 ? "" : "all ",
                       grouped(values.count()) + (values.count() == 1 ? " row" : " rows"),
                       text(values.max()));
  const auto highest = std::ranges::max(bars, {}, &distribution::bar::count).count;
  auto out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\"><text class=\"soft\" x=\"0\" "
                         "y=\"10\">highest bar: {}</text>\n",
                         chart_width, chart_height + 36,
                         grouped(highest) + (highest == 1 ? " row" : " rows"));
  out += bars_of(bars, highest, text) + axis_of(bars, values, text);
  out += fmt::format("<text class=\"soft\" x=\"0\" y=\"{}\">p50 {}, p95 {}, max {}</text>\n",
                     chart_height + 31, text(values.percentile(0.5)), text(values.percentile(0.95)),
                     text(values.max()));
  const auto width_of = [](const distribution::bar& bar) { return bar.to - bar.from; };
  if (width_of(bars.back()) > width_of(bars.front()))
    out += fmt::format("<text class=\"soft\" x=\"{}\" y=\"{}\" text-anchor=\"end\">"
                       "logarithmic axis{}</text>\n",
                       chart_width, chart_height + 31,
                       values.min() < linear_below ? " above " + text(linear_below) : "");
  return out + "</svg>\n";
}

} // namespace

std::string html_escape(std::string_view text) {
  auto out = std::string{};
  out.reserve(text.size() + text.size() / 8);
  for (const auto c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    case '\'':
      out += "&#39;";
      break;
    default:
      if ((static_cast<unsigned char>(c) < 0x20U && c != '\t' && c != '\n') || c == '\x7F')
        out += "\xEF\xBF\xBD";
      else
        out += c;
    }
  return out;
}

std::string grouped(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), "\u2009");
  return digits;
}

std::string duration_label(std::chrono::nanoseconds duration) {
  const auto ms = std::chrono::duration<double, std::milli>(duration).count();
  constexpr auto per_second = 1'000.0;
  if (ms < per_second / 10)
    return fmt::format("{:.1f} ms", ms);
  return ms < 10 * per_second ? fmt::format("{:.0f} ms", ms)
                              : fmt::format("{:.1f} s", ms / per_second);
}

std::string html_page(std::string_view title, std::string_view body) {
  auto out = std::string{html_start};
  out += "<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'\">\n<title>";
  out += html_escape(title);
  out += "</title>\n<style>";
  out += style;
  out += "</style></head><body>\n";
  out += body;
  out += "</body></html>\n";
  return out;
}

std::string histogram_chart(const distribution& values, std::string_view unit) {
  return chart_of(values, [&](std::uint64_t value) { return with_unit(value, unit); });
}

std::string histogram_chart(const histogram& times) {
  return chart_of(times.in_microseconds(), micros_label);
}

std::string bar_chart(const std::vector<named_bar>& bars) {
  constexpr auto width = 480.0;
  constexpr auto names = 150.0;
  constexpr auto room = 230.0; // length of the longest bar
  constexpr auto row = 20.0;
  constexpr auto name_bytes = std::size_t{24};
  if (bars.empty())
    return "<p class=\"note\">none</p>";
  const auto highest =
      std::max<std::uint64_t>(std::ranges::max(bars, {}, &named_bar::value).value, 1);
  auto out = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n", width,
                         row * static_cast<double>(bars.size()));
  for (auto i = std::size_t{0}; i < bars.size(); ++i) {
    const auto& bar = bars[i];
    const auto y = row * static_cast<double>(i);
    const auto scale = room / static_cast<double>(highest);
    out +=
        fmt::format("<g><title>{0}</title><text x=\"{1}\" y=\"{2}\" "
                    "text-anchor=\"end\">{3}</text>"
                    "<rect class=\"bar\" x=\"{4}\" y=\"{5}\" width=\"{6:.1f}\" height=\"13\"/>",
                    html_escape(bar.name), names - 6, y + 13,
                    html_escape(shortened(bar.name.empty() ? "(no name)" : bar.name, name_bytes)),
                    names, y + 3, std::max(1.0, scale * static_cast<double>(bar.value)));
    if (bar.marked > 0)
      out += fmt::format("<rect class=\"bad\" x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"13\"/>",
                         names, y + 3, std::max(1.0, scale * static_cast<double>(bar.marked)));
    out += fmt::format(
        "<text x=\"{:.1f}\" y=\"{}\">{}{}</text></g>\n",
        names + 5 + scale * static_cast<double>(bar.value), y + 13, grouped(bar.value),
        bar.marked > 0 && bar.marked < bar.value ? ", " + grouped(bar.marked) + " failed" : "");
  }
  return out + "</svg>\n";
}

} // namespace superstep::results
