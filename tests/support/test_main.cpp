// SPDX-License-Identifier: Apache-2.0
// The main() of every Boost.Test executable.
#define BOOST_TEST_MODULE superstep
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <iostream>
#include <thread>

namespace {

/// Ends the process if a thread other than that of main() makes an assertion. Boost.Test is not
/// thread-safe: two assertions at the same time corrupt its log, which is noticed much later or not
/// at all.
class one_thread_asserts : public boost::unit_test::test_observer {
public:
  one_thread_asserts() { boost::unit_test::framework::register_observer(*this); }

  void assertion_result(boost::unit_test::assertion_result) override {
    if (std::this_thread::get_id() == main_)
      return;
    std::cerr << boost::unit_test::framework::current_test_case().full_name()
              << " made an assertion on another thread than that of main().\n";
    std::_Exit(EXIT_FAILURE);
  }

private:
  const std::thread::id main_ = std::this_thread::get_id();
};

one_thread_asserts checked_by_all_tests;

} // namespace
