// SPDX-License-Identifier: Apache-2.0
// Error codes, and results that throw.
#include <superstep/base/error.hpp>

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>

namespace ss = superstep;

BOOST_AUTO_TEST_SUITE(errors)

BOOST_AUTO_TEST_CASE(every_error_code_has_a_message) {
  for (auto code = 1; code <= static_cast<int>(ss::errc::shortage); ++code) {
    const auto text = make_error_code(static_cast<ss::errc>(code)).message();
    BOOST_TEST(!text.empty());
    BOOST_TEST(text != "unknown error");
  }
  BOOST_TEST(make_error_code(static_cast<ss::errc>(99)).message() == "unknown error");
}

BOOST_AUTO_TEST_CASE(error_codes_are_printed_with_their_names) {
  const auto printed = [](const auto& code) {
    auto out = std::ostringstream{};
    out << code;
    return out.str();
  };
  BOOST_TEST(printed(ss::errc::not_found) == "errc::not_found");
  BOOST_TEST(printed(ss::error{ss::errc::shortage, ""}.code) == "errc::shortage");
  BOOST_TEST(printed(ss::error_code{std::make_error_code(std::errc::no_such_file_or_directory)}) ==
             "generic:2");
  BOOST_TEST(ss::to_string(make_error_code(static_cast<ss::errc>(99))) == "superstep:99");
  // What Boost.Test prints if a comparison fails.
  const auto code = ss::error_code{ss::errc::killed};
  const auto compared =
      (boost::test_tools::assertion::seed{}->*code == ss::errc::timed_out).evaluate();
  BOOST_TEST(printed(compared.message()).find("[errc::killed != errc::timed_out]") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(value_of_failed_result_throws_its_error) {
  const auto failed = ss::result<int>{ss::error{ss::errc::not_found, "no row 'x' in the file"}};
  BOOST_CHECK_EXCEPTION(static_cast<void>(failed.value()), std::system_error, [](const auto& e) {
    return std::string{e.what()}.find("no row 'x' in the file") == 0 &&
           e.code() == ss::errc::not_found;
  });
}

namespace {

std::exception_ptr nest(const std::exception_ptr& inner) {
  try {
    try {
      std::rethrow_exception(inner);
    } catch (...) {
      std::throw_with_nested(std::runtime_error{"outer"});
    }
  } catch (...) {
    return std::current_exception();
  }
}

} // namespace

BOOST_AUTO_TEST_CASE(failure_code_returns_shortage_of_nested_exception) {
  const auto other = make_error_code(ss::errc::io_failed);
  const auto full = std::make_error_code(std::errc::no_space_on_device);
  for (const auto& cause : {std::make_exception_ptr(std::bad_alloc{}),
                            std::make_exception_ptr(std::system_error{full})}) {
    BOOST_TEST(ss::failure_code(cause, other) == ss::errc::shortage);
    BOOST_TEST(ss::failure_code(nest(nest(cause)), other) == ss::errc::shortage);
  }
  for (const auto& cause : {std::exception_ptr{}, std::make_exception_ptr(7),
                            std::make_exception_ptr(std::runtime_error{"x"})})
    BOOST_TEST(ss::failure_code(cause, other) == other);
}

BOOST_AUTO_TEST_CASE(is_shortage_recognises_resource_errors) {
  BOOST_TEST(ss::is_shortage(make_error_code(ss::errc::shortage)));
  for (const auto code : {std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
                          std::errc::resource_unavailable_try_again, std::errc::not_enough_memory,
                          std::errc::no_buffer_space, std::errc::no_space_on_device}) {
    BOOST_TEST(ss::is_shortage(std::make_error_code(code)));
    BOOST_TEST(ss::is_shortage({static_cast<int>(code), std::system_category()}));
  }
  for (const auto code : {std::errc::no_such_file_or_directory, std::errc::permission_denied,
                          std::errc::io_error, std::errc::connection_refused})
    BOOST_TEST(!ss::is_shortage(std::make_error_code(code)));
  BOOST_TEST(!ss::is_shortage({}));
  BOOST_TEST(!ss::is_shortage(make_error_code(ss::errc::io_failed)));
}

BOOST_AUTO_TEST_SUITE_END()
