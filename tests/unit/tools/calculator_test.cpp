// SPDX-License-Identifier: Apache-2.0
// The calculator: values, errors with positions, limits, and expressions of real data.
#include "run_tool.hpp"

#include <superstep/tools/built_in_tools.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

using namespace superstep;

BOOST_AUTO_TEST_SUITE(calculator)

namespace {

struct sum_case {
  std::string_view expression, answer; ///< the result, or a part of the error text
};
std::ostream& operator<<(std::ostream& out, const sum_case& c) {
  return out << c.expression;
}

const auto good = std::vector<sum_case>{
    {"16-3-4", "9"},
    {"2+3*4", "14"},
    {"(2+3)*4", "20"},
    {"7/2", "3.5"},
    {"8/2/2", "2"},
    {"0.1+0.2", "0.30000000000000004"},
    {"999999999999999+1", "1000000000000000"},
    {"9007199254740993", "9007199254740992"}, // the nearest number of 53 bits
    {"007", "7"},
    {"2e", "5.43656365691809"},
    {"2e3", "2000"},
    {".5*8", "4"},
    {"5.*2", "10"},
    {"20%*50", "10"},
    {"50%", "0.5"},
    {"100*5%%", "0.05"},
    {"1,234.5+1", "1235.5"},
    {"1,000,000*2", "2000000"},
    {"$5 + \xe2\x82\xac"
     "3 - \xc2\xa3"
     "1",
     "7"},
    {"-$5", "-5"},
    {"5$*2", "10"},
    {"3 x 4", "12"},
    {"3x4", "12"},
    {"3 \xc3\x97 4", "12"},
    {"12 \xc3\xb7 4", "3"},
    {"5 \xe2\x88\x92 7", "-2"},
    {"-48+21+(-3)", "-30"},
    {"--3", "3"},
    {"2*-3", "-6"},
    {"+4", "4"},
    {"2(3+4)", "14"},
    {"(1+2)(3+4)", "21"},
    {"(1+2)3", "9"},
    {"[2+3]*4", "20"},
    {"[(1+1)*2]^2", "16"},
    {"2^10", "1024"},
    {"2**3", "8"},
    {"2^3^2", "512"},
    {"-2^2", "-4"},
    {"2^-1", "0.5"},
    {"4^.5", "2"},
    {"2+3=", "5"},
    {"1e3+1", "1001"},
    {"1.5E-3", "0.0015"},
    {"05+1", "6"},
    {" 1\t+\n1 ", "2"},
    {"10/3", "3.3333333333333335"},
    {"10^20", "100000000000000000000"},
    {"10^21", "1e+21"},
    {"1/1000000", "0.000001"},
    {"0*-1", "0"},
    {"6/2(3)", "9"},
    {"560//10", "56"},
    {"7//2", "3"},
    {"-7//2", "-4"},
    {"10 mod 3", "1"},
    {"-7 mod 3", "2"},
    {"-6 mod 3", "0"},
    {"7 mod -3", "-2"},
    {"2^60 mod 7", "1"},
    {"10^17 mod 7", "5"},
    {"123456789012345678 mod 97", "70"},
    {"0.3//0.1", "2"},
    {"2^60//3", "384307168202282304"},
    {"sqrt(16) + abs(-3)", "7"},
    {"min(3, 1, 2)", "1"},
    {"max(1,2)", "2"},
    {"max(1, 234)", "234"},
    {"round(2.5)", "3"},
    {"round(3.14159, 2)", "3.14"},
    {"floor(-1.5) + ceil(1.2)", "0"},
    {"log(1000)", "3"},
    {"log10(100)", "2"},
    {"ln(e)", "1"},
    {"exp(0)", "1"},
    {"cos(0) + sin(0) + tan(0)", "1"},
    {"cos(\xcf\x80)", "-1"},
    {"2pi/pi", "2"},
    {"2sqrt(9)", "6"},
    {"3 x sqrt(4)", "6"},
    {"3xsqrt(4)", "6"},
    {"max((1,234), 5)", "1234"},
    {"2 * -sqrt(4)", "-4"},
};

const auto bad = std::vector<sum_case>{
    {"", "the expression is empty (at character 1)"},
    {"   ", "the expression is empty"},
    {"1/0", "division by zero (at character 2)"},
    {"1/(2-2)", "division by zero (at character 2)"},
    {"0^-1", "division by zero"},
    {"1+", "the expression ends too early (at character 3)"},
    {"(1+2", "`(` is not closed (at character 1)"},
    {"[1+2)", "`[` is not closed"},
    {"1+2)", "something is out of place (at character 4)"},
    {"()", "a number is missing (at character 2)"},
    {"2 3", "an operator is missing before a number (at character 3)"},
    {"10%3", "`%` was read as percent; write `mod`"},
    {"7//0", "division by zero"},
    {"7 mod 0", "division by zero"},
    {"max(1,234)", "may separate thousands or arguments"},
    {"sqrt(-1)", "not a real number"},
    {"log(0)", "too large"},
    {"sqrt 4", "`sqrt` needs its arguments in parentheses"},
    {"sqrt(1, 2)", "`sqrt` does not take 2 arguments"},
    {"min()", "a number is missing"},
    {"sinh(1)", "`sinh` is not understood"},
    {"1, 2", "a number must not end with `,`"},
    {"2*/3", "a number is missing (at character 3)"},
    {"1..2", "a number must not end with `.`"},
    {"1.2.3", "(at character 4)"},
    {"1,23", "thousands are separated as in"},
    {"1,2345", "thousands are separated as in"},
    {"\xc3\x97 2", "a number is missing (at character 1)"},
    {"2 \xc3\x97 y", "`y` is not understood"},
    {"2 + \xc3\xa9", "`\xc3\xa9` is not understood (at character 5)"},
    {"import os", "`import` is not understood"},
    {"2=3", "something follows the `=` (at character 3)"},
    {"10^400", "the result is too large"},
    {"1e999", "out of range"},
    {"(-8)^(1/3)", "not a real number"},
    {",5", "a number is missing"},
};

/// Parses a value as people write it: 1,234.5, $5, 50%, 3/4.
double written_value(std::string text) {
  std::erase_if(text, [](char c) { return c == ',' || c == '$'; });
  auto scale = 1.0;
  if (text.ends_with('%')) {
    scale = 0.01;
    text.pop_back();
  }
  if (const auto slash = text.find('/'); slash != std::string::npos)
    return std::stod(text.substr(0, slash)) / std::stod(text.substr(slash + 1)) * scale;
  return std::stod(text) * scale;
}

} // namespace

