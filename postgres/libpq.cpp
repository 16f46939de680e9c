// SPDX-License-Identifier: Apache-2.0
// The functions of libpq that superstep calls. They load PostgreSQL's client library when a
// connection is opened for the first time. libpq needs Kerberos, LDAP, GnuTLS and 15 other
// libraries: a program that is linked with it starts in twice the time, and a Python wheel would
// contain all of them.
#include <stdexcept>
#include <string>

#include <dlfcn.h>

// The functions are not exported, so that other users of libpq in the process get its own.
#pragma GCC visibility push(hidden)
#include <libpq-fe.h>
#pragma GCC visibility pop

namespace {

constexpr auto library_name = "libpq.so.5";

/// Returns a function of libpq.
/// @throws std::runtime_error if the library is not installed
void* find(const char* name) {
  static void* const library = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  auto* const found = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (found == nullptr)
    throw std::runtime_error{
        std::string{"PostgreSQL's client library cannot be used: "} + library_name +
        (library == nullptr ? " was not found" : " lacks the function ") +
        (library == nullptr ? "" : name) + "; install it, for example with apt-get install libpq5"};
  return found;
}

} // namespace

// NOLINTBEGIN(bugprone-macro-parentheses): RESULT is a type
#define SUPERSTEP_FORWARD(RESULT, NAME, PARAMETERS, ARGUMENTS)                                     \
  RESULT NAME PARAMETERS {                                                                         \
    static auto* const function = reinterpret_cast<RESULT(*) PARAMETERS>(find(#NAME));             \
    return function ARGUMENTS;                                                                     \
  }
// NOLINTEND(bugprone-macro-parentheses)

extern "C" {
SUPERSTEP_FORWARD(void, PQclear, (PGresult * r), (r))
SUPERSTEP_FORWARD(char*, PQcmdTuples, (PGresult * r), (r))
SUPERSTEP_FORWARD(PQconninfoOption*, PQconndefaults, (), ())
SUPERSTEP_FORWARD(PostgresPollingStatusType, PQconnectPoll, (PGconn * c), (c))
SUPERSTEP_FORWARD(PGconn*, PQconnectStartParams,
                  (const char* const* keywords, const char* const* values, int expand),
                  (keywords, values, expand))
SUPERSTEP_FORWARD(int, PQconnectionNeedsPassword, (const PGconn* c), (c))
SUPERSTEP_FORWARD(void, PQconninfoFree, (PQconninfoOption * o), (o))
SUPERSTEP_FORWARD(PQconninfoOption*, PQconninfoParse, (const char* text, char** error),
                  (text, error))
SUPERSTEP_FORWARD(int, PQconsumeInput, (PGconn * c), (c))
SUPERSTEP_FORWARD(char*, PQerrorMessage, (const PGconn* c), (c))
SUPERSTEP_FORWARD(int, PQfformat, (const PGresult* r, int column), (r, column))
SUPERSTEP_FORWARD(void, PQfinish, (PGconn * c), (c))
SUPERSTEP_FORWARD(int, PQflush, (PGconn * c), (c))
SUPERSTEP_FORWARD(void, PQfreemem, (void* at), (at))
SUPERSTEP_FORWARD(PGresult*, PQgetResult, (PGconn * c), (c))
SUPERSTEP_FORWARD(int, PQgetisnull, (const PGresult* r, int row, int column), (r, row, column))
SUPERSTEP_FORWARD(int, PQgetlength, (const PGresult* r, int row, int column), (r, row, column))
SUPERSTEP_FORWARD(char*, PQgetvalue, (const PGresult* r, int row, int column), (r, row, column))
SUPERSTEP_FORWARD(int, PQisBusy, (PGconn * c), (c))
SUPERSTEP_FORWARD(int, PQntuples, (const PGresult* r), (r))
SUPERSTEP_FORWARD(char*, PQresultErrorField, (const PGresult* r, int field), (r, field))
SUPERSTEP_FORWARD(ExecStatusType, PQresultStatus, (const PGresult* r), (r))
SUPERSTEP_FORWARD(int, PQsendQuery, (PGconn * c, const char* query), (c, query))
SUPERSTEP_FORWARD(int, PQsendQueryParams,
                  (PGconn * c, const char* command, int count, const Oid* types,
                   const char* const* values, const int* lengths, const int* formats, int format),
                  (c, command, count, types, values, lengths, formats, format))
SUPERSTEP_FORWARD(PGVerbosity, PQsetErrorVerbosity, (PGconn * c, PGVerbosity verbosity),
                  (c, verbosity))
SUPERSTEP_FORWARD(PQnoticeProcessor, PQsetNoticeProcessor,
                  (PGconn * c, PQnoticeProcessor processor, void* argument),
                  (c, processor, argument))
SUPERSTEP_FORWARD(int, PQsetSingleRowMode, (PGconn * c), (c))
SUPERSTEP_FORWARD(int, PQsetnonblocking, (PGconn * c, int on), (c, on))
SUPERSTEP_FORWARD(int, PQsocket, (const PGconn* c), (c))
SUPERSTEP_FORWARD(ConnStatusType, PQstatus, (const PGconn* c), (c))
}
