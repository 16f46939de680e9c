// SPDX-License-Identifier: Apache-2.0
// The size of the chunks of a job.
#include "ledger/submit.hpp"

#include <boost/test/unit_test.hpp>

using superstep::detail::chunk_rows_of;

BOOST_AUTO_TEST_CASE(large_jobs_have_large_chunks) {
  BOOST_TEST(chunk_rows_of(1, 0) == 256U);
  BOOST_TEST(chunk_rows_of(1'000'000, 0) == 256U);
  BOOST_TEST(chunk_rows_of(5'000'000, 0) == 512U);
  BOOST_TEST(chunk_rows_of(100'000'000, 0) == 1'024U);
}

BOOST_AUTO_TEST_CASE(chunks_of_large_rows_have_few_rows) {
  BOOST_TEST(chunk_rows_of(10'000'000, 2'000) == 1'024U);
  BOOST_TEST(chunk_rows_of(10'000'000, 50'000) == 64U);
  BOOST_TEST(chunk_rows_of(1'000, 16'000'000) == 16U);
}

BOOST_AUTO_TEST_CASE(job_has_at_most_a_million_chunks) {
  const auto rows = std::uint64_t{100'000'000};
  const auto size = chunk_rows_of(rows, 1'000'000);
  BOOST_TEST((rows + size - 1) / size <= 1'000'000U);
}