BOOST_DATA_TEST_CASE(expression_returns_its_value, boost::unit_test::data::make(good), c) {
  const auto out = testing::run_tool(*make_calculator(), {{"expression", c.expression}});
  BOOST_TEST(out.content == c.answer);
  BOOST_TEST(!out.is_error);
}

BOOST_DATA_TEST_CASE(invalid_expression_is_answered_with_reason, boost::unit_test::data::make(bad),
                     c) {
  const auto out = testing::run_tool(*make_calculator(), {{"expression", c.expression}});
  BOOST_TEST_INFO(out.content);
  BOOST_TEST(out.is_error);
  BOOST_TEST(out.content.starts_with("Error: "));
  BOOST_TEST(out.content.find(c.answer) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(too_deep_or_too_long_expression_is_rejected) {
  const auto deep = std::string(300, '(') + "1" + std::string(300, ')');
  BOOST_TEST(calculate(deep).error().text.starts_with("the expression is nested too deeply"));
  auto tower = std::string{"1"};
  for (auto i = 0; i < 300; ++i)
    tower += "^1";
  BOOST_TEST(calculate(tower).error().text.starts_with("the expression is nested too deeply"));
  BOOST_TEST(*calculate(std::string(1999, '-') + "1") == -1);
  BOOST_TEST(calculate(std::string(2001, '1')).has_error());
  BOOST_TEST(*calculate("(1)", {.length_max = 3, .depth_max = 1}) == 1);
  BOOST_TEST(calculate("((1))", {.length_max = 9, .depth_max = 1}).has_error());
}

BOOST_AUTO_TEST_CASE(real_expressions_give_expected_values) {
  const auto* shared = std::getenv("SUPERSTEP_SHARED");
  auto calls = 0;
  auto file = std::ifstream{std::string{shared ? shared : ""} + "/data/gsm8k/recorded_turns.jsonl"};
  for (auto line = std::string{}; std::getline(file, line);) {
    const auto row = parse_json(line);
    BOOST_REQUIRE(row.has_value());
    const auto& expected = row->at("expected_tool_results").as_array();
    auto n = std::size_t{0};
    for (const auto& turn : row->at("turns").as_array()) {
      const auto* made = turn.as_object().if_contains("tool_calls");
      for (auto i = std::size_t{0}; made && i < made->as_array().size(); ++i, ++n, ++calls) {
        const auto& text = made->at(i).at("function").at("arguments").as_string();
        const auto args = parse_json({text.data(), text.size()});
        const auto out = testing::run_tool(*make_calculator(), args->as_object());
        const auto& wanted = expected.at(n).as_string();
        const auto value = written_value({wanted.data(), wanted.size()});
        BOOST_TEST_INFO(text << " gave " << out.content << ", expected " << wanted);
        BOOST_REQUIRE(!out.is_error);
        BOOST_TEST(std::abs(std::stod(out.content) - value) <= std::abs(value) * 0.01);
      }
    }
  }
  BOOST_TEST_MESSAGE(calls << " recorded calls");
}

BOOST_AUTO_TEST_SUITE_END()
