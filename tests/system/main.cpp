// SPDX-License-Identifier: Apache-2.0
// Runs the tests of the whole `superstep` program. Exits with 77 (skipped) if reference data that
// the selected suite needs is missing. Usage: run_system_test [--needs NAME] [Boost.Test arguments]
#define BOOST_TEST_NO_MAIN
#define BOOST_TEST_MODULE superstep_run
#include "process.hpp"

#include <boost/test/unit_test.hpp>

#include <iostream>

int main(int argc, char** argv) {
  auto arguments = std::vector<char*>{argv, argv + argc};
  if (arguments.size() > 2 && std::string_view{arguments[1]} == "--needs") {
    if (superstep::testing::shared_data(arguments[2]).empty()) {
      std::cout << "skipped: no data/" << arguments[2] << " in SUPERSTEP_SHARED\n";
      return 77;
    }
    arguments.erase(arguments.begin() + 1, arguments.begin() + 3);
  }
  if (!std::filesystem::exists(superstep::testing::superstep_program())) {
    std::cerr << superstep::testing::superstep_program() << " is missing: build it first\n";
    return 1;
  }
  arguments.push_back(nullptr);
  return boost::unit_test::unit_test_main(init_unit_test, static_cast<int>(arguments.size()) - 1,
                                          arguments.data());
}
