// SPDX-License-Identifier: Apache-2.0
// The tables and the functions with which processes share a limit per minute.
//
// Each limit is a token bucket in the database, whose content is granted to processes. A process
// may use a grant for one second, and the request may take another second to the server, so what
// was granted in 62 seconds can reach the server in one minute. The bucket therefore holds at most
// `v_burst` and is filled with (limit - v_burst) / 62 per second.
//
// The grants of a process are bounded by a credit, which grows with its share of the rate. The
// shares are max-min fair: a process that wants less than an equal share gets what it wants, and
// the others divide the rest.
//
// A process whose credit covers the request that waits is ready. Processes are served in the order
// in which they became ready, so small requests cannot delay a large one indefinitely.
//
// Some of what is granted is not used: processes end, answers are lost, and wants are estimates.
// While the bucket is more than half full, a process may therefore owe the share of one second.
// Half of a debt is remitted in four seconds, so that no process takes all that the others leave.
//
// The values that depend on all processes are calculated at most every 0.1 ms for each process, and
// stored with the limit. A statement therefore takes the same time, however many processes share a
// limit.
#include "limit_functions.hpp"

#include <string>

namespace superstep::detail {

namespace {

constexpr auto tables_sql = R"sql(
create schema if not exists superstep;
drop function if exists superstep.grant_limits, superstep.calculate_shares;
drop table if exists superstep.limits, superstep.limit_members;
create table superstep.limits (
  key text primary key,
  at timestamptz not null,
  level float8[] not null default '{0,0}',
  -- The values below are calculated from all processes. In `quota`, 0 stands for none.
  calculated timestamptz not null default 'epoch',
  members bigint not null default 0,
  quota float8[] not null default '{0,0}',
  need float8[] not null default '{0,0}',
  share float8[] not null default '{Infinity,Infinity}',
  reserved float8[] not null default '{0,0}',
  last_ready timestamptz[] not null default '{infinity,infinity}') with (fillfactor = 60);
create table superstep.limit_members (
  key text not null,
  member text not null,
  seen timestamptz not null,
  quota bigint[] not null,
  want bigint[] not null,
  need bigint[] not null,
  credit float8[] not null,
  ready timestamptz[] not null,
  primary key (key, member)) with (fillfactor = 60);
)sql";

constexpr auto functions_sql = R"sql(
-- Calculates the values of a limit that depend on all its processes.
create function superstep.calculate_shares(
  v superstep.limits, p_now timestamptz, p_second float8)
returns superstep.limits
language plpgsql set search_path = superstep, pg_temp as $$
declare
  v_quota float8;
  v_need float8;
  v_reserved float8;
  v_rate float8;
  v_share float8;
  v_last_ready timestamptz;
begin
  delete from limit_members m
    where m.key = v.key and m.seen < p_now - 3 * p_second * interval '1 s';
  for d in 1 .. 2 loop
    select coalesce(min(m.quota[d]) filter (where m.quota[d] > 0), 0),
           coalesce(max(m.need[d]) filter (where m.quota[d] > 0), 0),
           coalesce(sum(m.need[d]) filter (where m.ready[d] < 'infinity'), 0)
      into v_quota, v_need, v_reserved
      from limit_members m where m.key = v.key;
    v_rate := (v_quota - greatest(v_quota / 120, v_need)) / (62 * p_second);
    select coalesce(max((v_rate - s.before) / s.others)
                      filter (where s.want > (v_rate - s.before) / s.others), 'Infinity')
      into v_share
      from (select m.want[d] as want,
                   count(*) over () - row_number() over w + 1 as others,
                   coalesce(sum(m.want[d]) over (w rows between unbounded preceding
                                                        and 1 preceding), 0) as before
            from limit_members m where m.key = v.key
            window w as (order by m.want[d], m.member)) s;
    select coalesce(max(s.ready) filter (where s.before <= v.level[d]), 'infinity')
      into v_last_ready
      from (select m.ready[d] as ready,
                   coalesce(sum(sum(m.need[d])) over (order by m.ready[d]
                     rows between unbounded preceding and 1 preceding), 0) as before
            from limit_members m where m.key = v.key and m.ready[d] < 'infinity'
            group by m.ready[d]) s;
    v.quota[d] := v_quota;
    v.need[d] := v_need;
    v.share[d] := v_share;
    v.reserved[d] := v_reserved;
    v.last_ready[d] := v_last_ready;
  end loop;
  v.members := (select count(*) from limit_members m where m.key = v.key);
  v.calculated := p_now;
  return v;
end $$;

create function superstep.grant_limits(
  p_key text, p_member text, p_window_ms bigint, p_quota bigint[], p_want bigint[],
  p_need bigint[], p_back bigint[])
returns bigint[]
language plpgsql security definer set search_path = superstep, pg_temp as $$
declare
  v limits;
  v_own limit_members;
  v_now timestamptz;
  v_second float8 := p_window_ms / 60000.0;
  v_since float8;
  v_own_since float8;
  v_quota float8;
  v_burst float8;
  v_share float8;
  v_credit float8;
  v_free float8;
  v_grant float8;
  v_out bigint[] := '{0,0}';
begin
  -- After a crash, the server starts with an empty bucket, so grants need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  loop
    select * into v from limits l where l.key = p_key for update;
    exit when found;
    insert into limits (key, at) values (p_key, clock_timestamp()) on conflict do nothing;
  end loop;
  v_now := clock_timestamp();
  if pg_postmaster_start_time() > v.at then
    v.at := v_now;
    v.level := '{0,0}';
  end if;
  v_since := extract(epoch from v_now - v.at);
  select * into v_own from limit_members m where m.key = p_key and m.member = p_member;
  if found then
    v_own_since := least(extract(epoch from v_now - v_own.seen), v_second);
  else -- A new process starts with the credit of half a second.
    v_own_since := v_second / 2;
    v_own.credit := '{0,0}';
    v_own.ready := '{infinity,infinity}';
  end if;
  for d in 1 .. 2 loop
    if p_need[d] = 0 or v_own.credit[d] < p_need[d] then
      v_own.ready[d] := 'infinity';
    end if;
    v_quota := least(nullif(v.quota[d], 0), nullif(p_quota[d], 0));
    continue when v_quota is null;
    v_burst := greatest(v_quota / 120, v.need[d], p_need[d]);
    v.level[d] := least(v_burst, v.level[d] + (v_quota - v_burst) / (62 * v_second) * v_since
                                 + p_back[d]);
    v_share := least(v.share[d], p_want[d]);
    v_credit := v_own.credit[d];
    if v_credit < 0 then
      v_credit := v_credit * power(0.5::float8, v_own_since / (4 * v_second));
    end if;
    v_credit := least(v_credit + v_share * v_own_since,
                      greatest(v_share * v_second, p_need[d]));
    v_free := v.level[d] - case
        when v_own.ready[d] = 'infinity' then v.reserved[d]
        when v_own.ready[d] > v.last_ready[d] then v.reserved[d] - p_need[d]
        else 0 end;
    v_grant := floor(least(greatest(v_credit, least(v_free - v_burst / 2,
                                                    v_credit + v_share * v_second)),
                           v_free) + 1e-9);
    if p_quota[d] > 0 and p_want[d] > 0 and v_grant >= p_need[d] then
      v_out[d] := v_grant;
      v.level[d] := v.level[d] - v_grant;
      v_credit := v_credit - v_grant;
    end if;
    v_own.credit[d] := v_credit;
    if v_out[d] > 0 or p_need[d] = 0 or v_credit < p_need[d] then
      v_own.ready[d] := 'infinity';
    elsif v_own.ready[d] = 'infinity' then
      v_own.ready[d] := v_now;
    end if;
  end loop;
  if p_want = '{0,0}' then
    delete from limit_members m where m.key = p_key and m.member = p_member;
  else
    insert into limit_members as m (key, member, seen, quota, want, need, credit, ready)
      values (p_key, p_member, v_now, p_quota, p_want, p_need, v_own.credit, v_own.ready)
      on conflict (key, member) do update
        set seen = excluded.seen, quota = excluded.quota, want = excluded.want,
            need = excluded.need, credit = excluded.credit, ready = excluded.ready;
  end if;
  v.at := v_now;
  if v_now - v.calculated >= v.members * v_second * interval '0.1 ms' then
    v := calculate_shares(v, v_now, v_second);
  end if;
  update limits l
    set at = v.at, level = v.level, calculated = v.calculated, members = v.members,
        quota = v.quota, need = v.need, share = v.share, reserved = v.reserved,
        last_ready = v.last_ready
    where l.key = p_key;
  return v_out;
end $$;
comment on function superstep.grant_limits is 'format 2';

revoke all on function superstep.calculate_shares from public;
revoke all on function superstep.grant_limits from public;
do $$
begin
  if exists (select from pg_roles where rolname = 'superstep_worker') then
    grant usage on schema superstep to superstep_worker;
    grant execute on function superstep.grant_limits to superstep_worker;
  end if;
end $$;
)sql";

} // namespace

result<void> prepare_limits(pg_connection& connection) {
  const auto rows = connection.run(
      "select has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute') "
      "from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname = 'superstep' "
      "and p.proname = 'grant_limits' and obj_description(p.oid, 'pg_proc') = 'format 2'");
  if (!rows)
    return rows.error();
  if (rows->size() > 0 && rows->text(0, 0) == "t")
    return {};
  if (rows->size() > 0)
    return error{errc::invalid_argument,
                 "the database " + connection.name() +
                     ": the role may not execute superstep.grant_limits; grant it the role "
                     "superstep_worker, or USAGE on the schema superstep and EXECUTE on this "
                     "function"};
  return connection.create_objects(std::string{tables_sql} + functions_sql);
}

} // namespace superstep::detail
