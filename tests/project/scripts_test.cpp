// SPDX-License-Identifier: Apache-2.0
// The scripts of the repository: how they end, and what they print if they are called incorrectly.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include <sys/wait.h>

namespace bdata = boost::unit_test::data;

namespace {

struct outcome {
  std::string output;
  int status = 0;
};

/// Runs a command of the shell in a folder of the tree. Returns when all processes have ended that
/// write to its output, also those in the background.
outcome run(std::string_view folder, std::string_view command) {
  const auto line =
      "cd '" SUPERSTEP_TREE "/" + std::string{folder} + "' && " + std::string{command} + " 2>&1";
  auto* pipe = ::popen(line.c_str(), "r");
  BOOST_REQUIRE(pipe != nullptr);
  auto out = outcome{};
  for (auto c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe))
    out.output += static_cast<char>(c);
  const auto ended = ::pclose(pipe);
  BOOST_TEST(WIFEXITED(ended));
  out.status = WEXITSTATUS(ended);
  return out;
}

} // namespace

BOOST_DATA_TEST_CASE(script_keeps_its_exit_status_and_ends_its_children, bdata::make({0, 3}),
                     status) {
  const auto start = std::chrono::steady_clock::now();
  const auto ended = run(".", "exec bash -c 'set -euo pipefail; . scripts/common; "
                              "end_children_at_exit; sleep 60 & exit " +
                                  std::to_string(status) + "'");
  BOOST_TEST(ended.status == status);
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds{30}));
}

BOOST_DATA_TEST_CASE(script_describes_itself_after_unknown_option,
                     bdata::make({"demo", "docs", "format", "instructions", "python", "soak",
                                  "soak.d/growth", "test"}),
                     name) {
  const auto ended = run("docs", "../scripts/" + std::string{name} + " --unknown");
  BOOST_TEST(ended.status == 2);
  BOOST_TEST(ended.output.starts_with("scripts/"), ended.output);
  BOOST_TEST(ended.output.find("set -e") == std::string::npos, ended.output);
}

BOOST_DATA_TEST_CASE(script_reports_unknown_revision, bdata::make({"lint", "tidy"}), name) {
  const auto ended = run(".", "scripts/" + std::string{name} + " --since unknown-revision");
  BOOST_TEST(ended.status == 1);
  BOOST_TEST(ended.output.starts_with(std::string{name} + ": git "), ended.output);
}
