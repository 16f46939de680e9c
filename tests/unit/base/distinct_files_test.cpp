// SPDX-License-Identifier: Apache-2.0
// Detection of files that are named twice in the options of a batch job.
#include "batch/files.hpp"

#include <superstep/base/detail/distinct_files.hpp>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <vector>

BOOST_AUTO_TEST_SUITE(distinct_files)

namespace {

using namespace superstep;
using use = used_file::use;
namespace fs = std::filesystem;

bool are_distinct(const std::string& a, use how_a, const std::string& b, use how_b) {
  const auto files = std::vector<used_file>{{"first", a, how_a}, {"second", b, how_b}};
  const auto checked = check_distinct_files(files);
  if (!checked) {
    BOOST_TEST(checked.error().text.find("first and second are the same file") == 0U,
               checked.error().text);
    BOOST_TEST((checked.error().code == errc::invalid_argument));
  }
  return checked.has_value();
}

struct places {
  places() {
    testing::write_file(folder / "file", "x");
    fs::create_directory(folder / "sub");
    fs::create_symlink(folder / "file", folder / "link");
    fs::create_symlink("link", folder / "link-to-link");
    fs::create_hard_link(folder / "file", folder / "hard");
    fs::create_directory_symlink("sub", folder / "linked-sub");
    fs::create_symlink("sub/new", folder / "dangling");
    fs::create_symlink("loop", folder / "loop");
    testing::write_file(folder / "other", "x");
  }
  testing::temporary_folder folder;
};

} // namespace

BOOST_AUTO_TEST_CASE(file_named_twice_is_rejected_if_written) {
  const auto at = places{};
  for (const auto* other : {"file", "./file", "sub/../file", "link", "link-to-link", "hard"}) {
    BOOST_TEST(!are_distinct(at.folder / "file", use::read, at.folder / other, use::written),
               other);
    BOOST_TEST(!are_distinct(at.folder / other, use::written, at.folder / "file", use::read),
               other);
    BOOST_TEST(!are_distinct(at.folder / other, use::written, at.folder / "file", use::written));
    BOOST_TEST(are_distinct(at.folder / other, use::read, at.folder / "file", use::read), other);
    BOOST_TEST(are_distinct(at.folder / other, use::written, at.folder / "other", use::read));
  }
}

BOOST_AUTO_TEST_CASE(missing_files_are_compared_by_resolved_path) {
  const auto at = places{};
  for (const auto* other :
       {"sub/new", "linked-sub/new", "dangling", "./sub/./new", "sub/../sub/new"})
    BOOST_TEST(!are_distinct(at.folder / "sub/new", use::written, at.folder / other, use::written),
               other);
  for (const auto* other : {"new", "sub/newer", "loop", "missing/new"})
    BOOST_TEST(are_distinct(at.folder / "sub/new", use::written, at.folder / other, use::written),
               other);
  BOOST_TEST(!are_distinct(at.folder / "missing/a/../b", use::written, at.folder / "missing/b",
                           use::read));
}

BOOST_AUTO_TEST_CASE(devices_and_empty_paths_may_be_named_twice) {
  BOOST_TEST(are_distinct("/dev/null", use::written, "/dev/null", use::written));
  BOOST_TEST(are_distinct("", use::written, "", use::written));
}

BOOST_AUTO_TEST_SUITE_END()
