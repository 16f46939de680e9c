// SPDX-License-Identifier: Apache-2.0
// The reader of input lines: numbers, offsets, block boundaries and lines over the size limit.
#include "batch/line_reader.hpp"
#include "job_fixture.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(line_reader)

namespace {

using namespace superstep;
using namespace superstep::detail;
using namespace superstep::testing;

struct seen_line {
  std::string text;
  std::uint64_t number, offset, size;
  bool is_too_long, is_complete;
};

std::vector<seen_line> lines_of(std::string_view text, std::size_t line_bytes_max,
                                const reading_range& range = {}) {
  auto folder = temporary_folder{};
  write_file(folder / "lines", text);
  auto opened = detail::file::open_input(folder / "lines").value();
  auto reader = detail::line_reader{opened, line_bytes_max, range};
  auto out = std::vector<seen_line>{};
  while (auto line = reader.next().value())
    out.push_back({std::string{line->text}, line->number, line->offset, line->size,
                   line->is_too_long, line->is_complete});
  return out;
}

} // namespace

BOOST_AUTO_TEST_CASE(reader_returns_text_number_and_offset_of_lines) {
  auto lines = lines_of("one\n\nthree\nrest", 100);
  BOOST_REQUIRE(lines.size() == 4U);
  BOOST_TEST(lines[0].text == "one");
  BOOST_TEST(lines[1].size == 0U);
  BOOST_TEST(lines[2].number == 3U);
  BOOST_TEST(lines[2].offset == 5U);
  BOOST_TEST(lines[2].is_complete);
  BOOST_TEST(lines[3].text == "rest");
  BOOST_TEST(!lines[3].is_complete);
}

BOOST_AUTO_TEST_CASE(lines_across_read_blocks_are_returned_whole) {
  auto text = std::string{};
  for (auto i = 0; i < 2000; ++i)
    text += std::string(static_cast<std::size_t>(i), 'a' + static_cast<char>(i % 26)) + '\n';
  auto lines = lines_of(text, 5000);
  BOOST_REQUIRE(lines.size() == 2000U);
  for (auto i = std::size_t{0}; i < lines.size(); ++i) {
    BOOST_TEST_REQUIRE(lines[i].size == i);
    BOOST_TEST_REQUIRE(text.substr(lines[i].offset, i) == lines[i].text);
  }
}

BOOST_AUTO_TEST_CASE(overlong_line_is_marked_and_reading_continues) {
  for (auto size : {std::size_t{101}, std::size_t{300'000}, std::size_t{3'000'000}}) {
    auto lines = lines_of("a\n" + std::string(size, 'x') + "\nb\n", 100);
    BOOST_REQUIRE(lines.size() == 3U);
    BOOST_TEST(lines[1].is_too_long);
    BOOST_TEST(lines[1].size == size);
    BOOST_TEST(lines[1].text.starts_with("xxx"));
    BOOST_TEST(lines[2].text == "b");
    BOOST_TEST(lines[2].number == 3U);
    BOOST_TEST(lines[2].offset == size + 3);
  }
}

BOOST_AUTO_TEST_CASE(reader_returns_only_the_requested_byte_range) {
  auto lines = lines_of("one\ntwo\nthree\n", 100, {.offset = 4, .end = 10});
  BOOST_REQUIRE(lines.size() == 2U);
  BOOST_TEST(lines[0].text == "two");
  BOOST_TEST(lines[1].text == "th");
}

BOOST_AUTO_TEST_CASE(byte_order_mark_is_skipped_only_at_file_start) {
  const auto mark = std::string{"\xEF\xBB\xBF"};
  const auto record = std::string{"\"a\nb\",c\n"};
  const auto first = lines_of(mark + record + record, 100, {.separator = ','});
  BOOST_REQUIRE(first.size() == 2U);
  BOOST_TEST(first[0].text == mark + "\"a\nb\",c");
  BOOST_TEST(first[1].number == 3U);
  // After the start, the mark is a character, and a quote that follows it is one, too.
  BOOST_TEST(lines_of("x\n" + mark + record, 100, {.separator = ','}).size() == 3U);
  BOOST_TEST(lines_of("x\n" + mark + record, 100, {.offset = 2, .separator = ','}).size() == 2U);
}

BOOST_AUTO_TEST_SUITE_END()
