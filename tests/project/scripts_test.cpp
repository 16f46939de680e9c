// SPDX-License-Identifier: Apache-2.0
// A script that starts processes ends them when it ends, and its exit status stays.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdio>
#include <string>

#include <sys/wait.h>

namespace bdata = boost::unit_test::data;

BOOST_DATA_TEST_CASE(script_keeps_its_exit_status_and_ends_its_children, bdata::make({0, 3}),
                     status) {
  const auto command = "cd '" SUPERSTEP_TREE
                       "' && exec bash -c 'set -euo pipefail; . scripts/common; "
                       "end_children_at_exit; sleep 60 & exit " +
                       std::to_string(status) + "'";
  const auto start = std::chrono::steady_clock::now();
  auto* output = ::popen(command.c_str(), "r");
  BOOST_REQUIRE(output != nullptr);
  // The pipe ends when all processes have ended that write to it, so also the one in the
  // background.
  while (std::fgetc(output) != EOF) {
  }
  const auto ended = ::pclose(output);
  BOOST_TEST(WIFEXITED(ended));
  BOOST_TEST(WEXITSTATUS(ended) == status);
  BOOST_TEST((std::chrono::steady_clock::now() - start < std::chrono::seconds{30}));
}
