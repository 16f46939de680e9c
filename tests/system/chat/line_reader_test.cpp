// SPDX-License-Identifier: Apache-2.0
// The reader of chat input: line ends, long lines and interrupts by signals.
#include "batch/files.hpp"
#include "cli/line_reader.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

using superstep::cli::line_reader;
using superstep::cli::wake_up;

BOOST_AUTO_TEST_SUITE(chat_line_reader)

namespace {

/// A reader of given bytes.
class input {
public:
  explicit input(std::string_view bytes) {
    superstep::testing::write_file(folder_ / "in", bytes);
    file_ = ::open((folder_ / "in").c_str(), O_RDONLY | O_CLOEXEC);
    BOOST_REQUIRE(file_ >= 0);
    lines_.emplace(file_, bell_);
  }
  input(const input&) = delete;
  input& operator=(const input&) = delete;
  ~input() { ::close(file_); }
  [[nodiscard]] line_reader::read next() { return lines_->next(); }

private:
  superstep::testing::temporary_folder folder_;
  int file_ = -1;
  wake_up bell_;
  std::optional<line_reader> lines_;
};

} // namespace

BOOST_AUTO_TEST_CASE(lines_are_returned_without_newlines) {
  auto in = input{"one\n\ntwo words\r\nlast"};
  for (const auto* line : {"one", "", "two words\r", "last"}) {
    const auto got = in.next();
    BOOST_TEST((got.why == line_reader::end::line));
    BOOST_TEST(got.line == line);
  }
  BOOST_TEST((in.next().why == line_reader::end::input));
  BOOST_TEST((in.next().why == line_reader::end::input));
}

BOOST_AUTO_TEST_CASE(line_longer_than_read_size_is_returned_whole) {
  const auto longest = std::string(100'000, 'x');
  auto in = input{longest + "\nnext\n"};
  BOOST_TEST((in.next().line == longest));
  BOOST_TEST(in.next().line == "next");
}

BOOST_AUTO_TEST_CASE(overlong_line_is_rejected) {
  auto in = input{std::string(line_reader::line_bytes_max + 5'000, 'x')};
  BOOST_CHECK_THROW(static_cast<void>(in.next()), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(ctrl_c_is_reported_before_pending_lines) {
  auto in = input{"one\n"};
  BOOST_REQUIRE(std::raise(SIGINT) == 0);
  BOOST_TEST((in.next().why == line_reader::end::interrupt));
  BOOST_TEST(in.next().line == "one");
}

BOOST_AUTO_TEST_SUITE_END()
