// SPDX-License-Identifier: Apache-2.0
// The functions of a ledger in PostgreSQL for `superstep submit` and `superstep jobs`. A role with
// EXECUTE on them can manage jobs, but cannot read or change tables. As in schema.cpp, functions
// that use outputs plan for the job that they are called with.
#include "schema.hpp"

namespace superstep::detail {

namespace {

constexpr auto functions_sql = R"sql(
create or replace function superstep.ledger_format()
returns int
language sql stable security definer set search_path = superstep, pg_temp as $$
  select version from format
$$;

-- The rows and outputs of a job have tables of their own, so that dropping the job takes no time.
-- They are attached to the tables of all jobs, which takes locks that the statements of workers do
-- not wait for. All functions need outputs before inputs.
create or replace function superstep.create_job(p_name text, p_id text, p_created bigint,
                                                p_header text, p_agent text, p_chunk_rows int)
returns bigint
language plpgsql security definer set search_path = superstep, pg_temp as $$
declare
  v_job bigint;
  v_table text;
begin
  insert into jobs (name, job_id, created, state, header, agent, chunk_rows)
    values (p_name, p_id, p_created, 'loading', p_header, p_agent, p_chunk_rows)
    returning job into v_job;
  foreach v_table in array array['outputs', 'inputs'] loop
    execute format('create table superstep.%1$s_%2$s (like superstep.%1$s including all)', v_table,
                   v_job);
    execute format('alter table superstep.%1$s attach partition superstep.%1$s_%2$s '
                   'for values in (%2$s)', v_table, v_job);
  end loop;
  return v_job;
end $$;

-- Returns the number of rows that are stored. It stores nothing if this number is not p_first,
-- because a statement of an interrupted submit was still running.
create or replace function superstep.load(p_job bigint, p_first bigint, p_lines bigint[],
                                          p_texts text[])
returns bigint
language plpgsql security definer set search_path = superstep, pg_temp as $$
declare
  v_rows bigint;
begin
  select rows into v_rows from jobs where job = p_job and state = 'loading' for update;
  if not found then
    raise 'another process has stored the rows of the same job';
  end if;
  if v_rows <> p_first then
    return v_rows;
  end if;
  update jobs set rows = p_first + cardinality(p_lines) where job = p_job;
  insert into inputs (job, row, line, text)
    select p_job, p_first + u.at - 1, u.line, u.text
    from unnest(p_lines, p_texts) with ordinality as u (line, text, at);
  return p_first + cardinality(p_lines);
end $$;

create or replace function superstep.open_job(p_job bigint, p_chunk_rows int)
returns void
language plpgsql security definer set search_path = superstep, pg_temp as $$
declare
  v_rows bigint;
begin
  update jobs set state = 'open', chunk_rows = p_chunk_rows
    where job = p_job and state = 'loading' returning rows into v_rows;
  if not found then
    raise 'another process has stored the rows of the same job';
  end if;
  insert into chunks (job, first, bound, next)
    select p_job, i, least(i + p_chunk_rows, v_rows), i
    from generate_series(0, v_rows - 1, p_chunk_rows) i;
  analyze chunks;
  execute format('analyze superstep.inputs_%s', p_job);
end $$;

create or replace function superstep.list_jobs()
returns table (o_name text, o_state text, o_rows bigint, o_ok bigint, o_dead bigint,
               o_workers bigint)
language sql stable security definer set search_path = superstep, pg_temp as $$
  select j.name, case when j.state in ('open', 'paused') and c.ok + c.dead = j.rows then 'finished'
                 else j.state end, j.rows, c.ok, c.dead,
    (select count(*) from workers w
     where w.job = j.job and w.seen > now() - interval '1 minute')
  from jobs j, lateral
    (select coalesce(sum(k.ok), 0)::bigint as ok, coalesce(sum(k.dead), 0)::bigint as dead
     from chunks k where k.job = j.job) c
  order by j.name
$$;

create or replace function superstep.workers_of(p_job bigint)
returns table (o_worker text, o_host text, o_chunks bigint, o_seconds bigint)
language sql stable security definer set search_path = superstep, pg_temp as $$
  select w.worker, w.host, count(c.first), greatest(0, extract(epoch from now() - w.seen))::bigint
  from workers w left join chunks c on c.job = w.job and c.worker = w.worker and c.state = 1
  where w.job = p_job group by w.worker, w.host, w.seen
  having count(c.first) > 0 or w.seen > now() - interval '1 hour'
  order by w.host, w.worker
$$;

create or replace function superstep.set_state(p_job bigint, p_state text)
returns setof bigint
language sql security definer set search_path = superstep, pg_temp as $$
  update jobs set state = p_state
    where job = p_job and state <> 'loading' and p_state in ('open', 'paused', 'cancelled')
    returning job
$$;

create or replace function superstep.retry_dead(p_job bigint)
returns bigint
language plpgsql security definer set search_path = superstep, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_rows bigint;
begin
  -- A split moves counts to another chunk. It skips locked chunks, and the next statement sees what it
  -- did before.
  perform from chunks where job = p_job order by first for update;
  with d as (
    delete from outputs where job = p_job and status & 5 = 1 returning row, status),
  a as (
    update inputs i set attempt = coalesce(i.attempt, 1) + 1 from d
      where i.job = p_job and i.row = d.row),
  -- Tokens and costs remain, because they were paid for. These numbers are numbers of outputs.
  -- The worker of a chunk learns by the new fence of its next commit that it must read the rows
  -- again. It keeps the chunk, because it could not store its rows in flight otherwise.
  n as (
    select k.first, count(*) as failed, count(*) filter (where d.status & 8 <> 0) as unpriced,
      count(*) filter (where d.status & 16 <> 0) as failing
    from d join chunks k on k.job = p_job and d.row >= k.first and d.row < k.bound
    group by k.first),
  u as (
    update chunks k set dead = k.dead - n.failed, unpriced = k.unpriced - n.unpriced,
        failing = k.failing - n.failing,
        fence = k.fence + case k.state when 1 then 1 else 0 end,
        state = case k.state when 2 then 0 else k.state end
      from n where k.job = p_job and k.first = n.first)
  select coalesce(sum(failed), 0) into v_rows from n;
  return v_rows;
end $$;

create or replace function superstep.export_rows(p_job bigint, p_first bigint, p_count int)
returns table (o_row bigint, o_status smallint, o_line text, o_dead text)
language plpgsql stable security definer set search_path = superstep, pg_temp
set plan_cache_mode = force_custom_plan as $$
begin
  return query
    select o.row, o.status, o.line, o.dead from outputs o
    where o.job = p_job and o.row >= p_first order by o.row limit p_count;
end $$;

create or replace function superstep.drop_job(p_job bigint)
returns void
language plpgsql security definer set search_path = superstep, pg_temp as $$
begin
  -- A commit locks chunks before it needs the table of outputs, so the chunks are locked first here,
  -- too. They are locked twice because a split that was in progress adds a chunk.
  perform from chunks where job = p_job order by first for update;
  perform from chunks where job = p_job order by first for update;
  delete from jobs where job = p_job;
  -- From here on, the statements of all jobs wait, so this comes last. Workers need outputs before
  -- inputs, too.
  execute format('drop table if exists superstep.outputs_%s', p_job);
  execute format('drop table if exists superstep.inputs_%s', p_job);
end $$;
)sql";

} // namespace

const char* admin_functions() noexcept {
  return functions_sql;
}

} // namespace superstep::detail
