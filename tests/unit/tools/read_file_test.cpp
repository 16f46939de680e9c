// SPDX-License-Identifier: Apache-2.0
// The read_file tool: files below its root, and everything else.
#include "run_tool.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace superstep;
namespace fs = std::filesystem;

namespace read_file_test {

namespace {

/// A temporary folder with a root, and files inside and outside of it.
struct tree {
  fs::path base = fs::temp_directory_path() / ("superstep_read_file_" + std::to_string(::getpid()));

  tree() {
    fs::create_directories(base / "root/sub");
    write("root/a.txt", "content of a");
    write("root/sub/b.txt", "content of b");
    write("root/large.txt", std::string(101, 'x'));
    write("root/full.txt", std::string(100, 'x'));
    write("secret.txt", "secret");
    write("root_sibling.txt", "secret");
    fs::create_symlink("sub/b.txt", base / "root/inner");
    fs::create_symlink("../secret.txt", base / "root/outer");
    fs::create_symlink("..", base / "root/up");
    fs::create_symlink("/etc", base / "root/etc");
    ::mkfifo((base / "root/pipe").c_str(), 0600);
  }
  ~tree() { fs::remove_all(base); }
  tree(const tree&) = delete;
  tree& operator=(const tree&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{base / name} << text;
  }
  [[nodiscard]] tool_output read(const std::string& path) const {
    const auto tool = make_read_file({.root = (base / "root").string(), .max_bytes = 100});
    return testing::run_tool(**tool, {{"path", path}});
  }
};

struct path_case {
  std::string path, content; ///< the expected content, or a part of the expected error text
};
std::ostream& operator<<(std::ostream& out, const path_case& c) {
  return out << c.path;
}

const auto good = std::vector<path_case>{{"a.txt", "content of a"},
                                         {"sub/b.txt", "content of b"},
                                         {"./sub/../a.txt", "content of a"},
                                         {"inner", "content of b"},
                                         {"full.txt", std::string(100, 'x')}};

const auto bad = std::vector<path_case>{
    {"", "relative to the root"},
    {"/etc/passwd", "relative to the root"},
    {"../secret.txt", "is outside of the root"},
    {"sub/../../secret.txt", "is outside of the root"},
    {"../root_sibling.txt", "is outside of the root"},
    {"outer", "is outside of the root"},
    {"up/secret.txt", "is outside of the root"},
    {"etc/passwd", "is outside of the root"},
    {"up/root/..", "is outside of the root"},
    {".", "is outside of the root, or is the root itself"},
    {"sub", "is not a regular file"},
    {"pipe", "is not a regular file"},
    {"none.txt", "No such file"},
    {"large.txt", "has more than 100 bytes"},
    {std::string{"a.txt\0b", 7}, "relative to the root"},
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(file_reads, tree)

BOOST_DATA_TEST_CASE_F(tree, file_below_root_is_read, boost::unit_test::data::make(good), c) {
  const auto out = read(c.path);
  BOOST_TEST(out.content == c.content);
  BOOST_TEST(!out.is_error);
}

BOOST_DATA_TEST_CASE_F(tree, files_missing_oversized_or_outside_root_are_rejected,
                       boost::unit_test::data::make(bad), c) {
  const auto out = read(c.path);
  BOOST_TEST_INFO(out.content);
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content.find(c.content) != std::string::npos);
  BOOST_TEST(!out.content.starts_with("secret"));
}

BOOST_AUTO_TEST_CASE(invalid_root_or_size_limit_is_rejected) {
  BOOST_TEST(make_read_file({.root = (base / "none").string(), .max_bytes = 1}).has_error());
  BOOST_TEST(make_read_file({.root = (base / "secret.txt").string(), .max_bytes = 1}).has_error());
  BOOST_TEST(make_read_file({.root = base.string(), .max_bytes = 0}).has_error());
}

BOOST_AUTO_TEST_SUITE_END()

} // namespace read_file_test
