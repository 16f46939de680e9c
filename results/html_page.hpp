// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/distribution.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::results {

/// First line of every page. superstep overwrites a file only if it starts with this line.
constexpr auto html_start = std::string_view{"<!doctype html>\n<!-- superstep report -->\n"};

/// Returns the text for HTML text and attributes in double quotes. Control characters other than
/// tab and line feed become U+FFFD.
[[nodiscard]] std::string html_escape(std::string_view text);

/// Returns a number with its thousands separated by thin spaces, as HTML text.
[[nodiscard]] std::string grouped(std::uint64_t number);

/// Returns a duration with at most four digits before the decimal point, e.g. `12.5 ms` or `75.0
/// s`.
[[nodiscard]] std::string duration_label(std::chrono::nanoseconds duration);

/// Returns a page with this title and body. The page loads no other file.
/// @param title plain text
/// @param body HTML
[[nodiscard]] std::string html_page(std::string_view title, std::string_view body);

/// Returns an SVG histogram. Its axis is logarithmic, and labelled so, if the values are far apart.
/// If all values are equal, returns a sentence instead.
/// @param unit plain text behind the values
[[nodiscard]] std::string histogram_chart(const distribution& values, std::string_view unit);
/// Returns an SVG histogram of durations, labelled with duration_label().
[[nodiscard]] std::string histogram_chart(const histogram& times);

/// A horizontal bar: a name, a value, and the part of the value that is marked as failed.
struct named_bar {
  std::string name;
  std::uint64_t value = 0;
  std::uint64_t marked = 0;
};

/// Returns an SVG chart of horizontal bars.
[[nodiscard]] std::string bar_chart(const std::vector<named_bar>& bars);

} // namespace superstep::results
